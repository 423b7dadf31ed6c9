/* hotspot.h - what a HotSpot says of itself. Private to runtimes/. */
#ifndef RUNTIMES_HOTSPOT_H
#define RUNTIMES_HOTSPOT_H

#include "base/arena.h"
#include "base/hash.h"
#include "functions/functions.h"
#include "runtimes/remote.h"
#include "runtimes/runtimes.h"

/* Fields whose offsets, static ones whose addresses, are known: see the table of hotspot_tables.c.
 */
enum hotspot_field {
	AT_HEAP,
	AT_HEAPS,
	AT_ARRAY_LEN,
	AT_ARRAY_DATA,
	AT_HEAP_MEMORY,
	AT_HEAP_SEGMAP,
	AT_HEAP_LOG2,
	AT_SPACE_LOW,
	AT_SPACE_HIGH,
	AT_BLOCK_LENGTH,
	AT_BLOCK_USED,
	AT_BLOB_NAME,
	AT_BLOB_SIZE,
	AT_BLOB_COMPLETE,
	AT_BLOB_FRAME,
	AT_BLOB_BEGIN,
	AT_BLOB_END,
	AT_BLOB_BEGIN_OFF,
	AT_BLOB_DATA_OFF,
	AT_BLOB_RELOCATION_SIZE,
	AT_BLOB_MUTABLE,
	AT_BLOB_MUTABLE_SIZE,
	AT_NM_METHOD,
	AT_NM_ID,
	AT_NM_PCS,
	AT_NM_PCS_END,
	AT_NM_SCOPES,
	AT_NM_SCOPES_OFF,
	AT_NM_METADATA,
	AT_NM_IMMUTABLE,
	AT_NM_IMMUTABLE_SIZE,
	AT_PC_OFFSET,
	AT_PC_SCOPE,
	AT_M_CONST,
	AT_CM_POOL,
	AT_CM_BYTES,
	AT_CM_FLAGS,
	AT_CM_CODE_SIZE,
	AT_CM_NAME,
	AT_CM_SIGNATURE,
	AT_POOL_HOLDER,
	AT_POOL_LENGTH,
	AT_POOL_SOURCE,
	AT_KLASS_SOURCE,
	AT_KLASS_METHODS,
	AT_KLASS_NAME,
	AT_SYMBOL_LENGTH,
	AT_SYMBOL_LENGTH_HIGH,
	AT_SYMBOL_BODY,
	AT_INTERPRETER,
	AT_QUEUE_BUFFER,
	AT_QUEUE_LIMIT,
	AT_QUEUE_N,
	AT_CODELET_SIZE,
	AT_CODELET_TEXT,
	AT_PERF_START,
	AT_PERF_FIRST,
	AT_PERF_N,
	AT_ENTRY_LENGTH,
	AT_ENTRY_NAME,
	AT_ENTRY_DATA,
	AT_RELEASE,
	AT_MAJOR,
	AT_N
};

enum hotspot_type {
	SIZE_BLOCK,
	SIZE_BLOB,
	SIZE_NMETHOD,
	SIZE_PC,
	SIZE_METHOD,
	SIZE_CONST_METHOD,
	SIZE_POOL,
	SIZE_CODELET,
	SIZE_N
};

/* This release does not have it. */
#define HOTSPOT_NONE UINT64_MAX

enum { HOTSPOT_STUBS_MAX = 256, HOTSPOT_NAME_MAX = 1024, HOTSPOT_COUNTERS = 3 };

struct hotspot_span {
	uint64_t begin, end;
};

/* A compiled method where it was when it was seen last. */
struct hotspot_code {
	uint64_t at, begin, end;
	uint32_t round;
};

struct hotspot {
	struct remote mem;
	uint64_t at[AT_N], size[SIZE_N];
	int8_t bytes[AT_N]; /* of the field, negative: signed; 0: not known, as wide as it is read
			     */
	uint64_t has_lines; /* the flag of ConstMethod; 0: not known */
	unsigned major;
	char release[64];
	/* Entries of StubRoutines by name: places that hold their addresses. */
	struct {
		uint64_t at;
		char name[48];
	} stubs[HOTSPOT_STUBS_MAX];
	size_t n_stubs;
	struct hash_table blobs;    /* address of a blob -> what it was when it was written */
	struct hash_table unscoped; /* likewise -> how often what is inlined there did not fit */
	VEC(struct hotspot_code) codes; /* compiled methods that were written and are there */
	struct hash_table code_at;	/* address of a blob -> index in codes */
	uint32_t round;			/* of snapshots */
	VEC(struct hotspot_span) spans; /* the code of all blobs of the last snapshot, sorted */
	/* Methods whose bytecode was written -> index. Where classes are unloaded others get their
	 * memory: all that samples show are looked at again in each snapshot. */
	VEC(struct hotspot_written) written;
	struct hash_table methods;
	struct hash_table klasses; /* -> 31 bits of what its name is, of this snapshot */
	struct hash_table others;  /* set of what was no method */
	struct code_log later;	   /* of this snapshot: written behind what has lost its name */
	uint64_t before_ns;	   /* of the snapshot before this one; 0: none */
	bool has_unloaded;	   /* a method has become another one, ever */
	/* Places of the JVM's counters (0: not found). */
	uint64_t counters[HOTSPOT_COUNTERS];
	/* How many classes were unloaded when this snapshot and the one before it began. */
	struct hotspot_unloads {
		uint64_t n;
		bool is_known;
	} unloads, unloads_before;
	bool may_lose_code; /* classes were unloaded, ever */
	bool has_freed;	    /* code that was known is no more, ever */
	/* Of all that was compiled: what was seen, and what was gone before it could be. */
	struct hash_table ids;		/* set of the numbers of compiled methods that were seen */
	uint64_t n_ids, began_compiled; /* the JVM's number when this snapshot began */
	int64_t gone_least;		/* as of the snapshots before, at least */
	bool knows_compiled, knows_gone;
	VEC(struct hotspot_span) fresh; /* code that this snapshot saw first */
	struct arena names;		/* of this snapshot */
	struct hash_table name_of;	/* method -> index in known, of this snapshot */
	VEC(struct hotspot_method) known;
};

/* What was written as the bytecode of a method. */
struct hotspot_written {
	uint64_t method, start, size;
	uint64_t cm, klass, klass_print; /* the method's parts */
	uint64_t which;			 /* of its name in the class file */
	uint64_t print;			 /* of its name and place; 0: it is none any more */
};

/* A method as the names of frames need it. */
struct hotspot_method {
	uint64_t method, code; /* addresses of the method and of its bytecode */
	uint32_t code_bytes;
	const char *name, *file; /* file NULL: not known */
	const uint8_t *lines;	 /* the compressed table; NULL: none */
	size_t n_lines;		 /* bytes */
};

/* A number of the tables' coding (UNSIGNED5, share/utilities/unsigned5.hpp). */
struct hotspot_numbers {
	const uint8_t *p, *end;
	uint8_t excluded; /* bytes below do not occur: 1 since release 20 */
	bool bad;
};
uint32_t hotspot_number(struct hotspot_numbers *n);

static inline bool hotspot_has(const struct hotspot *h, enum hotspot_field f)
{
	return h->at[f] != HOTSPOT_NONE;
}
static inline struct hotspot_numbers hotspot_numbers(const struct hotspot *h, const uint8_t *p,
						     size_t n)
{
	return (struct hotspot_numbers){.p = p, .end = p + n, .excluded = h->major >= 20};
}

/* hotspot_tables.c: fills at[], size[] and stubs[]. Returns 0, or negative with *err. */
int hotspot_read_tables(struct hotspot *h, uint64_t libjvm, struct err *err);

/* Fields of a structure at `addr`. Narrower ones are extended: their widths differ by release. */
bool hotspot_u64(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint64_t *ret);
bool hotspot_u32(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint32_t *ret);
bool hotspot_u16(struct hotspot *h, uint64_t addr, enum hotspot_field f, uint16_t *ret);

/* hotspot_method.c: what is at `method`, NULL: nothing that fits together, or out of memory
 * (*nomem). Valid until the next snapshot; the pointer until the next call. */
const struct hotspot_method *hotspot_method_at(struct hotspot *h, uint64_t method, bool *nomem);
void hotspot_forget_methods(struct hotspot *h);
/* Writes those of the methods at these addresses that are new, or others than before: to h->later;
 * that what was there has no name since the snapshot before, to the log. */
int hotspot_write_methods(struct hotspot *h, const uint64_t *methods, size_t n, uint64_t now_ns,
			  struct code_log *log, struct hotspot_counts *counts);
/* Since the last snapshot it is not known any more what is there. `method`: by which frames name
 * it; 0: none. */
void hotspot_unname(const struct hotspot *h, uint64_t method, uint64_t start, uint64_t size,
		    struct code_log *log);
/* The line of a bytecode index; 0: not known. */
uint32_t hotspot_line(const struct hotspot *h, const struct hotspot_method *m, uint32_t bci);

/* hotspot_counters.c: at the begin of a snapshot, and for each compiled method that is taken. */
void hotspot_counters_begin(struct hotspot *h);
int hotspot_saw_compiled(struct hotspot *h, uint32_t id);
/* At its end, once: can code have come and gone since the snapshot before, and not have been seen?
 * `torn`: how many this one left out; is_whole: it looked at all others. */
bool hotspot_may_have_missed(struct hotspot *h, uint64_t torn, bool is_whole);
/* Can what is known by the last snapshot have been replaced? */
bool hotspot_may_lose_code(const struct hotspot *h);

/* hotspot_scopes.c: what was inlined where in an nmethod. */
struct hotspot_scopes {
	VEC(struct code_log_method) methods;
	VEC(struct code_log_scope) scopes;
	VEC(struct code_log_pc) pcs;
};
struct hotspot_blob {
	uint64_t at, begin, end; /* of the blob, and of its code */
	uint64_t name, method;	 /* method 0: it is none */
	uint32_t size, frame_words, complete, id;
	char text[128]; /* its name */
};
/* Returns false if it does not fit together. */
bool hotspot_scopes_read(struct hotspot *h, const struct hotspot_blob *b, struct hotspot_scopes *s,
			 bool *nomem);
void hotspot_scopes_done(struct hotspot_scopes *s);

#endif
