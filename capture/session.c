/* session.c - opens the events, on each CPU and for each thread that is recorded. */
#include "capture/session.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"
#include "capture/alloc_event.h"
#include "capture/perf_rights.h"
#include "capture/probe_maps.h"
#include "capture/probe_notes.h"
#include "capture/switch_event.h"
#include "capture/syscall_event.h"
#include "reader/format.h"

/* Threads that start while the list of threads is read are found by reading it again. The number of
 * repetitions is limited, because a process may start threads without end; those are inherited
 * anyway. */
#define RESCAN_MAX 32

/* Descriptors reserved for files that are opened while the events are open: /proc for existing
 * processes, their files for build ids, and the output. Without them processes would silently have
 * no maps. */
#define SPARE_FDS 16

/* ---- what is recorded -------------------------------------------------------------------- */

static unsigned clamp_frequency(struct session *s, unsigned hz)
{
	struct perf_rights r;

	perf_rights_read(&r);
	if (r.max_rate_hz <= 0 || hz <= (unsigned long)r.max_rate_hz)
		return hz;
	if (hz == UINT32_MAX)
		capture_note(s->result, "-F max is %ld here (kernel.perf_event_max_sample_rate)",
			     r.max_rate_hz);
	else
		capture_note(s->result,
			     "-F %u is lowered to kernel.perf_event_max_sample_rate, which is %ld",
			     hz, r.max_rate_hz);
	return (unsigned)r.max_rate_hz;
}

static int choose_policy(struct session *s, struct err *err)
{
	const struct capture_options *o = s->opt;
	struct attr_policy *p = &s->policy;

	*p = (struct attr_policy){
		.features = attr_probe(),
		.call_graph = o->call_graph,
		.stack_bytes = o->stack_bytes ? o->stack_bytes : CAPTURE_STACK_BYTES,
		.frequency_hz = o->frequency_hz ? clamp_frequency(s, o->frequency_hz) : 0,
		.period = o->period,
		.inherit = !s->all_processes && !o->no_inherit,
		.enable_on_exec = s->command_pid && !o->delay_ms,
		.cgroups = o->all_cgroups,
		.data = o->data,
		.phys_data = o->phys_data,
		.args = o->args || o->strings,
	};
	if (o->all_cgroups && !attr_has_cgroups())
		return err_set(
			err, ERR_UNSUPPORTED, NULL,
			"--all-cgroups: this kernel does not say which cgroup a sample is of "
			"(Linux 5.7 does, with CONFIG_CGROUP_PERF)");
	if (o->strict_freq && o->frequency_hz != UINT32_MAX && p->frequency_hz != o->frequency_hz)
		return err_set(err, ERR_USAGE, NULL,
			       "--strict-freq: -F %u is above kernel.perf_event_max_sample_rate, "
			       "which is %u",
			       o->frequency_hz, p->frequency_hz);
	if (p->call_graph != CALL_GRAPH_DWARF)
		return 0;
	if (p->stack_bytes % 8 || p->stack_bytes > CAPTURE_STACK_MAX)
		return err_set(err, ERR_USAGE, NULL,
			       "stack dumps of %u bytes: must be a multiple of 8 and at most %d",
			       p->stack_bytes, CAPTURE_STACK_MAX);
	if (!attr_user_regs()) {
		p->call_graph = CALL_GRAPH_FP;
		capture_note(s->result, "registers of this CPU are not known; frame pointer "
					"call chains were recorded");
	}
	return 0;
}

static void fill_attrs(struct session *s)
{
	struct attr_policy side = s->policy;

	for (size_t i = 0; i < s->n_events; i++) {
		session_fill_attr(s, i);
		/* A probe is in the memory of the thread that its event was made for: exchanged, it
		 * is removed when that one ends. */
		side.stays |= s->events[i].is_probe;
	}
	/* Threads that are not sampled also map code that the sampled ones run. */
	side.inherit = !s->all_processes;
	side.enable_on_exec = s->command_pid != 0;
	attr_for_sideband(&s->attrs[s->n_events], &side);
	s->has_alarm = s->policy.call_graph == CALL_GRAPH_DWARF && !s->opt->no_touch;
	s->events[s->n_events + 1] = s->events[s->n_events];
	attr_for_alarm(&s->attrs[s->n_events + 1], &side);
}

/* -C selects some of the online CPUs for samples; processes may start and map code on all of them.
 */
static int choose_cpus(struct session *s, enum ring_kind kind, struct err *err)
{
	struct cpu_list *online = &s->sets[RING_SIDEBAND].cpus, *cpus = &s->sets[kind].cpus;
	int rc = 0;

	if (!s->opt->cpus || kind >= RING_SIDEBAND)
		return cpu_list_online(cpus, err);
	rc = cpu_list_parse(cpus, s->opt->cpus, "-C", err);
	for (size_t i = 0, k = 0; !rc && i < cpus->cpus.n; i++) {
		while (k < online->cpus.n && online->cpus.v[k] < cpus->cpus.v[i])
			k++;
		if (k == online->cpus.n || online->cpus.v[k] != cpus->cpus.v[i])
			rc = err_set(err, ERR_USAGE, NULL, "-C %s: CPU %d is not online",
				     s->opt->cpus, cpus->cpus.v[i]);
	}
	return rc ? rc : switch_events_check_cpus(s, cpus->cpus.n, online->cpus.n, err);
}

/* What exists already is read from /proc, which must have the same PID namespace as this process.
 */
static int check_proc(struct err *err)
{
	char text[32] = "";

	if (readlink("/proc/self", text, sizeof text - 1) > 0 && atoi(text) == (int)getpid())
		return 0;
	return err_set(
		err, ERR_NOT_FOUND, "/proc",
		"not mounted, or of another PID namespace; run: sudo mount -t proc proc /proc");
}

static int choose_processes(struct session *s, struct err *err)
{
	const struct capture_options *o = s->opt;
	int rc = 0;

	for (size_t i = 0; i < o->n_tids && rc >= 0; i++) {
		pid_t pid = tid_process(o->tids[i]);

		if (!pid)
			return err_set(err, ERR_NOT_FOUND, NULL, "-t %d: no such thread",
				       (int)o->tids[i]);
		rc = tid_list_add(&s->sample_tids, o->tids[i], err);
		if (rc >= 0)
			rc = tid_list_add(&s->processes, pid, err);
	}
	for (size_t i = 0; i < o->n_pids && rc >= 0; i++) {
		if (!tid_process(o->pids[i]) && o->pids_may_end)
			continue;
		if (!tid_process(o->pids[i]))
			return err_set(err, ERR_NOT_FOUND, NULL, "-p %d: no such process",
				       (int)o->pids[i]);
		rc = tid_list_add(&s->processes, o->pids[i], err);
	}
	return rc < 0 ? rc : 0;
}

/* ---- opening ----------------------------------------------------------------------------- */

/* Opens the sampled events, or the sideband and the alarm, on all CPUs for one thread (-1: all). */
static int open_on_cpus(struct session *s, enum ring_kind kind, pid_t pid, struct err *err)
{
	size_t first = kind == RING_SAMPLES ? 0 : s->n_events;
	size_t last = kind == RING_SAMPLES ? s->n_events : s->n_events + 1 + s->has_alarm;

	for (size_t slot = 0; slot < s->sets[kind].cpus.cpus.n; slot++)
		for (size_t event = first; event < last; event++) {
			struct counter c = {.event = (uint32_t)event, .slot = (uint32_t)slot};
			int rc = session_open_counter(s, &c, pid, err);

			if (rc < 0)
				return rc;
			if (!rc)
				return 0; /* the thread is gone */
		}
	return 0;
}

/* -t: only the threads that were named; else all threads of the processes. */
static int scan_threads(struct session *s, enum ring_kind kind, struct tid_list *tids,
			struct err *err)
{
	const pid_t *pids = kind == RING_SAMPLES ? s->opt->pids : s->processes.tids.v;
	size_t n = kind == RING_SAMPLES ? s->opt->n_pids : s->processes.tids.n;

	for (size_t i = 0; i < n; i++) {
		int rc = tid_list_scan(tids, pids[i], err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_threads(struct session *s, enum ring_kind kind, struct err *err)
{
	struct tid_list *tids = kind == RING_SAMPLES ? &s->sample_tids : &s->side_tids;
	size_t done = 0;

	for (unsigned round = 0; round < RESCAN_MAX; round++) {
		int rc = scan_threads(s, kind, tids, err);

		if (rc)
			return rc;
		if (done == tids->tids.n)
			break;
		for (; done < tids->tids.n; done++) {
			rc = open_on_cpus(s, kind, tids->tids.v[done], err);
			if (rc)
				return rc;
		}
	}
	if (!s->sets[kind].counters.n)
		return err_set(err, ERR_NOT_FOUND, NULL, "all processes to record have ended");
	return 0;
}

/* Beside probes they are kept to the end. Where time off the CPU is recorded, switches are many,
 * and their records tell it all. */
static int keep_events(struct session *s, struct err *err)
{
	const bool are_kept = s->attrs[s->n_events].sample_type & PERF_SAMPLE_READ;
	struct attr_policy p = s->policy;
	int rc = 0;

	if (are_kept || s->all_processes || !p.inherit || s->opt->off_cpu || s->opt->wall ||
	    !ATTR_HAS(p.features, STAYS))
		return 0;
	p.enable_on_exec = s->command_pid != 0;
	if (s->command_pid)
		rc = exchange_prevent(&s->exchange, &p, s->command_pid);
	for (size_t i = 0; !s->command_pid && i < s->sample_tids.tids.n && !rc; i++)
		rc = exchange_prevent(&s->exchange, &p, s->sample_tids.tids.v[i]);
	return rc ? err_nomem(err) : 0;
}

static int open_all(struct session *s, struct err *err)
{
	static const enum ring_kind kinds[] = {RING_SAMPLES, RING_SIDEBAND};

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		int rc;

		if (s->all_processes)
			rc = open_on_cpus(s, kinds[k], -1, err);
		else if (s->command_pid)
			rc = open_on_cpus(s, kinds[k], s->command_pid, err);
		else
			rc = open_threads(s, kinds[k], err);
		if (rc)
			return rc;
	}
	return keep_events(s, err);
}

/* Raises the soft limit on descriptors to the hard limit: each thread, CPU and event needs one. */
static void raise_fd_limit(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

/* If one cannot be opened, no event can be opened either, and that is reported. */
static void hold_spare_fds(int *fds)
{
	for (int i = 0; i < SPARE_FDS; i++)
		fds[i] = open("/", O_PATH | O_CLOEXEC);
}

static void release_spare_fds(const int *fds)
{
	for (int i = 0; i < SPARE_FDS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Are all places of the probe that was made last those of events before it? */
static bool is_known(const struct session *s)
{
	const struct probe_event *p = s->probes.made.v[s->probes.made.n - 1];

	return p->n_known && !p->found.places.n;
}

/* Options that say something of probes, where there are none. */
static void note_unused(struct session *s)
{
	const struct capture_options *o = s->opt;
	const char *option = o->strings				  ? "--strings"
			     : o->args				  ? "--args"
			     : o->max_hit_rate && !o->alloc_bytes ? "--max-hit-rate"
								  : NULL;

	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].is_probe)
			return;
	if (option)
		capture_note(s->result,
			     "%s: has no effect, as no probe is recorded (-e uprobe:.., call:..)%s",
			     option,
			     o->strings ? "; --syscalls has the paths of system calls" : "");
}

/* Ends of calls are told by the stack pointer, which is among the registers of a stack copy. */
static bool needs_sp(const struct session *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].is_probe && str_starts_with(s->events[i].name, "ur") &&
		    s->opt->call_graph != CALL_GRAPH_DWARF)
			return true;
	return false;
}

/* The files of probes are those of the processes that are recorded. */
static int make_probes(struct session *s, struct err *err)
{
	const struct probe_target target = {
		.pid = s->processes.tids.n && !s->all_processes ? s->processes.tids.v[0] : 0,
		.is_inherited = !s->all_processes && !s->opt->no_inherit,
		.args = s->opt->args || s->opt->strings,
		.strings = s->opt->strings,
		.sp = needs_sp(s),
	};

	for (size_t i = 0; i < s->n_events && s->opt->probing; i++)
		*s->opt->probing |= s->events[i].is_probe;
	if (s->opt->syscalls) {
		int rc = syscall_probes(s, target.pid, err);

		if (rc)
			return rc;
	}
	for (size_t i = 0; i < s->n_events; i++) {
		struct event *e = &s->events[i];
		int rc = e->is_probe ? probe_event_make(&s->probes, e, &target, err) : 0;

		if (rc)
			return rc;
		if (!e->is_probe || e->is_kernel_probe)
			continue;
		probe_note_places(s->result, e, s->probes.made.v[s->probes.made.n - 1],
				  target.args);
		if (!s->all_processes)
			probe_maps_note(s->result, s->probes.made.v[s->probes.made.n - 1],
					s->processes.tids.v, s->processes.tids.n);
		if (is_known(s)) {
			memmove(e, e + 1, (--s->n_events - i) * sizeof *e);
			i--;
		}
	}
	note_unused(s);
	return s->opt->alloc_bytes ? alloc_events(s, target.pid, err) : 0;
}

static int prepare(struct session *s, struct err *err)
{
	int rc = session_choose_events(s, err);

	if (!rc)
		rc = choose_cpus(s, RING_SIDEBAND, err);
	if (!rc)
		rc = choose_cpus(s, RING_ALARM, err);
	if (!rc)
		rc = choose_cpus(s, RING_SAMPLES, err);
	if (!rc)
		rc = choose_cpus(s, RING_SWITCHES, err);
	if (!rc && !s->command_pid)
		rc = check_proc(err);
	if (!rc && !s->all_processes && !s->command_pid)
		rc = choose_processes(s, err);
	if (!rc)
		rc = switch_events_find(s, err);
	if (!rc)
		rc = make_probes(s, err);
	if (!rc && s->opt->cgroup) {
		s->cgroup_fd = cgroup_open(s->opt->cgroup, err);
		rc = s->cgroup_fd < 0 ? s->cgroup_fd : 0;
	}
	if (!rc)
		rc = choose_policy(s, err);
	if (!rc && s->policy.inherit && !ATTR_HAS(s->policy.features, STAYS))
		probe_events_keep(&s->probes);
	if (!rc)
		fill_attrs(s);
	return rc;
}

int session_open(struct session *s, const struct capture_options *opt, pid_t command,
		 const volatile int *stop, struct capture_result *result, struct err *err)
{
	bool some = opt->n_pids || opt->n_tids;
	int rc, spare[SPARE_FDS];

	*s = (struct session){.opt = opt, .result = result, .cgroup_fd = -1};
	probe_events_init(&s->probes);
	s->probes.stop = stop;
	s->probes.probes_made = opt->probes_made;
	s->probes.probes_made_arg = opt->progress_arg;
	s->all_processes = opt->system_wide || opt->cgroup || (!some && !command);
	s->command_pid = s->all_processes || some ? 0 : command;
	raise_fd_limit();
	rc = prepare(s, err);
	hold_spare_fds(spare);
	if (!rc)
		rc = open_all(s, err);
	release_spare_fds(spare);
	if (!rc)
		rc = session_map_rings(s, err);
	if (rc) {
		session_close(s);
		return rc;
	}
	for (size_t i = 0; i < s->n_events; i++)
		s->layouts[i] = (struct sample_fields){
			s->attrs[i].sample_type, s->attrs[i].sample_regs_user, !s->opt->keep_env};
	return 0;
}

void session_end_events(struct session *s)
{
	session_unmap_rings(s);
	exchange_allow(&s->exchange);
	for (int k = 0; k < RING_KINDS; k++)
		for (size_t i = 0; i < s->sets[k].counters.n; i++) {
			struct counter *c = &s->sets[k].counters.v[i];

			if (c->fd >= 0)
				close(c->fd);
			c->fd = -1;
		}
	probe_events_done(&s->probes);
	if (s->opt && s->opt->probing)
		*s->opt->probing = 0;
}

void session_close(struct session *s)
{
	session_end_events(s);
	for (int k = 0; k < RING_KINDS; k++) {
		struct ring_set *set = &s->sets[k];

		vec_done(&set->counters);
		cpu_list_done(&set->cpus);
		free(set->rings);
	}
	syscall_texts_free(s->texts);
	tid_list_done(&s->processes);
	tid_list_done(&s->sample_tids);
	tid_list_done(&s->side_tids);
	hash_done(&s->by_id);
	hash_done(&s->reopened);
	if (s->cgroup_fd >= 0)
		close(s->cgroup_fd);
	*s = (struct session){.cgroup_fd = -1};
}

enum ring_kind session_ring_of(const struct session *s, size_t event)
{
	if (event >= s->n_events)
		return event == s->n_events ? RING_SIDEBAND : RING_ALARM;
	return s->events[event].is_switch || s->events[event].is_waking ? RING_SWITCHES
									: RING_SAMPLES;
}

void session_enable_slot(struct session *s, enum ring_kind kind, size_t slot, bool on)
{
	const struct ring_set *set = &s->sets[kind];

	for (size_t i = 0; i < set->counters.n; i++)
		if (set->counters.v[i].slot == slot)
			ioctl(set->counters.v[i].fd,
			      on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void session_enable(struct session *s, enum ring_kind kind, bool on)
{
	for (size_t slot = 0; slot < s->sets[kind].cpus.cpus.n; slot++)
		session_enable_slot(s, kind, slot, on);
	if (kind == RING_SAMPLES)
		session_enable(s, RING_SWITCHES, on);
	if (kind == RING_SIDEBAND)
		session_enable(s, RING_ALARM, on);
}

uint64_t session_any_id(const struct session *s, size_t event)
{
	const struct ring_set *set = &s->sets[session_ring_of(s, event)];

	for (size_t i = 0; i < set->counters.n; i++)
		if (set->counters.v[i].event == event)
			return set->counters.v[i].id;
	return 0;
}

uint64_t *session_event_ids(const struct session *s, size_t event, size_t *ret_n)
{
	const struct ring_set *set = &s->sets[session_ring_of(s, event)];
	uint64_t *ids = malloc((set->counters.n + 1) * sizeof *ids);
	size_t n = 0;

	for (size_t i = 0; ids && i < set->counters.n; i++)
		if (set->counters.v[i].event == event)
			ids[n++] = set->counters.v[i].id;
	*ret_n = n;
	return ids;
}

void capture_note(struct capture_result *r, const char *fmt, ...)
{
	va_list ap;

	if (r->n_notes == sizeof r->notes / sizeof *r->notes)
		return;
	va_start(ap, fmt);
	vsnprintf(r->notes[r->n_notes++], sizeof *r->notes, fmt, ap);
	va_end(ap);
}
