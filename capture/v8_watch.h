/* v8_watch.h - private: what samples of a process show of V8's functions, and when it is read. */
#ifndef CAPTURE_V8_WATCH_H
#define CAPTURE_V8_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "capture/code_ranges.h"
#include "capture/sample_pack.h"
#include "runtimes/runtimes.h"

/* Of one process. A zeroed one is empty. */
struct v8_watch {
	VEC(struct v8_seen) todo; /* what was not looked at yet */
	struct hash_table seen;	  /* what was asked for lately */
	/* Of the thread that reads. */
	struct v8 *v8;
	struct v8_counts counts;
	uint64_t n_written; /* the sum of those that are in the log */
	struct err why;	    /* code ERR_OK: it could be read */
	uint64_t due_ns;    /* of the next comparison */
	unsigned tries;
};

/* What a reading is given. */
struct v8_todo {
	struct v8_seen *v;
	size_t n;
};

/* True for files whose names say that they contain V8. */
bool v8_watch_is(const char *path);
/* Takes addresses of code, and frames, from a sample. reads: the other thread has *w. Returns true
 * if there is anything new. */
bool v8_watch_scan(struct v8_watch *w, const struct code_ranges *ranges,
		   const struct sample_facts *f, bool reads);
/* The things to be looked at, which the caller frees. `again`: asks from now on for all again. */
struct v8_todo v8_watch_take(struct v8_watch *w, bool again);
/* True if one of the files of a process that has code without a file exports what V8 does. */
bool v8_watch_probe(struct v8_watch *w, pid_t pid);
/* Reads what can be named, and now and then, and the last time, writes it into the log, which was
 * begun. */
void v8_watch_read(struct v8_watch *w, pid_t pid, const struct v8_todo *todo, bool is_last,
		   struct code_log *log);
/* The process runs another program: what was read is written and forgotten, not what is to be
 * looked at. */
void v8_watch_forget(struct v8_watch *w, struct code_log *log);
void v8_watch_done(struct v8_watch *w);

#endif
