/* machine.h - the process model: who had what mapped where, at any time. Private to reader/.
 *
 * Fed with records in time order. Address spaces are handed out as immutable versions: a version
 * that a sample refers to is never changed; the next change makes a new one. Old versions are freed
 * by machine_reclaim() when no held batch can refer to them any more (epochs, counted per batch).
 */
#ifndef READER_MACHINE_H
#define READER_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "reader/reader.h"

struct machine;

struct machine_mmap {
	uint32_t pid, tid; /* pid UINT32_MAX: kernel */
	uint64_t start, len, pgoff;
	uint32_t prot, flags;
	bool kernel, guest; /* from the record's cpumode */
	bool is_exec;	    /* MMAP2: prot has PROT_EXEC; MMAP: not a data mapping */
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	struct build_id build_id;
	const char *path;
};

/* All int functions: 0, or -ERR_NOMEM. Strings are copied. */
int machine_new(struct machine **ret);
void machine_free(struct machine *m);
/* BUILD_ID table of the header, before the first record: build ids by path (kernel: cpumode). */
int machine_add_build_id(struct machine *m, const char *path, const struct build_id *id,
			 uint16_t misc);
int machine_mmap(struct machine *m, const struct machine_mmap *map);
int machine_comm(struct machine *m, uint32_t pid, uint32_t tid, const char *comm, bool exec);
int machine_fork(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid);
/* FORK made up by perf for a task that was there already (misc PERF_RECORD_MISC_FORK_EXEC, 1 <<
 * 13): its maps come in MMAPs of its own, so it gets none of its parent. */
int machine_fork_found(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid);
int machine_exit(struct machine *m, uint32_t pid, uint32_t tid);
/* KSYMBOL: kernel code that comes and goes (BPF, trampolines). */
int machine_ksymbol(struct machine *m, uint64_t addr, uint32_t len, const char *name,
		    bool unregister);

struct perf_threads {
	struct perf_thread *v;
	size_t n, cap;
}; /* a VEC() */

/* Threads that were asked for by machine_place() and have exited since the last call, to *ret,
 * which gives its memory for the next. One that is asked for later may come again. */
void machine_take_ended(struct machine *m, struct perf_threads *ret);

/* What is valid now for a task, in the host. */
struct machine_place {
	uint32_t pid, tid;
	uint64_t changes; /* of the machine until then */
	const struct address_space *space, *kernel;
	const char *comm; /* interned: lives until machine_free() */
	bool has_former;  /* see machine_former_space() */
};
/* NULL only when out of memory. Valid until the next call here. */
const struct machine_place *machine_place(struct machine *m, uint32_t pid, uint32_t tid);

/* The same one by one. NULL only when out of memory. */
const struct address_space *machine_space(struct machine *m, uint32_t pid);
const struct address_space *machine_kernel(struct machine *m);
/* Between exec and the first sample in the new program, code that the kernel interrupted, at
 * user_ip, may be of the old one: then these are its maps, else NULL. machine_runs() says that the
 * new program runs. */
const struct address_space *machine_former_space(struct machine *m, uint32_t pid, uint64_t user_ip);
void machine_runs(struct machine *m, uint32_t pid);
/* For samples of cpumode GUEST_KERNEL, instead of machine_kernel(). */
const struct address_space *machine_guest_kernel(struct machine *m);
/* For samples of cpumode GUEST_USER: every address is in the dso "[guest]". */
const struct address_space *machine_guest_user(struct machine *m);
/* Interned: lives until machine_free(). NULL only when out of memory. */
const char *machine_foreign_comm(struct machine *m);
const char *machine_comm_of(struct machine *m, uint32_t pid, uint32_t tid);

/* Starts a new epoch and returns its number (rising from 1). Spaces captured from now on belong to
 * it. */
uint64_t machine_next_epoch(struct machine *m);
/* Frees superseded versions that were last captured before `oldest_held`. */
void machine_reclaim(struct machine *m, uint64_t oldest_held);

/* Processes and threads that are known now. Those that have ended are forgotten some thousand ends
 * later: pids are used again, and there is no end of them. */
size_t machine_task_count(const struct machine *m);
/* Bytes that versions of address spaces take now. */
size_t machine_space_bytes(const struct machine *m);

size_t machine_dso_count(const struct machine *m);
const struct dso *machine_dso(const struct machine *m, size_t i);
/* Maps that live until machine_free(): those of the kernel, or, from now on, all. */
void machine_keep_maps(struct machine *m);
size_t machine_map_count(const struct machine *m);
uint64_t machine_kernel_end(const struct machine *m);
const struct map *machine_map(const struct machine *m, size_t i);

#endif
