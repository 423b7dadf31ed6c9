/* machine_model.h - what a machine consists of. Private to reader/machine*.c. */
#ifndef READER_MACHINE_MODEL_H
#define READER_MACHINE_MODEL_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/dso.h"
#include "reader/machine.h"
#include "reader/versions.h"

/* Most samples are of tasks that others were of just before, with nothing changed in between. */
enum { RECENT = 64 };

/* Threads that have exited are known for so many exits more: a task goes on in the kernel behind
 * its EXIT record, without memory of its own, and may have to wait for a processor there. */
enum { LATE_EXITS = 4096 };

struct process {
	uint32_t pid;
	uint32_t life; /* of all: a new one (fork, exec) ends the threads of the former */
	size_t n_live; /* threads of this life that were seen and have not exited */
	bool exited;   /* the last of them has: maps stay for late samples */
	uint64_t exit; /* then: which exit it was */
	struct address_space *space;
	struct address_space *former; /* before exec, until the new program runs; NULL */
};

struct thread {
	uint32_t pid, tid;
	uint32_t life;	  /* of its process when last seen alive */
	bool live;	  /* in that life */
	bool named;	  /* a record had comm; else it is ":TID" */
	bool sampled;	  /* and no record of its end came since */
	const char *comm; /* interned; NULL: not asked for yet */
	uint64_t exit;	  /* the last one; 0: none */
};

struct machine {
	struct versions versions;
	struct dso_table dsos;
	struct strtab comms;
	VEC(struct process) processes;
	struct hash_table process_index; /* pid -> processes */
	VEC(struct thread) threads;
	struct hash_table thread_index; /* pid << 32 | tid -> threads */
	uint32_t last_life;
	struct perf_thread *exits;     /* LATE_EXITS, the i-th at i % LATE_EXITS; NULL: none */
	uint64_t n_exits;	       /* ever: they are numbered from 1 */
	struct perf_threads ended;     /* machine_take_ended() */
	struct address_space *nothing; /* of processes of which nothing is known */
	uint64_t changes;	       /* also counts epochs */
	struct machine_place recent[RECENT]; /* by the low bits of tid: what was found last */
	struct address_space *kernel, *guest_kernel;
	uint64_t kernel_end; /* of the kernel's own map, as it was recorded; 0: there was none */
	struct address_space *guest_user;  /* NULL until needed */
	struct address_space *bare_kernel; /* without KSYMBOL regions; NULL: there were none */
};

/* Pointers to processes and threads die at the next call of a _get or _exit function. NULL: out of
 * memory. */
struct process *process_get(struct machine *m, uint32_t pid);
struct thread *thread_get(struct machine *m, uint32_t pid, uint32_t tid);
/* The thread does something, so it and its process are alive. */
void thread_seen(struct process *p, struct thread *t);
/* The process begins a new life, with the maps of `like`. 0 or -ERR_NOMEM. */
int process_restart(struct machine *m, struct process *p, const struct address_space *like);

#endif
