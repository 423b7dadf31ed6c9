/* weigh.c - calls weigh the time that they took. */
#include "base/err.h"
#include "base/strtab.h"
#include "profile/intern.h"
#include "profile/profile.h"

#include <string.h>

/* Removes the weight of the ends of spans, and the numbers of samples of their events. */
static void forget_weights(struct profile *p, const struct spans *s)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (spans_has_event(s, p->samples.v[i].event))
			p->samples.v[i].count = p->samples.v[i].period = 0;
	for (uint32_t i = 0; i < p->events.n; i++)
		if (spans_has_event(s, i))
			p->events.v[i].samples = p->events.v[i].period = 0;
}

/* The sample that an entry of the log was added to. */
static int find_sample(struct profile *p, const struct profile_log_entry *e, uint32_t *ret,
		       struct err *err)
{
	const unsigned keep = p->index_->keep;
	const bool has_cpu = p->events.v[e->event].attr.sample_type & PERF_SAMPLE_CPU;
	const struct profile_sample key = {
		.node = e->node,
		.event = e->event,
		.comm = e->comm,
		.pid = keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS) ? e->pid : 0,
		.tid = keep & PROFILE_KEEP_TIDS ? e->tid : 0,
		.stop = e->stop,
		.cpu = keep & PROFILE_KEEP_CPUS && has_cpu ? profile_cpu(e->cpu) : 0,
		.labels = keep & PROFILE_KEEP_LABELS ? e->labels : 0,
	};

	return profile_intern_sample(p, &key, profile_expect_sample(p, &key), ret, err);
}

static int weigh_spans(struct profile *p, const struct spans *s, uint32_t unit, struct err *err)
{
	for (size_t i = 0; i < s->v.n; i++) {
		struct profile_log_entry *e = &p->log.v[s->v.v[i].entry];
		struct profile_event *event = &p->events.v[e->event];
		uint32_t id;

		if (find_sample(p, e, &id, err))
			return -ERR_NOMEM;
		e->period = s->v.v[i].self_ns;
		profile_count(p, id, 1, e->period);
		event->samples++;
		event->period = add_saturated(event->period, e->period);
		event->unit = unit;
		event->is_ns = true;
		event->no_period = false;
	}
	return 0;
}

/* Takes the ends of spans out of the log. */
static void drop_ends(struct profile *p, const struct spans *s)
{
	size_t n = 0;

	for (size_t i = 0; i < p->log.n; i++)
		if (!s->is_end.v[i])
			p->log.v[n++] = p->log.v[i];
	p->log.n = n;
}

/* Does it stay: a sample, or the end of a call that does? */
static bool stays(const struct profile *p, const struct spans *s, size_t i)
{
	const uint32_t span = s->of_exit.v[i];

	if (span != SPAN_NONE)
		return !p->log.v[s->v.v[span].entry].is_left_out;
	return !p->log.v[i].is_left_out;
}

int profile_drop_left_out(struct profile *p, struct err *err)
{
	struct spans s = {0};
	size_t i, n = 0;
	int rc;

	for (i = 0; i < p->log.n && !p->log.v[i].is_left_out; i++)
		;
	if (i == p->log.n)
		return 0;
	rc = spans_find(&s, p, err);
	for (i = 0; i < p->log.n && !rc; i++)
		if (stays(p, &s, i)) {
			p->log.v[n] = p->log.v[i];
			p->log.v[n++].is_left_out = false;
		}
	if (!rc)
		p->log.n = n;
	spans_done(&s);
	return rc;
}

int profile_weigh_durations(struct profile *p, struct err *err)
{
	static const char nanoseconds[] = "nanoseconds";
	const uint32_t unit = profile_string(p, nanoseconds, sizeof nanoseconds - 1);
	struct spans s = {0};
	int rc = unit == STRTAB_FAILED ? err_nomem(err) : spans_find(&s, p, err);

	if (!rc && !s.v.n)
		rc = err_set(
			err, ERR_NOT_FOUND, "",
			"no calls, so no durations: capture -e call:FILE:FUNCTION and --syscalls "
			"record them");
	if (!rc) {
		forget_weights(p, &s);
		rc = weigh_spans(p, &s, unit, err);
		drop_ends(p, &s);
	}
	spans_done(&s);
	return rc;
}
