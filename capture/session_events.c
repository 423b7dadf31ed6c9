/* session_events.c - which events are recorded: those that options name, and what goes with them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "capture/session.h"
#include "capture/switch_event.h"
#include "capture/syscall_event.h"

/* --user: excludes the kernel from all events. */
static int leave_out_kernel(struct session *s, struct err *err)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct event *e = &s->events[i];

		if (e->exclude_user)
			return err_set(err, ERR_USAGE, NULL,
				       "--user leaves nothing of -e %s, which is in the kernel",
				       e->name);
		e->exclude_kernel = e->exclude_hv = true;
	}
	return 0;
}

/* Do both count something in common? */
static bool is_same_event(const struct event *a, const struct event *b)
{
	return a->type == b->type && a->config == b->config &&
	       !(a->exclude_user && b->exclude_kernel) && !(a->exclude_kernel && b->exclude_user);
}

/* Samples of two such events all have the id of one of them: see event_is_shared(). */
static int check_shared(const struct session *s, struct err *err)
{
	for (size_t i = 0; i < s->n_events; i++)
		for (size_t k = 0; k < i; k++)
			if (event_is_shared(s->events[i].type, s->events[i].config) &&
			    is_same_event(&s->events[k], &s->events[i]))
				return err_set(err, ERR_USAGE, NULL,
					       "-e %s,%s: the kernel does not say whose samples "
					       "are whose; record one of them",
					       s->events[k].name, s->events[i].name);
	return 0;
}

/* What asks for a snapshot is recorded too: its sample says who it was. */
static int choose_trigger(struct session *s, struct err *err)
{
	const size_t before = s->n_events;
	int rc = 0;

	if (s->opt->snapshot_event)
		rc = event_parse_list(s->opt->snapshot_event, s->events, CAPTURE_EVENTS_MAX,
				      &s->n_events, err);
	for (size_t i = before; i < s->n_events; i++)
		s->events[i].is_trigger = true;
	return rc;
}

/* Of each N-th start and each N-th end hardly two are of one call. */
static int check_pairs(const struct session *s, struct err *err)
{
	const char *what = s->opt->syscalls ? "--syscalls" : NULL;

	for (size_t i = 0; i < s->n_events && !what; i++)
		if (str_starts_with(s->events[i].name, "call:"))
			what = s->events[i].name;
	if (s->opt->period <= 1 || !what)
		return 0;
	return err_set(err, ERR_USAGE, NULL,
		       "-c %" PRIu64 " cannot go with %s, which needs both ends of each call: "
		       "uprobe:FILE:FUNCTION takes each N-th, --max-hit-rate bounds what it costs",
		       s->opt->period, what);
}

int session_choose_events(struct session *s, struct err *err)
{
	const struct capture_options *o = s->opt;
	int rc = 0;

	for (size_t i = 0; i < o->n_events && !rc; i++) {
		const size_t before = s->n_events;

		rc = event_parse_list(o->events[i], s->events, CAPTURE_EVENTS_MAX, &s->n_events,
				      err);
		for (size_t k = before; !rc && o->filters[i] && k < s->n_events; k++)
			rc = event_set_filter(&s->events[k], o->filters[i], strlen(o->filters[i]),
					      err);
	}
	if (!rc && o->syscalls)
		rc = syscall_events(s, err);
	if (!rc)
		rc = switch_events_choose(s, err);
	if (rc)
		return rc;
	if (!s->n_events && !o->alloc_bytes) {
		s->default_event = true;
		rc = event_parse(&s->events[s->n_events++], "cycles", 6, err);
	}
	if (!rc)
		rc = choose_trigger(s, err);
	snprintf(s->events[s->n_events].name, sizeof s->events->name, "dummy:u");
	if (!rc && o->no_kernel)
		rc = leave_out_kernel(s, err);
	if (!rc)
		rc = check_pairs(s, err);
	return rc ? rc : check_shared(s, err);
}
