/* runtime_process.h - private: a process that runs managed code, and how it is read: a part of
 * runtime_watch.h, which says when. */
#ifndef CAPTURE_RUNTIME_PROCESS_H
#define CAPTURE_RUNTIME_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "capture/bytes.h"
#include "capture/capture.h"
#include "capture/code_copy.h"
#include "capture/code_ranges.h"
#include "capture/v8_watch.h"
#include "runtimes/runtimes.h"

/* Of what is written of one process. */
enum { RUNTIME_LOG_MAX = 128 << 20 };
/* The longest time between two readings of a JVM. */
#define RUNTIME_LONGEST_NS 1000000000ull

/* What is below `busy` belongs to the reading thread while that is set, else to the thread that
 * holds the lock. */
struct runtime_process {
	pid_t pid;
	bool is_jvm, is_v8;
	/* Its stacks are executable, so that memory with code may be a stack, which holds what must
	 * not be in a recording (secrets.h, environs.h): nothing is copied. */
	bool has_code_stacks;
	bool lacks_code; /* such code has run */
	bool is_new;	 /* its program is another one since the last reading */
	/* Times of records, which come in another order where a process has changed its processor:
	 * the program began, the last mapping of each kind was made. */
	uint64_t exec_ns, jvm_ns, v8_ns, stack_ns, ranges_ns;
	bool busy, is_gone;
	bool has_ended;	   /* as a record says; its number may be given again */
	uint64_t ended_ns; /* when, or when it was found that others of its threads run */
	struct code_ranges ranges;
	uint64_t samples;		     /* since the last reading */
	uint64_t due_ns, again_ns;	     /* of the next one, of the next comparison */
	uint64_t first_ns, last_ns, cost_ns; /* of the first one; the last; all, of a processor */
	/* Addresses on stacks that were not looked at yet: that may be of methods; in code that is
	 * to be copied, or that was not known. seen_*: all of them. */
	VEC(uint64_t) methods;
	VEC(uint64_t) places;
	struct hash_table seen, seen_places;
	struct hotspot *hotspot; /* of the reading thread */
	struct code_copy copy;
	struct v8_watch v8; /* V8's functions */
	struct code_log log;
	struct hotspot_counts counts;
	struct err why; /* code ERR_OK: it could be read */
	unsigned tries;
	bool ended_early; /* there was nothing to read any more */
	bool is_noted;
	/* It has ended: nothing else is kept of it. */
	bool is_packed, shows_no_code;
	struct bytes packed; /* a zstd frame with the log, if anything was read; see `writes` */
	size_t log_bytes;    /* of the log then */
	size_t n_written;    /* bytes of the log that are in the file already */
	uint64_t written_ns; /* when */
};

/* What a reading is given: of the process, while it is not locked. */
struct runtime_turn {
	uint64_t *methods, *places;
	size_t n_methods, n_places;
	struct v8_todo v8;
	struct code_ranges ranges;
	bool is_jvm, is_v8, is_new, again;
	uint64_t begin_ns; /* of the thread's CPU time */
};

/* ---- runtime_process.c ----------------------------------------------------------------------- */

/* A new program, or process, since time_ns: all that was mapped before is gone. */
void runtime_process_begin(struct runtime_process *p, uint64_t time_ns);
/* True if its memory is read: of JVMs what they say of themselves, of others copies. */
bool runtime_process_is_read(const struct runtime_process *p);
/* True if a reading would find something to do. */
bool runtime_process_has_work(const struct runtime_process *p);
/* When what is urgent may be read. */
uint64_t runtime_process_soon(const struct runtime_process *p);
/* The three parts of a reading. The first and the last with the lock; the process is `busy` between
 * them. */
void runtime_process_begin_turn(struct runtime_process *p, struct runtime_turn *t);
void runtime_process_read(struct runtime_process *p, const struct runtime_turn *t);
void runtime_process_end_turn(struct runtime_process *p, struct runtime_turn *t);
void runtime_process_done(struct runtime_process *p);

/* ---- runtime_pack.c: what was read ------------------------------------------------------------
 *
 * Records are those of reader/recorded_code.h. */

/* The process has ended, and is `busy`: what is still to be written is, and all is packed: into
 * *records what these do not have yet, or, if that is NULL, to be kept. */
void runtime_process_pack(struct runtime_process *p, struct bytes *records);
/* With the lock: frees what only a running process needs. */
void runtime_process_packed(struct runtime_process *p);
/* One that was packed is there again, as its number is; with the lock. */
void runtime_process_unpack(struct runtime_process *p);
/* True if something was read of it that is kept here. */
bool runtime_process_has_log(const struct runtime_process *p);
/* True if what is not written yet is much, or waits for long. */
bool runtime_process_is_due(const struct runtime_process *p, uint64_t now_ns);
/* Appends what is not written yet to the records; `busy` or at the end. */
void runtime_process_write(struct runtime_process *p, uint64_t now_ns, struct bytes *records);
/* Adds what the user is to know of it to the notes, once. */
void runtime_process_note(struct runtime_process *p, struct capture_result *r);

#endif
