/* synth.h - private: records about what exists before the recording begins.
 *
 * The kernel reports only changes. For what exists already, the same records are made from /proc:
 * FORK, COMM and MMAP2 for each process, MMAP2 for the kernel and its modules. Their trailer (time,
 * id) is all zero, as perf writes it; readers take that for "before everything else". */
#ifndef CAPTURE_SYNTH_H
#define CAPTURE_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/buildid.h"

struct synth {
	const char *proc, *sys,
		*modules;      /* "/proc", "/sys", "/lib/modules/RELEASE"; tests have others */
	const char *cache_dir; /* for kernel_range_read(); NULL: none */
	/* Receives a record. Returns 0, or nonzero to stop. */
	int (*emit)(void *arg, const void *rec, size_t n);
	void *arg;
	bool all_data;	/* also all other maps */
	bool with_data; /* also maps of files without code, because .eh_frame is in one of these */
	bool no_query;	/* PROCMAP_QUERY is not there (before Linux 6.11) */
	/* Build ids of files that were read, by a hash of device and inode. */
	struct hash_table files;
	VEC(struct build_id) ids;
};

/* All functions return 0, even if what they look for does not exist, or nonzero if emit() has
 * stopped them. */

/* The kernel and its modules. *ret_hidden: the kernel hides its addresses from this user
 * (kptr_restrict). */
int synth_kernel(struct synth *s, bool *ret_hidden);
int synth_modules(struct synth *s);
/* The cgroups that there are. */
int synth_cgroups(struct synth *s);
/* One process: the names of its threads, and its maps. */
int synth_process(struct synth *s, pid_t pid);
/* The name of one thread; the parent counts if it is the process's first. */
int synth_thread(struct synth *s, pid_t pid, pid_t ppid, pid_t tid);
/* All processes. between() is called after each. */
int synth_all(struct synth *s, int (*between)(void *arg), void *arg);
void synth_done(struct synth *s);

/* ---- between the files of synth ------------------------------------------------------------ */

/* A record under construction. Strings that do not fit are cut. */
struct synth_record {
	size_t n;
	uint8_t bytes[8192];
};

void record_begin(struct synth_record *r, uint32_t type, uint16_t misc);
void record_u64(struct synth_record *r, uint64_t v);
void record_string(struct synth_record *r, const char *s);
/* Adds the zero trailer and emits. */
int record_emit(struct synth *s, struct synth_record *r);

struct synth_map {
	pid_t pid, tid;
	uint16_t misc; /* PERF_RECORD_MISC_USER or _KERNEL */
	uint64_t start, end, pgoff;
	uint32_t prot, flags;
	uint32_t maj, min;
	uint64_t ino;
	struct build_id id;
	const char *path;
};

/* Emits PERF_RECORD_MMAP2, with the build id if there is one, else with the inode. */
int synth_map_emit(struct synth *s, const struct synth_map *m);
/* The maps of a process: synth_maps.c. */
int synth_maps(struct synth *s, pid_t pid);

#endif
