/* counter.c - opens one perf event, and gives up features that the kernel or the machine refuses.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "capture/perf_rights.h"
#include "capture/session.h"
#include "reader/format.h"
#include "reader/reader.h"

static void exclude_kernel(struct session *s, size_t event)
{
	struct perf_event_attr *a = &s->attrs[event];
	struct event *e = &s->events[event];
	size_t n = strlen(e->name);

	a->exclude_kernel = a->exclude_callchain_kernel = a->exclude_hv = 1;
	e->exclude_kernel = e->exclude_hv = true;
	capture_note(s->result,
		     "%s: only user space is recorded; for the kernel too run as root, or: "
		     "sudo sysctl kernel.perf_event_paranoid=1",
		     e->name);
	if (!strchr(e->name, ':') && n + sizeof ":u" <= sizeof e->name)
		memcpy(e->name + n, ":u", sizeof ":u");
}

void session_fill_attr(struct session *s, size_t event)
{
	attr_for_samples(&s->attrs[event], &s->events[event], &s->policy);
	if (attr_bound_clock(&s->attrs[event]))
		capture_note(s->result,
			     "%s: %d samples a second; more stack copies than that can keep a "
			     "processor from all else (--call-graph fp has no such limit)",
			     s->events[event].name, ATTR_CLOCK_HZ_MAX);
}

static void use_cpu_clock(struct session *s, size_t event, int errnum)
{
	struct event *e = &s->events[event];
	const char *name = e->exclude_kernel ? "cpu-clock:u" : "cpu-clock";

	capture_note(s->result, "cycles: no usable PMU here (%s); recorded cpu-clock instead",
		     strerrorname_np(errnum));
	(void)event_parse(e, name, strlen(name), NULL);
	session_fill_attr(s, event);
}

/* Gives up one feature. Returns false if none is left to give up. */
static bool adapt(struct session *s, size_t event, int errnum)
{
	bool unsupported = errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENODEV;
	struct perf_event_attr *a = &s->attrs[event];

	if (event == s->n_events) /* the sideband needs no rights and no PMU */
		return false;
	if ((errnum == EACCES || errnum == EPERM) && !a->exclude_kernel && !a->exclude_user &&
	    !s->events[event].is_switch && !s->events[event].is_waking && !s->policy.phys_data) {
		exclude_kernel(s, event);
		return true;
	}
	if ((unsupported || errnum == EINVAL) && a->precise_ip) {
		a->precise_ip--;
		return true;
	}
	if (unsupported && s->default_event && a->type == PERF_TYPE_HARDWARE) {
		use_cpu_clock(s, event, errnum);
		return true;
	}
	return false;
}

static bool has_counter(const struct ring_set *set, size_t event)
{
	for (size_t i = 0; i < set->counters.n; i++)
		if (set->counters.v[i].event == event)
			return true;
	return false;
}

static size_t fds_needed(const struct session *s)
{
	bool by_thread = !s->all_processes && !s->command_pid;
	size_t threads = by_thread ? s->sample_tids.tids.n : 1;

	return threads * (s->sets[RING_SAMPLES].cpus.cpus.n * s->n_events +
			  s->sets[RING_SIDEBAND].cpus.cpus.n * (1 + s->has_alarm));
}

static int refused(const struct session *s, const struct counter *c, pid_t pid, int errnum,
		   struct err *err)
{
	enum ring_kind kind = session_ring_of(s, c->event);
	struct refused_open what = {
		.event = s->events[c->event].name,
		.pid = pid,
		.cpu = s->sets[kind].cpus.cpus.v[c->slot],
		.wants_kernel = !s->attrs[c->event].exclude_kernel,
		.is_tracepoint = event_is_tracepoint(s->attrs[c->event].type),
		.is_probe = s->events[c->event].is_probe,
		.is_of_pmu =
			s->attrs[c->event].type >= PERF_TYPE_MAX && !s->events[c->event].is_probe,
		.is_command = s->command_pid != 0,
		.n_fds = fds_needed(s),
	};

	if (errnum == EACCES && s->attrs[c->event].sample_type & PERF_SAMPLE_PHYS_ADDR)
		return err_set(
			err, ERR_PERMISSION, NULL,
			"--phys-data: the kernel tells physical addresses only with "
			"CAP_PERFMON or kernel.perf_event_paranoid=1: run capture with sudo; "
			"-d tells virtual ones");
	return refused_open_err(err, errnum, &what);
}

/* " a0 a1": the names of the fields of a probe. */
static void name_fields(const struct event *e, char *ret, size_t size)
{
	size_t used = 0;

	*ret = 0;
	for (const char *at = e->fields; at && *at; at += strcspn(at + 1, " ") + 1) {
		const size_t n = strcspn(at, "=");

		if (used + n >= size)
			break;
		memcpy(ret + used, at, n);
		used += n;
		ret[used] = 0;
	}
}

static int filter_refused(const struct event *e, int errnum, struct err *err)
{
	if (errnum != EINVAL)
		return err_errno(err, errnum, e->name, "set the filter");
	if (e->is_probe) {
		char names[256];

		name_fields(e, names, sizeof names);
		return err_set(err, ERR_USAGE, NULL,
			       "%s: the kernel does not understand the filter '%s'; %s%s", e->name,
			       e->filter,
			       *names ? "fields:"
				      : "with --args it has the fields a0, a1 .. of its "
					"arguments, with --strings also s0, s1 ..",
			       names);
	}
	return err_set(err, ERR_USAGE, NULL,
		       "%s: the kernel does not understand the filter '%s'; fields: capture --list "
		       "'%s'",
		       e->name, e->filter, e->name);
}

int session_open_counter(struct session *s, const struct counter *wanted, pid_t pid,
			 struct err *err)
{
	enum ring_kind kind = session_ring_of(s, wanted->event);
	bool in_cgroup = kind < RING_SIDEBAND && s->cgroup_fd >= 0;
	struct ring_set *set = &s->sets[kind];
	struct counter c = *wanted;

	for (;;) {
		c.fd = attr_open(&s->attrs[c.event], in_cgroup ? s->cgroup_fd : pid,
				 set->cpus.cpus.v[c.slot], in_cgroup ? PERF_FLAG_PID_CGROUP : 0);
		if (c.fd >= 0)
			break;
		if (errno == ESRCH && pid > 0 && !s->command_pid)
			return 0;
		if (has_counter(set, c.event) || !adapt(s, c.event, errno))
			return refused(s, &c, pid, errno, err);
	}
	if (*s->events[c.event].filter &&
	    ioctl(c.fd, PERF_EVENT_IOC_SET_FILTER, s->events[c.event].filter)) {
		int saved = errno;

		close(c.fd);
		return filter_refused(&s->events[c.event], saved, err);
	}
	if (ioctl(c.fd, PERF_EVENT_IOC_ID, &c.id)) {
		int saved = errno;

		close(c.fd);
		return err_errno(err, saved, s->events[c.event].name, "ask for the id");
	}
	if (vec_push(&set->counters, c)) {
		close(c.fd);
		return err_nomem(err);
	}
	return hash_put(&s->by_id, c.id, c.event) ? err_nomem(err) : 1;
}
