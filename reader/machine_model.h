/* machine_model.h - the parts of a machine. Private to reader/machine*.c. */
#ifndef READER_MACHINE_MODEL_H
#define READER_MACHINE_MODEL_H

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/dso.h"
#include "reader/machine.h"
#include "reader/versions.h"

/* Size of a cache of the last tasks that were looked up: most samples are of one of these. */
enum { RECENT = 64 };

/* A thread is known until this many more threads have exited: after its EXIT record a task still
 * runs in the kernel, without memory of its own, and may have to wait for a processor there. */
enum { LATE_EXITS = 4096 };

struct process {
	uint32_t pid;
	/* Number of its life, unique over all processes: fork and exec begin a new life, which ends
	 * the threads of the former one. */
	uint32_t life;
	size_t n_live;	   /* threads of this life that were seen and have not exited */
	uint64_t began_ns; /* of this life, by fork or exec; 0: not recorded */
	bool exited;	   /* the last thread has exited: the maps stay for late samples */
	uint64_t exit;	   /* then: which exit it was */
	struct address_space *space;
	/* The maps before exec, which may be none, until the new program runs; NULL: it does. */
	struct address_space *former;
	/* All maps, of data too, whose dsos are those of machine.data_names; NULL: not wanted, or
	 * none so far. Never captured. */
	struct address_space *data;
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
	struct dso_table data_names; /* of what is mapped; only their paths mean something */
	bool has_data;		     /* maps of data are wanted */
	struct strtab comms;
	VEC(struct process) processes;
	struct hash_table process_index; /* pid -> processes */
	VEC(struct thread) threads;
	struct hash_table thread_index; /* pid << 32 | tid -> threads */
	uint32_t last_life;
	/* A ring of LATE_EXITS, the i-th exit at i % LATE_EXITS; NULL: no exits so far. */
	struct perf_thread *exits;
	uint64_t n_exits;		     /* ever: they are numbered from 1 */
	struct perf_threads ended;	     /* machine_take_ended() */
	struct address_space *nothing;	     /* the maps of processes of which nothing is known */
	uint64_t now_ns;		     /* of the last FORK or exec; 0: not known */
	uint64_t changes;		     /* also counts epochs */
	struct machine_place recent[RECENT]; /* the last results, by the low bits of tid */
	struct address_space *kernel, *guest_kernel;
	uint64_t kernel_end; /* end of the kernel's own map, as recorded; 0: it has none */
	struct address_space *guest_user; /* NULL until needed */
	/* The kernel's maps without KSYMBOL regions; NULL: there are no such regions. */
	struct address_space *bare_kernel;
};

/* Pointers to processes and threads are valid until the next call of a _get or _exit function. NULL
 * when out of memory. */
struct process *process_get(struct machine *m, uint32_t pid);
struct thread *thread_get(struct machine *m, uint32_t pid, uint32_t tid);
/* Marks a thread that does something, and its process, as alive. */
void thread_seen(struct process *p, struct thread *t);
/* Notes a map of a process for machine_data(). Returns 0 or -ERR_NOMEM. */
int machine_note_data(struct machine *m, struct process *p, const struct machine_mmap *r);
/* Begins a new life of a process, with the maps of `like`. Returns 0 or -ERR_NOMEM. */
int process_restart(struct machine *m, struct process *p, const struct address_space *like);

#endif
