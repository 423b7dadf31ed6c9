/* weigh.c - calls weigh the time that they took, and tracepoints what one of their fields says. */
#include "base/err.h"
#include "base/strtab.h"
#include "profile/intern.h"
#include "profile/profile.h"

#include <stdlib.h>
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

static bool may_be_dropped(const struct profile *p, const struct profile_log_entry *e)
{
	uint64_t loops;

	return e->is_left_out || (trace_number(p, e, "loops", &loops) && loops);
}

/* Does it stay: a sample, or the end of a call that does? */
static bool stays(const struct profile *p, const struct spans *s, size_t i)
{
	const uint32_t span = s->of_exit.v[i];

	if (s->is_round.v[i])
		return false;
	if (span != SPAN_NONE)
		return !p->log.v[s->v.v[span].entry].is_left_out;
	return !p->log.v[i].is_left_out;
}

int profile_drop_left_out(struct profile *p, uint64_t *n_rounds, struct err *err)
{
	struct spans s = {0};
	size_t i, n = 0;
	int rc;

	*n_rounds = 0;
	for (i = 0; i < p->log.n && !may_be_dropped(p, &p->log.v[i]); i++)
		;
	if (i == p->log.n)
		return 0;
	rc = spans_find(&s, p, err);
	for (i = 0; i < p->log.n && !rc; i++) {
		*n_rounds += s.is_round.v[i];
		if (stays(p, &s, i)) {
			p->log.v[n] = p->log.v[i];
			p->log.v[n++].is_left_out = false;
		}
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

/* ---- fields of tracepoints ------------------------------------------------------------------ */

/* The number in " NAME=5" or "NAME: 0x5", and what follows it. */
static bool field_number(const char *fields, const char *name, uint64_t *ret, const char **end)
{
	const size_t n = strlen(name);

	for (const char *at = strstr(fields, name); at; at = strstr(at + 1, name)) {
		const char *v = at + n;
		char *stop;

		if ((at > fields && !strchr(" ,(", at[-1])) || (*v != '=' && *v != ':'))
			continue;
		v += 1 + strspn(v + 1, " ");
		if (*v < '0' || *v > '9')
			return false; /* a text, or below zero */
		*ret = strtoull(v, &stop, str_starts_with(v, "0x") ? 16 : 10);
		*end = stop;
		return !*stop || strchr(" ,)", *stop);
	}
	return false;
}

static const char *fields_of(const struct profile *p, const struct profile_log_entry *e)
{
	return e->trace ? strtab_get(&p->strings, e->trace) : "";
}

/* What the field counts, as far as its text tells. */
static uint32_t unit_of(struct profile *p, const char *name, const char *end)
{
	if (str_starts_with(end, " [ns]"))
		return profile_string(p, "nanoseconds", strlen("nanoseconds"));
	if (strstr(name, "bytes"))
		return profile_string(p, "bytes", strlen("bytes"));
	return 0;
}

/* Finds the events that have the field, takes their weights away, and sets their units. */
static int forget_events(struct profile *p, const char *name, bool *has, struct err *err)
{
	const char *end;
	uint64_t v;

	for (size_t i = 0; i < p->log.n; i++) {
		struct profile_event *event = &p->events.v[p->log.v[i].event];

		if (has[p->log.v[i].event] ||
		    !field_number(fields_of(p, &p->log.v[i]), name, &v, &end))
			continue;
		has[p->log.v[i].event] = true;
		event->is_ns = str_starts_with(end, " [ns]");
		event->unit = unit_of(p, name, end);
		event->no_period = false;
		event->samples = event->period = 0;
		if (event->unit == STRTAB_FAILED)
			return err_nomem(err);
	}
	for (size_t i = 0; i < p->samples.n; i++)
		if (has[p->samples.v[i].event])
			p->samples.v[i].count = p->samples.v[i].period = 0;
	return 0;
}

static int weigh_entries(struct profile *p, const char *name, const bool *has,
			 struct profile_weighed *ret, struct err *err)
{
	const char *end;
	uint32_t id;

	for (size_t i = 0; i < p->log.n; i++) {
		struct profile_log_entry *e = &p->log.v[i];

		if (!has[e->event])
			continue;
		if (find_sample(p, e, &id, err))
			return -ERR_NOMEM;
		ret->samples++;
		if (!field_number(fields_of(p, e), name, &e->period, &end)) {
			e->period = 0;
			ret->without++;
		}
		profile_count(p, id, 1, e->period);
		p->events.v[e->event].samples++;
		p->events.v[e->event].period =
			add_saturated(p->events.v[e->event].period, e->period);
	}
	return 0;
}

/* Says which fields there are. */
static int no_field(const struct profile *p, const char *name, struct err *err)
{
	for (size_t i = 0; i < p->log.n; i++)
		if (*fields_of(p, &p->log.v[i]))
			return err_set(err, ERR_NOT_FOUND, "",
				       "no number in a field %.40s; fields of %.60s: %.150s", name,
				       strtab_get(&p->strings, p->events.v[p->log.v[i].event].name),
				       fields_of(p, &p->log.v[i]) +
					       strspn(fields_of(p, &p->log.v[i]), " "));
	return err_set(err, ERR_NOT_FOUND, "", "no samples of tracepoints, so no field %.40s",
		       name);
}

int profile_weigh_field(struct profile *p, const char *name, struct profile_weighed *ret,
			struct err *err)
{
	bool *has = calloc(p->events.n + 1, sizeof *has);
	int rc = has ? forget_events(p, name, has, err) : err_nomem(err);

	*ret = (struct profile_weighed){0};
	if (!rc)
		rc = weigh_entries(p, name, has, ret, err);
	if (!rc && !ret->samples)
		rc = no_field(p, name, err);
	free(has);
	return rc;
}
