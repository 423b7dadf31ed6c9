/* machine.h - the process model: what each process had mapped, at any time. Private to reader/.
 *
 * It is fed with records in time order and hands out address spaces as immutable versions: a
 * version that a sample refers to is never changed; the next change makes a new one.
 * machine_reclaim() frees old versions when no held batch can refer to them any more (epochs,
 * counted per batch). */
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

/* All functions that return int: 0, or -ERR_NOMEM. Strings are copied. */
int machine_new(struct machine **ret);
void machine_free(struct machine *m);
/* An entry of the header's BUILD_ID table; call it before the first record. Build ids are found by
 * path (of the kernel: by cpumode). */
int machine_add_build_id(struct machine *m, const char *path, const struct build_id *id,
			 uint16_t misc);
int machine_mmap(struct machine *m, const struct machine_mmap *map);
/* When what the next FORK or exec says happened; 0: not known. */
void machine_at(struct machine *m, uint64_t time_ns);
int machine_comm(struct machine *m, uint32_t pid, uint32_t tid, const char *comm, bool exec);
int machine_fork(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid);
/* A FORK that perf made up for a task that existed before the recording (misc
 * PERF_RECORD_MISC_FORK_EXEC, 1 << 13): its maps follow as MMAP records, so it inherits none. */
int machine_fork_found(struct machine *m, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid);
int machine_exit(struct machine *m, uint32_t pid, uint32_t tid);
/* KSYMBOL: kernel code that is added and removed at run time (BPF, trampolines). */
int machine_ksymbol(struct machine *m, uint64_t addr, uint32_t len, const char *name,
		    bool unregister);

struct perf_threads {
	struct perf_thread *v;
	size_t n, cap;
}; /* a VEC() */

/* Moves the threads that machine_place() was asked for and that have exited since the last call to
 * *ret, whose memory is reused for the next. A thread that machine_place() is asked for again can
 * be reported again. */
void machine_take_ended(struct machine *m, struct perf_threads *ret);

/* The state of a task of the host, now. */
struct machine_place {
	uint32_t pid, tid;
	uint64_t changes; /* of the machine until then */
	const struct address_space *space, *kernel;
	const char *comm; /* interned: lives until machine_free() */
	bool has_former;  /* see machine_former_space() */
};
/* Returns NULL only when out of memory. Valid until the next call of a machine function. */
const struct machine_place *machine_place(struct machine *m, uint32_t pid, uint32_t tid);

/* The members of a machine_place one by one. NULL only when out of memory. */
const struct address_space *machine_space(struct machine *m, uint32_t pid);
/* After an exec and before the first sample in the new program, code at user_ip that the kernel
 * interrupted may still be the old program's. Then returns the old program's maps, else NULL.
 * machine_runs() says that the new program runs. */
const struct address_space *machine_former_space(struct machine *m, uint32_t pid, uint64_t user_ip);
void machine_runs(struct machine *m, uint32_t pid);
/* For samples of cpumode GUEST_KERNEL; takes the place of machine_place.kernel. */
const struct address_space *machine_guest_kernel(struct machine *m);
/* For samples of cpumode GUEST_USER: one map "[guest]" has all addresses. */
const struct address_space *machine_guest_user(struct machine *m);
/* Interned: valid until machine_free(). NULL only when out of memory. */
const char *machine_foreign_comm(struct machine *m);

/* From now on maps of data are known, for machine_data(). */
void machine_want_data(struct machine *m);
/* What an address of a process lies in, now: "[heap]", "[stack]", "[anon]", "[kernel]", or the path
 * of a file; NULL: not known. sp: the stack pointer, if known. Valid until machine_free(). */
const char *machine_data(struct machine *m, uint32_t pid, uint64_t addr, uint64_t sp);

/* Starts a new epoch and returns its number, which rises from 1. Address spaces captured after this
 * belong to it. */
uint64_t machine_next_epoch(struct machine *m);
/* Frees superseded versions that were last captured before `oldest_held`. */
void machine_reclaim(struct machine *m, uint64_t oldest_held);

size_t machine_dso_count(const struct machine *m);
const struct dso *machine_dso(const struct machine *m, size_t i);
/* Maps that live until machine_free(): those of the kernel, or, after machine_keep_maps(), all. */
void machine_keep_maps(struct machine *m);
size_t machine_map_count(const struct machine *m);
uint64_t machine_kernel_end(const struct machine *m);
const struct map *machine_map(const struct machine *m, size_t i);

#endif
