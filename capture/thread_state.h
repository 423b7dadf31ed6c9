/* thread_state.h - private: the registers, stack and kernel part of a thread as it is now. */
#ifndef CAPTURE_THREAD_STATE_H
#define CAPTURE_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/kernel_names.h"

enum { THREAD_REGS_MAX = 64, KERNEL_FRAMES_MAX = 64, THREAD_LATE_MAX = 64 };

/* A frame as /proc/PID/task/TID/stack prints it, which hides the address. */
struct kernel_frame {
	char name[KERNEL_NAME_MAX];
	uint64_t offset, size; /* of the address in the function; of the function */
};

struct thread_state {
	uint64_t time_ns;		/* CLOCK_MONOTONIC */
	uint64_t halted_ns;		/* how long the thread did not run for this */
	int cpu;			/* where it ran last */
	char state;			/* R, S, D .. */
	uint64_t abi;			/* PERF_SAMPLE_REGS_ABI_*; NONE: it has no user part */
	uint64_t regs[THREAD_REGS_MAX]; /* those of attr_user_regs(), lowest bit first */
	size_t n_regs;
	uint64_t ip, sp;
	uint8_t *stack; /* from sp on; room for `room` bytes is the caller's */
	size_t room, n_stack;
	bool stack_full;			       /* there was more */
	struct kernel_frame kernel[KERNEL_FRAMES_MAX]; /* leaf first */
	size_t n_kernel;
	bool ended_wait; /* its system call has ended with EINTR for this */
	bool is_kernel_thread;
	bool is_child; /* of this process */
	/* Threads that were asked to stop and have not yet; kept from one call to the next. */
	pid_t late[THREAD_LATE_MAX];
	size_t n_late;
};

/* Halts a thread for the moment in which its registers and stack are copied (ptrace(2),
 * PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent), and reads what it does in the kernel
 * before that. Of a thread that cannot be halted, because it waits for what no signal ends, only
 * the place where it entered the kernel and the stack are read. *t is zeroed before the first call
 * but for its room. Returns 1; 0 if it has ended; or a negative errno: EPERM if it may not be
 * traced, or is traced by another program. */
int thread_state_read(pid_t pid, pid_t tid, struct thread_state *t);
/* Only what it does in the kernel: *t has n_kernel and kernel then. The thread is not halted. */
void thread_state_read_kernel(pid_t pid, pid_t tid, struct thread_state *t);
/* Lets threads go that have stopped late. To be called while time passes between two calls. */
void thread_state_release(struct thread_state *t);

#endif
