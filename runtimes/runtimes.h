/* runtimes.h - the code of managed runtimes, read from outside while they run.
 *
 * HotSpot describes itself: libjvm.so exports tables of the offsets and addresses of its structures
 * (vmStructs.hpp), so that a debugger can find compiled code, methods and names. They are read here
 * through /proc/PID/mem; the process is neither stopped nor told. What is read changes meanwhile:
 * every pointer, length and name is checked, what is torn is left out and counted, and a snapshot
 * ends after a number of reads.
 *
 *	code_log_begin(&log, pid, now);
 *	rc = hotspot_open(&h, pid, base_of_libjvm, &err);
 *	rc = hotspot_snapshot(h, methods, n, now, &log, &counts);   again and again: adds what is
 *new code_log_done(&log); hotspot_free(h);
 *
 * Threads: an object may be used by one thread at a time.
 */
#ifndef RUNTIMES_RUNTIMES_H
#define RUNTIMES_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

/* ---- code_log.c: what was read, as a jitdump ------------------------------------------------
 *
 * tools/perf/Documentation/jitdump-specification.txt; records of frames, of bytes and of what was
 * inlined are our own, which other readers skip: functions/functions.h says how they look. */

struct code_log {
	VEC(uint8_t) bytes;
	bool failed; /* out of memory: check it once, at the end */
	uint32_t pid;
	uint64_t n_codes;
};

/* Writes the file's header. A zeroed log is empty. */
enum { CODE_LOG_HEADER_BYTES = 40 };
void code_log_begin(struct code_log *l, uint32_t pid, uint64_t now_ns);
void code_log_done(struct code_log *l);

/* What is known of a frame of a piece of code; see functions/functions.h. */
struct code_log_frame {
	uint32_t kind;		 /* enum jit_frame_kind */
	uint32_t frame_bytes;	 /* from the stack pointer to the caller's */
	uint32_t complete_bytes; /* from here on in the code the frame is made */
	uint64_t method;	 /* address by which frames name it; 0: none */
};

struct code_log_scope {
	uint32_t up;	 /* 1 + index of the scope that it is inlined into; 0: none. Smaller than
			  * its own */
	uint32_t method; /* index */
	uint32_t line;	 /* 0: not known */
};
struct code_log_pc {
	uint32_t end;	/* offset in the code up to which, inclusive, the scope holds; rising */
	uint32_t scope; /* index */
};
struct code_log_method {
	const char *name, *file; /* file NULL: not known */
};
struct code_log_inlined {
	const struct code_log_method *methods;
	const struct code_log_scope *scopes;
	const struct code_log_pc *pcs;
	uint32_t n_methods, n_scopes, n_pcs;
};
struct code_log_line {
	uint64_t addr;
	uint32_t line;
};

/* A piece of code, or of bytecode, as it was at `now_ns`. code NULL: its bytes are not known.
 * frame, inlined, lines: NULL or n_lines 0: none. The lines are those of `file`. */
struct code_log_piece {
	uint64_t start, size;
	const char *name;
	const uint8_t *code;
	const struct code_log_frame *frame;
	const struct code_log_inlined *inlined;
	const struct code_log_line *lines;
	size_t n_lines;
	const char *file;
};
void code_log_add(struct code_log *l, uint64_t now_ns, const struct code_log_piece *p);
/* Bytes of memory that has code of which no more is known. */
void code_log_add_bytes(struct code_log *l, uint64_t now_ns, uint64_t start, const uint8_t *bytes,
			size_t n);

/* What became of V8's functions until now. */
struct v8_counts;
void code_log_add_names(struct code_log *l, uint64_t now_ns, const struct v8_counts *c);

/* Copies records of a log that has no header, and is of the same process, to the end of another, as
 * of time_ns (0: of the times that they have). */
void code_log_append(struct code_log *to, const struct code_log *from, size_t at, size_t end,
		     uint64_t time_ns);

/* ---- hotspot.c ------------------------------------------------------------------------------- */

struct hotspot; /* opaque */

struct hotspot_counts {
	uint64_t codes, methods, scopes; /* written */
	uint64_t torn;			 /* left out, because what was read did not fit together */
	uint64_t bytes;			 /* of the log */
	bool is_cut;			 /* the limit of reads was reached */
	bool is_gone;			 /* the process has ended */
};

/* `libjvm`: address of the first byte of libjvm.so in the process. Returns 0, -ERR_PERMISSION,
 * -ERR_UNSUPPORTED (with the reason) if this is no HotSpot that describes itself, or another
 * negative code with *err. */
int hotspot_open(struct hotspot **ret, pid_t pid, uint64_t libjvm, struct err *err);
void hotspot_free(struct hotspot *h); /* NULL is allowed */
/* The release ("17.0.15+6 .."): valid as long as h. */
const char *hotspot_release(const struct hotspot *h);
/* Writes the code that was not there at the last call, and the bytecode of those of `methods` that
 * are some, with its lines. Where one has become another, as classes were unloaded, what was there
 * has no name since the last call. Adds to *counts. Returns 0 or -ERR_NOMEM. */
int hotspot_snapshot(struct hotspot *h, const uint64_t *methods, size_t n, uint64_t now_ns,
		     struct code_log *log, struct hotspot_counts *counts);
/* The process has ended: where classes were unloaded, methods have no name since the last call. */
int hotspot_end(struct hotspot *h, struct code_log *log);
/* True if the code at this address was there at the last call. */
bool hotspot_knows(const struct hotspot *h, uint64_t addr);
/* True if this address was among the `methods` of a call before, whatever it was. */
bool hotspot_has_seen(const struct hotspot *h, uint64_t method);

/* ---- v8.c ------------------------------------------------------------------------------------
 *
 * V8 exports where the fields of its objects are, for postmortem debuggers (v8dbg_*). Its heap is
 * read for what frames of samples have shown: addresses of code, JSFunctions and bytecode. */

struct v8; /* opaque */

struct v8_span {
	uint64_t start, end;
};
/* A frame of a sample: its address, if that is in code without a file, else 0; and two words of it:
 * its function, and what would be its bytecode (0: it is none). */
struct v8_seen {
	uint64_t pc, function, bytecode, time_ns;
};
struct v8_counts {
	uint64_t functions; /* pieces of code and of bytecode that were named */
	uint64_t torn;	    /* left out, because what was read did not fit together */
	uint64_t changed;   /* were freed, moved or replaced later */
	bool is_cut;	    /* a limit was reached */
	bool is_gone;	    /* the process has ended */
};

/* `file`: address of the first byte of the file with V8 in the process. Returns as
 * hotspot_open(). */
int v8_open(struct v8 **ret, pid_t pid, uint64_t file, struct err *err);
void v8_free(struct v8 *v); /* NULL is allowed */
/* Reads the functions of what was seen, as far as they are not known. Returns 0 or -ERR_NOMEM. */
int v8_look(struct v8 *v, const struct v8_seen *seen, size_t n, struct v8_counts *counts);
/* Compares all that is known with what is there now, and writes what has changed since the last
 * time, and what was read since. Returns 0 or -ERR_NOMEM. */
int v8_write(struct v8 *v, struct code_log *log, struct v8_counts *counts);
/* True if the code at this address, or this bytecode, has a name. */
bool v8_knows(const struct v8 *v, uint64_t pc);
bool v8_knows_bytecode(const struct v8 *v, uint64_t bytecode);

#endif
