/* perf_rights.h - private: explains refusals of the kernel, and which command cures them. */
#ifndef CAPTURE_PERF_RIGHTS_H
#define CAPTURE_PERF_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Privileges and settings that decide on perf_event_open
 * (Documentation/admin-guide/perf-security.rst). */
struct perf_rights {
	int paranoid;	  /* kernel.perf_event_paranoid; 2 when unreadable */
	bool may_perf;	  /* CAP_PERFMON or CAP_SYS_ADMIN */
	bool may_admin;	  /* CAP_SYS_ADMIN: uprobes */
	bool may_lock;	  /* CAP_IPC_LOCK: no limit on ring memory */
	long mlock_kb;	  /* kernel.perf_event_mlock_kb */
	long memlock_kb;  /* ulimit -l; -1: unlimited */
	long max_rate_hz; /* kernel.perf_event_max_sample_rate */
};

/* Never fails: settings that cannot be read count as the kernel's defaults, max_rate_hz as 0. */
void perf_rights_read(struct perf_rights *ret);

/* Namespaces of the machine that containers replace by their own. */
enum machine_namespace { MACHINE_USER, MACHINE_PID };

/* Is this process in the machine's own one? True also where /proc does not tell. */
bool namespace_is_machines(enum machine_namespace which);

struct refused_open {
	const char *event;
	pid_t pid; /* -1: all processes; 0: this one */
	int cpu;
	bool wants_kernel;  /* kernel mode is not excluded */
	bool is_tracepoint; /* with its fields */
	bool is_probe;	    /* of user code */
	bool is_of_pmu;	    /* of none that each machine has */
	bool is_command;    /* pid is the command that is started */
	size_t n_fds;	    /* how many are needed in all */
};

/* Fills *err for a perf_event_open() that failed with errnum. Returns the negative code. */
int refused_open_err(struct err *err, int errnum, const struct refused_open *what);
struct refused_map {
	size_t n_rings, ring_bytes; /* for samples */
	size_t n_side, side_bytes;  /* for the sideband */
};

/* The same for mmap() of the rings. */
int refused_map_err(struct err *err, int errnum, const struct refused_map *what);

#endif
