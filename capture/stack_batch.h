/* stack_batch.h - private: samples of threads that were read one by one (thread_state.h). */
#ifndef CAPTURE_STACK_BATCH_H
#define CAPTURE_STACK_BATCH_H

#include "capture/bytes.h"
#include "capture/kernel_names.h"
#include "capture/record_writer.h"
#include "capture/thread_state.h"

/* What a sample has: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, CALLCHAIN, with `raw` RAW, REGS_USER
 * and STACK_USER, with has_cgroup CGROUP. */
struct stack_sample {
	uint64_t id, period;
	pid_t pid, tid;
	uint32_t cpu;
	const void *raw; /* NULL: the event has none */
	size_t n_raw;	 /* 4 more than a multiple of 8 */
	bool no_user;	 /* neither REGS_USER nor STACK_USER */
	bool has_cgroup;
	uint64_t cgroup; /* 0: unknown */
};

/* Records that wait until the kernel's functions in them are looked up, together. Zeroed: empty. In
 * place of a kernel address stands the number of the function, and the offset in it, 32 bits each.
 */
struct stack_batch {
	struct kernel_names kernel;
	struct bytes bytes;
	VEC(size_t) kernel_at;
	VEC(size_t) record_at;
};

/* Running out of memory is reported by stack_batch_flush(). */
void stack_batch_add(struct stack_batch *b, const struct thread_state *t,
		     const struct stack_sample *s);
/* Looks the kernel's functions of a thread up before it is added, which takes long the first time:
 * all of /proc/kallsyms is read. Call stack_batch_know() for each thread, then stack_batch_look().
 */
void stack_batch_know(struct stack_batch *b, const struct thread_state *t);
void stack_batch_look(struct stack_batch *b);
/* Appends all records, now with the addresses of the kernel's functions. Returns 0, or -1 when out
 * of memory. */
int stack_batch_flush(struct stack_batch *b, struct record_writer *writer);
void stack_batch_done(struct stack_batch *b);

#endif
