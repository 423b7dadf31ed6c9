/* targets.h - private: which CPUs and which threads are recorded. */
#ifndef CAPTURE_TARGETS_H
#define CAPTURE_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

#define TARGETS_CPU_MAX 65536

struct cpu_list {
	VEC(int) cpus; /* rising, without repetition */
};

/* Parses "0,2-3", as in /sys/devices/system/cpu/online and -C. `what` is used in messages. */
int cpu_list_parse(struct cpu_list *ret, const char *text, const char *what, struct err *err);
/* The CPUs that are online. */
int cpu_list_online(struct cpu_list *ret, struct err *err);
/* Whether a line of /proc/stat is that of one CPU, and of which. */
bool cpu_of_stat_line(const char *line, int *cpu);
void cpu_list_done(struct cpu_list *l);

/* Threads without repetition. A zeroed list is empty. */
struct tid_list {
	VEC(pid_t) tids;
	struct hash_table seen;
};

/* Appends the threads of a process that are not in the list yet. Returns the number of new ones,
 * which is 0 if the process has ended; or negative with *err. */
int tid_list_scan(struct tid_list *l, pid_t pid, struct err *err);
/* Appends all processes but this one that have memory of their own, which those of the kernel have
 * not; the children of a process. Return 0, or negative with *err. */
int tid_list_all(struct tid_list *l, struct err *err);
int tid_list_children(struct tid_list *l, pid_t pid, struct err *err);
/* The children that a process has now will not be appended by the last one. Returns the same. */
int tid_list_skip_children(struct tid_list *l, pid_t pid, struct err *err);
/* Appends the kernel's threads, where this process may read their stacks (root). Returns 0, or
 * negative with *err. */
int tid_list_kernel(struct tid_list *l, struct err *err);
/* Appends a thread unless it is in the list. Returns 1 if it is new, 0 if not, negative when out of
 * memory. */
int tid_list_add(struct tid_list *l, pid_t tid, struct err *err);
void tid_list_done(struct tid_list *l);

/* The process of a thread; 0 if the thread has ended. */
pid_t tid_process(pid_t tid);

/* Opens the folder of a cgroup. The path is absolute, or relative to the mount of the hierarchy
 * that perf events follow (v1's perf_event controller, or v2), with or without a leading slash.
 * Returns the descriptor, or negative with *err. */
int cgroup_open(const char *path, struct err *err);
/* Appends the threads that are in it. Returns 0, or negative with *err. */
int cgroup_threads(int cgroup_fd, struct tid_list *ret, struct err *err);
/* Where that hierarchy is mounted. False: nowhere. */
bool cgroup_mount(char *ret, size_t size);
/* cgroup_find.c: may it be the beginning of a container's id, 12 to 64 hexadecimal digits? */
bool cgroup_is_id(const char *name);
/* The folder of the container whose id begins so, malloc'ed. Returns 0, or negative with *err: none
 * or several. */
int cgroup_find(const char *mount, const char *id, char **ret, struct err *err);
/* The number by which samples name a cgroup, of its folder; 0: unknown. */
uint64_t cgroup_id(const char *folder);
/* That of a process. */
uint64_t cgroup_of(pid_t pid);

#endif
