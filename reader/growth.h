/* growth.h - system calls become bytes of memory that a process has gained. Private to reader/.
 *
 * capture -e memory-growth records mmap() of memory without a file, mremap() and brk(). The sample
 * where a call returns has the stack; how much was asked for is in that where it begins. A brk()
 * says where the memory ends: it has grown by the difference to what the one before has said. */
#ifndef READER_GROWTH_H
#define READER_GROWTH_H

#include "base/hash.h"
#include "base/vec.h"
#include "reader/reader.h"

struct perf_file;
struct batch;
struct event;

struct growth_values {
	struct hash_table index; /* of a thread's or process's number */
	VEC(uint64_t) v;
};

/* Zeroed: nothing of it is recorded. */
struct growth {
	const struct perf_event *event; /* that is delivered; NULL: there is none */
	struct growth_values wanted;	/* by tid: by the call that has not returned */
	struct growth_values ends;	/* by pid: what the last brk() has returned */
};

/* Looks for such events when names are settled. */
int growth_settle(struct perf_file *f);
/* Takes a sample of such an event, which is in the room of the batch, decoded and placed. */
int growth_sample(struct perf_file *f, struct batch *b, struct perf_sample *s,
		  const struct event *e);
/* A process has another address space: none that is known (parent 0), or that of another one. */
int growth_note_space(struct perf_file *f, uint32_t pid, uint32_t parent);
void growth_done(struct growth *g);

#endif
