/* touch.h - private: stack pages that are not there yet.
 *
 * The kernel copies a stack up to the first page that is not present, and does not wait for it:
 * what is above an array that nothing has written to is missing in every sample. Reading a byte of
 * such a page through /proc/PID/mem maps the page of zeros, as a read by the program itself would,
 * and changes nothing else; the next copies go on behind it.
 *
 * A new thread's stack is mapped by the thread that starts it, last of all, or is that of a thread
 * that has ended (glibc keeps a few and gives their pages back): the part of it that copies can
 * show is read before the thread's first sample. */
#ifndef CAPTURE_TOUCH_H
#define CAPTURE_TOUCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

enum { TOUCH_MAPS = 16, TOUCH_STACKS = 256, TOUCH_SURE = 1024 };

/* The stack of a thread. */
struct touch_map {
	uint64_t start, end; /* end 0: none */
	pid_t pid, tid;	     /* tid 0: of a thread that has ended */
	uint64_t freed;	     /* how many had ended when it did */
};

/* What a thread has mapped last: address space without rights, and what may be a stack. */
struct touch_mapper {
	uint64_t reserved, reserved_end;
	struct touch_map map; /* its pid and tid are the mapper's */
};

struct touch {
	struct hash_table seen;			 /* (thread, page) that were touched */
	struct touch_mapper mappers[TOUCH_MAPS]; /* by thread */
	struct touch_map stacks[TOUCH_STACKS];
	uint64_t n_stacks, n_freed;
	pid_t sure[TOUCH_SURE]; /* threads whose stack a sample has shown, or that have ended */
	uint64_t pages;		/* of that a page became there, or was */
	pid_t pid;		/* whose memory is open */
	int fd;
};

void touch_init(struct touch *t);
void touch_done(struct touch *t);
/* A copy of `tid`'s stack ended at `at`, where a page begins, though `bytes` more were asked for.
 * Each page is touched once, a bounded number of them; what cannot be read (no right, no such page)
 * is left. */
void touch_stack(struct touch *t, pid_t pid, pid_t tid, uint64_t at, uint64_t bytes);
/* `tid` has mapped something without a file: m->start is its first byte, m->end where the mapping
 * ends that it is or has become part of; for reading and writing, or without rights. */
void touch_note_map(struct touch *t, const struct touch_map *m, bool is_reserved);
/* `parent` has started the thread `tid`, whose stack will be copied by `bytes`. */
void touch_thread_began(struct touch *t, pid_t pid, pid_t parent, pid_t tid, uint64_t bytes);
void touch_thread_ended(struct touch *t, pid_t pid, pid_t tid, uint64_t bytes);
/* A sample shows which stack `tid` has; before, it is taken to have the one that was free last. */
void touch_note_sample(struct touch *t, pid_t pid, pid_t tid, uint64_t sp);

#endif
