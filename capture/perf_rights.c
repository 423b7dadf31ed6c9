/* perf_rights.c - converts refusals of the kernel to messages that name the setting and the cure.
 */
#include "capture/perf_rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/sysfile.h"

/* linux/capability.h; by number because older headers lack CAP_PERFMON. */
enum { CAPABILITY_IPC_LOCK = 14, CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };

bool namespace_is_machines(enum machine_namespace which)
{
	/* linux/proc_ns.h: PROC_USER_INIT_INO, PROC_PID_INIT_INO */
	static const struct {
		const char *path;
		ino_t inode;
	} rows[] = {[MACHINE_USER] = {"/proc/self/ns/user", 0xeffffffd},
		    [MACHINE_PID] = {"/proc/self/ns/pid", 0xeffffffc}};
	struct stat st;

	return stat(rows[which].path, &st) || st.st_ino == rows[which].inode;
}

/* Capabilities that count for perf events: root of a user namespace has none. */
static unsigned long long effective_capabilities(void)
{
	char text[4096], *line;

	if (!namespace_is_machines(MACHINE_USER))
		return 0;
	if (sysfile_read("/proc/self/status", text, sizeof text) < 0)
		return geteuid() ? 0 : ~0ull;
	line = strstr(text, "\nCapEff:");
	return line ? strtoull(line + sizeof "\nCapEff:" - 1, NULL, 16) : 0;
}

static long sysctl_number(const char *name, long missing)
{
	char path[128];
	int64_t v;

	snprintf(path, sizeof path, "/proc/sys/kernel/%s", name);
	return sysfile_i64(path, &v) ? missing : (long)v;
}

void perf_rights_read(struct perf_rights *ret)
{
	unsigned long long caps = effective_capabilities();
	struct rlimit rl;

	*ret = (struct perf_rights){
		.paranoid = (int)sysctl_number("perf_event_paranoid", 2),
		.may_admin = caps >> CAPABILITY_SYS_ADMIN & 1,
		.may_perf = caps >> CAPABILITY_PERFMON & 1 || caps >> CAPABILITY_SYS_ADMIN & 1,
		.may_lock = caps >> CAPABILITY_IPC_LOCK & 1,
		.mlock_kb = sysctl_number("perf_event_mlock_kb", 516),
		.memlock_kb = -1,
		.max_rate_hz = sysctl_number("perf_event_max_sample_rate", 0),
	};
	if (!getrlimit(RLIMIT_MEMLOCK, &rl) && rl.rlim_cur != RLIM_INFINITY)
		ret->memlock_kb = (long)(rl.rlim_cur / 1024);
}

static void describe(const struct refused_open *w, char *buf, size_t size)
{
	char who[64];

	if (w->is_command)
		snprintf(who, sizeof who, "the command");
	else if (w->pid > 0)
		snprintf(who, sizeof who, "thread %d", (int)w->pid);
	else if (!w->pid)
		snprintf(who, sizeof who, "this process");
	else
		snprintf(who, sizeof who, "all processes");
	if (w->cpu >= 0)
		snprintf(buf, size, "event %s for %s on CPU %d", w->event, who, w->cpu);
	else
		snprintf(buf, size, "event %s for %s", w->event, who);
}

static uid_t owner_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	return stat(path, &st) ? geteuid() : st.st_uid;
}

static int no_permission(struct err *err, const char *name, const char *what,
			 const struct refused_open *w)
{
	struct perf_rights r;
	int need = w->is_tracepoint ? -1 : w->pid < 0 ? 0 : w->wants_kernel ? 1 : 2;

	perf_rights_read(&r);
	if (w->is_probe && !r.may_admin)
		return err_set(err, ERR_PERMISSION, NULL,
			       "%s: %s: probes change the code of programs, which needs "
			       "CAP_SYS_ADMIN; run capture with sudo",
			       what, name);
	if (w->pid > 0 && !r.may_perf && owner_of(w->pid) != geteuid())
		return err_set(err, ERR_PERMISSION, NULL,
			       "%s: %s: the process belongs to user %u; run capture with sudo",
			       what, name, (unsigned)owner_of(w->pid));
	if (!r.may_perf && r.paranoid > need)
		return err_set(err, ERR_PERMISSION, NULL,
			       "%s: %s: kernel.perf_event_paranoid is %d and this user lacks "
			       "CAP_PERFMON; run capture with sudo, or allow it: "
			       "sudo sysctl kernel.perf_event_paranoid=%d",
			       what, name, r.paranoid, need);
	return err_set(err, ERR_PERMISSION, NULL,
		       "%s: %s although kernel.perf_event_paranoid is %d: a seccomp filter or "
		       "security module refuses it; in a container start it with --cap-add PERFMON "
		       "--security-opt seccomp=unconfined",
		       what, name, r.paranoid);
}

int refused_open_err(struct err *err, int errnum, const struct refused_open *w)
{
	const char *name = strerrorname_np(errnum);
	struct rlimit rl = {0};
	char what[160];

	if (!name)
		name = strerror(errnum);
	describe(w, what, sizeof what);
	switch (errnum) {
	case EACCES:
	case EPERM:
		return no_permission(err, name, what, w);
	case EMFILE:
		getrlimit(RLIMIT_NOFILE, &rl);
		return err_set(err, ERR_LIMIT, NULL,
			       "%s: %s: %zu file descriptors are needed (threads x CPUs x events), "
			       "the limit is %llu; raise it: ulimit -n %zu, or use -a",
			       what, name, w->n_fds + 64, (unsigned long long)rl.rlim_cur,
			       w->n_fds + 64);
	case ENFILE:
		return err_set(err, ERR_LIMIT, NULL,
			       "%s: %s: the system's limit on open files is reached; raise it: "
			       "sudo sysctl fs.file-max=...",
			       what, name);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "%s: %s: this machine cannot count it (virtual machines often have "
			       "no PMU); use -e cpu-clock",
			       what, name);
	case ENOSYS:
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "%s: %s: the kernel was built without perf events", what, name);
	case ESRCH:
		return err_set(err, ERR_NOT_FOUND, NULL, "%s: %s: no such process", what, name);
	case EBUSY:
		return err_set(
			err, ERR_LIMIT, NULL,
			"%s: %s: the PMU is taken by another user, the NMI watchdog perhaps: "
			"sudo sysctl kernel.nmi_watchdog=0",
			what, name);
	case EINVAL:
		return err_set(err, ERR_UNSUPPORTED, NULL, "%s: %s: %s", what, name,
			       w->is_of_pmu ? "its PMU takes no samples, or not of one program, or "
					      "does not know these terms: try -a; what only counts "
					      "is for `perf stat -e`"
					    : strerror(errnum));
	default:
		return err_set(err, ERR_IO, NULL, "%s: %s: %s", what, name, strerror(errnum));
	}
}

int refused_map_err(struct err *err, int errnum, const struct refused_map *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n_cpus = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	size_t need_kb =
		(w->n_rings * (w->ring_bytes + page) + w->n_side * (w->side_bytes + page)) / 1024;
	struct perf_rights r;

	if (errnum != EPERM)
		return err_set(err, errnum == ENOMEM ? ERR_NOMEM : ERR_IO, NULL,
			       "map %zu rings of %zu KiB: %s", w->n_rings, w->ring_bytes / 1024,
			       strerror(errnum));
	perf_rights_read(&r);
	return err_set(err, ERR_PERMISSION, NULL,
		       "map %zu rings of %zu KiB: EPERM: %zu KiB are needed; this user may lock "
		       "kernel.perf_event_mlock_kb (%ld) x %zu CPUs plus ulimit -l (%ld) KiB, less "
		       "what other recordings use; use a smaller -m, or: "
		       "sudo sysctl kernel.perf_event_mlock_kb=%zu",
		       w->n_rings, w->ring_bytes / 1024, need_kb, r.mlock_kb, n_cpus, r.memlock_kb,
		       (need_kb + n_cpus - 1) / n_cpus + (size_t)r.mlock_kb);
}
