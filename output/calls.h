/* calls.h - calls in words: the name, the arguments and the result of a span. Private to output/.
 */
#ifndef OUTPUT_CALLS_H
#define OUTPUT_CALLS_H

#include "base/hash.h"
#include "base/syscalls.h"
#include "output/formats.h"

struct calls {
	const struct profile *p;
	struct spans spans;
	const struct processor *cpu; /* of system calls; NULL: unknown */
	/* Paths of file descriptors, as far as their open() was seen: (pid, fd) -> offset in
	 * `paths`, where NUL-terminated texts are. */
	struct hash_table fds;
	struct text paths; /* failed: memory ran out in calls_pass() */
	struct text scratch;
};

/* Needs PROFILE_KEEP_LOG and PROFILE_KEEP_TRACE. *ret must be given to calls_done() in any case.
 * Returns 0 or -ERR_NOMEM. */
int calls_init(struct calls *ret, const struct profile *p, struct err *err);
void calls_done(struct calls *c);

/* The span that begins with an entry of the log; NULL: none. */
const struct span *calls_span_at(const struct calls *c, size_t entry);
/* To be called for all entries of the log in their order, after what is written about each: keeps
 * the paths of descriptors. */
void calls_pass(struct calls *c, size_t entry);

bool calls_is_syscall(const struct calls *c, const struct span *s);
/* A function's name without its arguments' types. */
void calls_function(struct text *t, const struct profile *p, uint32_t name);
/* The function, or the system call. */
void calls_name(struct calls *c, struct text *t, const struct span *s);
/* What stands between the brackets. */
void calls_args(struct calls *c, struct text *t, const struct span *s);
/* "3", "-1 ENOENT (No such file or directory)"; nothing if it is not known. */
void calls_result(struct calls *c, struct text *t, const struct span *s);
/* The end of a system call whose beginning is not there, in words; false: it is none. So returns a
 * new task from the call that made it. */
bool calls_end(struct calls *c, struct text *t, const struct profile_log_entry *e);
/* "NAME/TID", or "NAME/PID/TID" where they differ. */
void calls_task(struct calls *c, struct text *t, const struct profile_log_entry *e);
/* The fields of a log entry, without those that only say which call it is. */
void calls_fields(struct calls *c, struct text *t, const struct profile_log_entry *e);

#endif
