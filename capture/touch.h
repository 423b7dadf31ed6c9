/* touch.h - private: makes missing stack pages present, so that stack copies do not end there.
 *
 * The kernel copies a stack up to the first page that is not present, and does not wait for it. So
 * everything above an array to which nothing was written yet is missing in every sample. Reading a
 * byte of such a page through /proc/PID/mem maps the zero page, as a read by the program itself
 * would, and changes nothing else; later copies continue after that page.
 *
 * The stack of a new thread is either the last mapping that the starting thread has made, or that
 * of a thread that has ended (glibc keeps some of these and frees their pages). The part of it that
 * copies can reach is read before the thread's first sample. */
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
	pid_t pid, tid;	     /* tid 0: its thread has ended */
	uint64_t freed;	     /* number of that end, from 1 */
};

/* The last mappings of a thread: inaccessible address space, and one that may be a stack. */
struct touch_mapper {
	uint64_t reserved, reserved_end;
	struct touch_map map; /* its pid and tid are the mapper's */
};

struct touch {
	struct hash_table seen;			 /* hashes of (thread, page) already touched */
	struct touch_mapper mappers[TOUCH_MAPS]; /* by thread */
	struct touch_map stacks[TOUCH_STACKS];
	uint64_t n_stacks, n_freed;
	pid_t sure[TOUCH_SURE]; /* threads whose stack a sample has shown, or that have ended */
	uint64_t pages;		/* pages read */
	uint64_t threads;	/* that began or ended */
	pid_t pid;		/* the process whose memory is open */
	int fd;
};

void touch_init(struct touch *t);
void touch_done(struct touch *t);
/* A copy of `tid`'s stack ended at `at`, the start of a page, although `bytes` more were wanted:
 * touches the pages from there on. Each page is touched once, or again when very many were; pages
 * that cannot be read are left. */
void touch_stack(struct touch *t, pid_t pid, pid_t tid, uint64_t at, uint64_t bytes);
/* Takes a record of the kernel about maps or threads, by the functions below; ignores others.
 * stack_bytes: of copies of stacks. */
void touch_note_record(struct touch *t, const uint8_t *rec, size_t n, uint64_t stack_bytes);
/* `tid` has mapped memory without a file, readable and writable, or inaccessible (is_reserved).
 * m->start is its start, m->end the end of the kernel's mapping, which may include older ones. */
void touch_note_map(struct touch *t, const struct touch_map *m, bool is_reserved);
/* `parent` has started the thread `tid`; copies of its stack have `bytes`. */
void touch_thread_began(struct touch *t, pid_t pid, pid_t parent, pid_t tid, uint64_t bytes);
void touch_thread_ended(struct touch *t, pid_t pid, pid_t tid, uint64_t bytes);
/* A sample shows which stack `tid` has. Until then a reused stack is assumed to be the one that was
 * freed last. */
void touch_note_sample(struct touch *t, pid_t pid, pid_t tid, uint64_t sp);

#endif
