/* check.c - reports what would work here, and which command cures what does not. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "capture/perf_rights.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/event.h"
#include "capture/probe_event.h"
#include "capture/session.h"
#include "capture/sysfile.h"
#include "capture/tracefs.h"

struct report {
	void (*say)(void *arg, const char *line);
	void *arg;
};

static void line(const struct report *r, bool good, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void line(const struct report *r, bool good, const char *fmt, ...)
{
	char text[640];
	size_t n = (size_t)snprintf(text, sizeof text, "%-4s", good ? "yes" : "no");
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof text - n, fmt, ap);
	va_end(ap);
	r->say(r->arg, text);
}

/* Opens an event for this process or a CPU, and reports the result. */
static bool try_event(const struct report *r, const char *title, const char *name, pid_t pid,
		      enum capture_call_graph call_graph)
{
	struct attr_policy p = {
		.features = attr_probe(),
		.call_graph = call_graph,
		.stack_bytes = CAPTURE_STACK_BYTES,
		.frequency_hz = 99,
	};
	struct perf_event_attr a;
	struct event e;
	struct err err = {0};
	int fd;

	if (event_parse(&e, name, strlen(name), &err)) {
		line(r, false, "%s: %s", title, err.what);
		return false;
	}
	attr_for_samples(&a, &e, &p);
	fd = attr_open(&a, pid, pid < 0 ? 0 : -1, 0);
	if (fd < 0) {
		struct refused_open w = {
			.event = name, .pid = pid, .cpu = -1, .wants_kernel = !a.exclude_kernel};

		(void)refused_open_err(&err, errno, &w);
		line(r, false, "%s: %s", title, err.what);
		return false;
	}
	close(fd);
	line(r, true, "%s", title);
	return true;
}

/* Returns whether own programs can be recorded at all. */
static bool check_events(const struct report *r)
{
	bool own = try_event(r, "own programs, user space", "cpu-clock:u", 0, CALL_GRAPH_NONE);

	try_event(r, "own programs, with the kernel's part", "cpu-clock", 0, CALL_GRAPH_NONE);
	try_event(r, "all processes (-a, --cgroup)", "cpu-clock", -1, CALL_GRAPH_NONE);
	try_event(r, "registers and stack copies (--call-graph dwarf)", "cpu-clock:u", 0,
		  CALL_GRAPH_DWARF);
	try_event(r, "the CPU's own counters (cycles, instructions ...)", "cycles:u", 0,
		  CALL_GRAPH_NONE);
	return own;
}

static void check_features(const struct report *r)
{
#define X(name, since, text) {since, text},
	static const struct {
		const char *since, *text;
	} rows[] = {ATTR_FEATURES(X)};
#undef X
	unsigned features = attr_probe();

	for (size_t i = 0; i < ATTR_F_N; i++)
		line(r, features >> i & 1, "%s (since Linux %s)", rows[i].text, rows[i].since);
}

/* Documentation/admin-guide/sysctl/kernel.rst; levels from 3 on are patches of
 * distributions, and mean 2 to other kernels. */
static const char *paranoid_text(const struct perf_rights *r, bool own_allowed)
{
	if (r->may_perf)
		return "no limit for this user, who has CAP_PERFMON";
	if (r->paranoid > 2 && !own_allowed)
		return "nothing is allowed to this user; 2 allows user space of own programs";
	if (r->paranoid > 2)
		return "this kernel takes it for 2: only user space of own programs";
	if (r->paranoid == 2)
		return "only user space of own programs; 1 adds the kernel's part, 0 all processes";
	return r->paranoid == 1 ? "only own programs; 0 adds all processes" : "no limit";
}

/* The kernel counts what all recordings of a user lock (perf_event_open(2), mlock_kb). */
static void check_ring_memory(const struct report *r, const struct perf_rights *rights, long n_cpus)
{
	long have_kb = rights->mlock_kb * n_cpus + rights->memlock_kb;
	long full_kb = (long)session_locked_kb(SESSION_RING_KB) * n_cpus;

	if (rights->may_lock || rights->memlock_kb < 0)
		line(r, true, "memory for rings: not limited for this user (%s)",
		     rights->may_lock ? "CAP_IPC_LOCK" : "ulimit -l");
	else if (have_kb >= full_kb)
		line(r, true,
		     "memory for rings: %ld KiB (kernel.perf_event_mlock_kb %ld x %ld CPUs + "
		     "ulimit -l %ld); full rings take %ld",
		     have_kb, rights->mlock_kb, n_cpus, rights->memlock_kb, full_kb);
	else
		line(r, false,
		     "memory for rings: %ld KiB, full rings take %ld; with less, high rates lose "
		     "samples: sudo sysctl kernel.perf_event_mlock_kb=%zu",
		     have_kb, full_kb, session_locked_kb(SESSION_RING_KB));
}

static void check_limits(const struct report *r, bool own_allowed)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct perf_rights rights;
	struct rlimit rl;

	perf_rights_read(&rights);
	line(r, rights.may_perf || rights.paranoid < 2, "kernel.perf_event_paranoid is %d: %s",
	     rights.paranoid, paranoid_text(&rights, own_allowed));
	check_ring_memory(r, &rights, n_cpus);
	if (!getrlimit(RLIMIT_NOFILE, &rl))
		line(r, rl.rlim_max / (rlim_t)(2 * n_cpus) >= 256,
		     "file descriptors: %llu, enough to attach to %llu threads (ulimit -Hn)",
		     (unsigned long long)rl.rlim_max,
		     (unsigned long long)(rl.rlim_max / (rlim_t)(2 * n_cpus)));
	line(r, rights.max_rate_hz >= 1000,
	     "samples a second and CPU: up to %ld (kernel.perf_event_max_sample_rate)",
	     rights.max_rate_hz);
}

/* May the reader of the rings have a real-time priority? Tries it and takes it back. */
static void check_priority(const struct report *r)
{
	struct sched_param fifo = {.sched_priority = 1}, normal = {0};
	bool good = !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &fifo);

	if (good)
		sched_setscheduler(0, SCHED_OTHER, &normal);
	line(r, good, "real-time priority for the reader: %s",
	     good ? "high rates lose nothing on busy CPUs"
		  : "high rates may lose samples on busy CPUs; run as root, or raise ulimit -r");
}

static void check_names(const struct report *r)
{
	struct err err = {0};
	char text[4096] = "";
	bool visible = sysfile_read("/proc/kallsyms", text, 64) > 0 && strspn(text, "0 ") < 16;

	line(r, visible, "kernel symbols%s",
	     visible ? "" : ": hidden; sudo sysctl kernel.kptr_restrict=0, or run as root");
	if (tracefs_find(&err))
		line(r, true, "tracepoints (-e sys:name)");
	else
		line(r, false, "tracepoints: %s", err.what);
}

/* What probes, system calls and probes of the kernel need. */
static void check_probes(const struct report *r)
{
	struct probe_events set;
	struct perf_rights rights;
	struct err err = {0};
	char path[128];
	bool tracefs;

	perf_rights_read(&rights);
	probe_events_init(&set);
	tracefs = !probe_events_tracefs(&set, &err);
	snprintf(path, sizeof path, "%s/uprobe_events", set.tracefs);
	if (!rights.may_admin)
		line(r, false,
		     "probes (uprobe:, call:, usdt:): CAP_SYS_ADMIN is needed; run capture with "
		     "sudo");
	else if (tracefs && !access(path, W_OK))
		line(r, true,
		     "probes (uprobe:, call:, usdt:), any number of places, with arguments");
	else if (!access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		line(r, false,
		     "probes: only uprobe: and usdt: of one place each, with -a or --no-inherit: "
		     "%s",
		     tracefs ? "this kernel is built without CONFIG_UPROBE_EVENTS" : err.what);
	else
		line(r, false, "probes: this kernel is built without CONFIG_UPROBES");
	snprintf(path, sizeof path, "%s/events/raw_syscalls/sys_enter/id", set.tracefs);
	if (tracefs && !access(path, R_OK))
		line(r, true, "system calls (--syscalls)%s",
		     rights.may_admin ? "" : "; texts of their arguments only of own processes");
	else
		line(r, false, "system calls (--syscalls): %s",
		     tracefs ? "this kernel is built without CONFIG_FTRACE_SYSCALLS" : err.what);
	if (!access("/sys/bus/event_source/devices/kprobe/type", R_OK))
		line(r, rights.may_admin, "probes of the kernel (kprobe:)%s",
		     rights.may_admin ? "" : ": CAP_SYS_ADMIN is needed; run capture with sudo");
	else
		line(r, false,
		     "probes of the kernel (kprobe:): this kernel is built without CONFIG_KPROBES");
	probe_events_done(&set);
}

void capture_check(void (*say)(void *arg, const char *line), void *arg)
{
	struct report r = {say, arg};
	struct utsname u;
	bool own_allowed;

	if (!uname(&u))
		line(&r, true, "Linux %s on %s", u.release, u.machine);
	if (access("/proc/self", F_OK))
		line(&r, false,
		     "/proc is not mounted: the kernel's limits and symbols below are not known, "
		     "running processes are not seen; mount -t proc proc /proc");
	own_allowed = check_events(&r);
	check_limits(&r, own_allowed);
	check_priority(&r);
	check_names(&r);
	check_probes(&r);
	check_features(&r);
}
