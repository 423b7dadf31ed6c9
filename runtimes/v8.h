/* v8.h - what a V8 says of itself, and what is read of its heap. Private to runtimes/. */
#ifndef RUNTIMES_V8_H
#define RUNTIMES_V8_H

#include "base/hash.h"
#include "base/vec.h"
#include "runtimes/remote.h"
#include "runtimes/runtimes.h"

/* Numbers of types, and where fields are: see the table of v8_tables.c. */
enum v8_number {
	V8_TAGGED_BYTES,
	V8_FP_CONTEXT,
	V8_FP_FUNCTION,
	V8_FP_BYTECODE,
	V8_FP_BYTECODE_OFFSET,
	V8_TYPE_FUNCTION,
	V8_TYPE_SHARED,
	V8_TYPE_SCOPE,
	V8_TYPE_SCRIPT,
	V8_TYPE_BYTECODE,
	V8_TYPE_BYTES,
	V8_TYPE_TRUSTED_BYTES,
	V8_TYPE_CODE,
	V8_TYPE_STREAM, /* V8_NONE: the instructions follow the Code itself */
	V8_TYPE_INTERPRETER_DATA,
	V8_TYPE_ARRAY,
	V8_TYPE_TRUSTED_ARRAY,
	V8_TYPE_PROTECTED_ARRAY,
	V8_TYPE_SHARED_WRAPPER,
	V8_TYPE_ODDBALL,
	V8_FUNCTION_SHARED,
	V8_SHARED_NAME,
	V8_SHARED_SCRIPT,
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_NAME,
	V8_CODE_INSTRUCTIONS, /* a word that holds their address */
	V8_CODE_SIZE,
	V8_CODE_FLAGS,
	V8_CODE_BASELINE, /* the kind; Maglev and Turbofan follow */
	V8_STREAM_INSTRUCTIONS,
	V8_DEOPT_SHARED,
	V8_DEOPT_SHARED_WRAPPER,
	V8_BYTECODE_DATA,
	V8_SCOPE_FIRST,
	V8_N
};

#define V8_NONE INT32_MIN

enum { V8_NAME_MAX = 1024, V8_TEXT_MAX = 512 };

/* Where the lines of a script's source end. */
struct v8_script {
	uint64_t at, source, name;
	uint32_t *ends; /* NULL: not known */
	uint32_t n_ends, chars;
	unsigned tries;
	int32_t line_off, column_off; /* of its first line */
	char file[V8_TEXT_MAX];	      /* empty: it has none */
};

/* What was written. */
struct v8_piece {
	uint64_t start, end; /* of the code, or of the bytecode */
	uint64_t object;     /* the bytecode, or the instructions' object; tagged */
	uint64_t shared;     /* tagged */
	uint64_t print;	     /* what it consisted of */
	uint64_t name_print; /* which function it was: others get the memory of all its objects */
	uint64_t same_ns;    /* when it was last seen to be this */
	bool is_bytecode, is_dead;
};

/* That it is not known what was there before a name, a name, and that it is not known afterwards.
 */
enum v8_record_kind { V8_BEFORE, V8_NAME, V8_AFTER };

/* Of a log that is not written yet. */
struct v8_record {
	uint64_t time_ns; /* of the sample that has shown it, or when it was last the same */
	uint64_t read_ns; /* when it was proved */
	size_t at, end;	  /* in its bytes */
	enum v8_record_kind kind;
};

struct v8 {
	struct remote mem;
	int32_t k[V8_N];
	uint64_t stream_map; /* the first word of all objects with instructions; 0: not met yet */
	VEC(struct v8_piece) pieces;
	struct hash_table by_object;	 /* tagged -> index in pieces */
	VEC(struct v8_span) spans;	 /* of code, sorted */
	VEC(struct v8_script *) scripts; /* they do not move */
	/* What is to be written, and the order: records of a time are in a row. */
	struct code_log fresh;
	VEC(struct v8_record) records;
	uint64_t written_ns; /* when all that was known was looked at last */
	uint64_t changed_ns; /* when something was found to have changed last; 0: never */
	uint64_t n_line_ends, n_chars;
};

static inline bool v8_has(const struct v8 *v, enum v8_number n)
{
	return v->k[n] != V8_NONE;
}

/* v8_tables.c */
int v8_read_tables(struct v8 *v, uint64_t file, struct err *err);
/* False if there are others than objects that are known here can have. */
bool v8_numbers_fit(const struct v8 *v);

/* v8_object.c: objects are named by their tagged addresses. All return false if what is there is
 * something else. */
bool v8_is_object(uint64_t tagged);
bool v8_type(struct v8 *v, uint64_t object, uint16_t *ret);
bool v8_is(struct v8 *v, uint64_t object, enum v8_number type);
/* The word of an object at an offset. */
bool v8_word(struct v8 *v, uint64_t object, int32_t off, uint64_t *ret);
/* The same, which must be an object of this type. */
bool v8_field(struct v8 *v, uint64_t object, int32_t off, enum v8_number type, uint64_t *ret);
/* The same, which must be a small integer. */
bool v8_smi(struct v8 *v, uint64_t object, int32_t off, int32_t *ret);
/* A string as UTF-8, with NUL; what has more characters than fit is left out. */
bool v8_text(struct v8 *v, uint64_t string, char *to, size_t size);
/* The places of the line feeds in a string, and of its end. *ret is to be freed. */
bool v8_line_ends(struct v8 *v, uint64_t string, uint32_t **ret, uint32_t *n, uint32_t *chars,
		  bool *nomem);

/* v8_function.c: what a SharedFunctionInfo says. */
struct v8_function {
	uint32_t start, end;		/* in the source */
	const struct v8_script *script; /* NULL: not known. Valid as long as v */
	char name[V8_TEXT_MAX];
};
bool v8_function_read(struct v8 *v, uint64_t shared, struct v8_function *f, bool *nomem);
/* "JS:*f /dir/file.js:10:4", as V8 itself writes it into perf's map. */
void v8_function_name(const struct v8_function *f, char mark, char *to, size_t size);
/* The bytecode that a SharedFunctionInfo has. */
bool v8_shared_bytecode(struct v8 *v, uint64_t shared, uint64_t *ret);
/* The line and column of a place in the source, from 1 on. */
bool v8_position(const struct v8_script *s, uint32_t at, uint32_t *line, uint32_t *column);

/* v8_lines.c: the lines of a function's bytecode. */
struct v8_lines {
	VEC(struct code_log_line) v;
};
void v8_lines_read(struct v8 *v, uint64_t bytecode, uint64_t start, uint64_t end,
		   const struct v8_function *f, struct v8_lines *ret, bool *nomem);

/* v8_code.c: the code object with an address. */
struct v8_code {
	uint64_t object; /* that holds the instructions */
	uint64_t start, end;
	uint64_t shared;   /* 0: the code is baseline code */
	uint64_t bytecode; /* 0: it is not */
	char mark;	   /* as in names */
};
/* Returns false if there is none, or of no function. */
bool v8_code_find(struct v8 *v, uint64_t pc, struct v8_code *ret);
/* The same of a known object. */
bool v8_code_read(struct v8 *v, uint64_t object, struct v8_code *ret);

#endif
