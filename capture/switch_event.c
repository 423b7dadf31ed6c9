/* switch_event.c - the event that --off-cpu and --wall record.
 *
 * Each context switch makes a small record (attr.context_switch, perf_event_open(2)); those that
 * leave a processor make a sample of sched:sched_switch before, as long as there are not too many
 * (switch_rate.h). The records are of an event of their own, as nothing may hold them up. */
#include "capture/switch_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "capture/attr.h"
#include "capture/perf_rights.h"
#include "capture/switch_pack.h"
#include "capture/sysfile.h"
#include "reader/format.h"

/* Others do not tell where the time on a processor went. */
static bool has_clock(const struct session *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (event_is_clock(s->events[i].type, s->events[i].config))
			return true;
	return false;
}

int switch_events_choose(struct session *s, struct err *err)
{
	const struct capture_options *o = s->opt;
	struct event *e;
	bool needs_clock;
	int rc = 0;

	if (o->wakers && !o->off_cpu && !o->wall)
		return err_set(err, ERR_USAGE, NULL,
			       "--wakers shows what ends waits: with --off-cpu or --wall");
	if (!o->off_cpu && !o->wall)
		return 0;
	if (o->call_graph == CALL_GRAPH_NONE)
		return err_set(err, ERR_USAGE, NULL,
			       "--off-cpu and --wall show where threads wait: not without stacks");
	if (o->no_kernel)
		return err_set(err, ERR_USAGE, NULL,
			       "--user leaves nothing of --off-cpu: threads wait in the kernel");
	if (o->asks_rate && !o->wall && !s->n_events)
		capture_note(s->result, "-F and -c have no effect: --off-cpu alone records every "
					"wait; --wall samples what runs, too");
	needs_clock = o->wall && !has_clock(s);
	if (s->n_events + needs_clock + (o->wakers ? 3 : 2) > CAPTURE_EVENTS_MAX)
		return err_set(err, ERR_USAGE, NULL, "more than %d events", CAPTURE_EVENTS_MAX);
	if (needs_clock)
		rc = event_parse(&s->events[s->n_events++], "cpu-clock", 9, err);
	if (rc)
		return rc;
	e = &s->events[s->n_events++];
	*e = (struct event){.type = PERF_TYPE_TRACEPOINT,
			    .is_switch = true,
			    .tracefs_name = "sched/sched_switch"};
	snprintf(e->name, sizeof e->name, "%s", o->wall ? "wall" : "off-cpu");
	e = &s->events[s->n_events++];
	*e = (struct event){.type = PERF_TYPE_SOFTWARE,
			    .config = PERF_COUNT_SW_DUMMY,
			    .is_switch_times = true,
			    .no_stack = true};
	snprintf(e->name, sizeof e->name, "dummy");
	if (!o->wakers)
		return 0;
	e = &s->events[s->n_events++];
	*e = (struct event){.type = PERF_TYPE_TRACEPOINT,
			    .is_waking = true,
			    .tracefs_name = "sched/sched_waking"};
	snprintf(e->name, sizeof e->name, "waker");
	return 0;
}

const struct event *switch_event(const struct session *s)
{
	for (size_t i = 0; i < s->n_events; i++)
		if (s->events[i].is_switch)
			return &s->events[i];
	return NULL;
}

/* A thread that goes to another processor would wait for as long as it is there. */
int switch_events_check_cpus(const struct session *s, size_t n, size_t n_online, struct err *err)
{
	if (!switch_event(s) || n == n_online)
		return 0;
	return err_set(err, ERR_USAGE, NULL,
		       "-C %s cannot go with --off-cpu or --wall: what a thread does on other "
		       "processors would count as waiting; leave -C out",
		       s->opt->cpus);
}

static int find_id(const struct session *s, struct event *e, struct err *err)
{
	char path[192];

	snprintf(path, sizeof path, "%s/events/%s/id", s->probes.tracefs, e->tracefs_name);
	if (sysfile_u64(path, &e->config))
		return err_errno(err, errno, path, "read the tracepoint's id");
	return 0;
}

int switch_events_find(struct session *s, struct err *err)
{
	int rc = 0;

	if (!switch_event(s))
		return 0;
	if (probe_events_tracefs(&s->probes, err))
		return err_set(
			err, ERR_PERMISSION, NULL,
			"--off-cpu and --wall sample sched:sched_switch, which needs tracefs "
			"and root: run capture with sudo, or, without either, "
			"--every 10 -p PID");
	for (size_t i = 0; i < s->n_events && !rc; i++)
		if (s->events[i].is_switch || s->events[i].is_waking)
			rc = find_id(s, &s->events[i], err);
	return rc;
}

int switch_note_record(struct hash_table *seen, const uint8_t *rec, size_t n)
{
	struct perf_event_header h;
	uint64_t time_ns;
	uint32_t tid, step, before;

	memcpy(&h, rec, sizeof h);
	if (!is_switch_record(h.type) || n < sizeof h + ATTR_SAMPLE_ID_BYTES)
		return 0;
	memcpy(&tid, rec + n - ATTR_SAMPLE_ID_BYTES + 4, sizeof tid);
	memcpy(&time_ns, rec + n - ATTR_SAMPLE_ID_BYTES + 8, sizeof time_ns);
	step = (uint32_t)(time_ns / SWITCH_STEP_NS) & INT32_MAX;
	before = hash_get(seen, tid);
	return before != HASH_NONE && before >= step ? 0 : hash_put(seen, tid, step);
}
