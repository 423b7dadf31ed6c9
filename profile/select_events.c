/* select_events.c - selects events of a profile by name. */
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

/* Length of the first name of a list. */
static size_t name_length(const char *list)
{
	bool in_slashes = false;
	size_t n;

	for (n = 0; list[n] && (list[n] != ',' || in_slashes); n++)
		if (list[n] == '/')
			in_slashes = !in_slashes;
	return n;
}

/* Modifiers (":u") may be left out. */
static bool means(const char *asked, size_t n, const char *name)
{
	return n && !strncmp(name, asked, n) &&
	       (name[n] == '\0' || (name[n] == ':' && !memchr(asked, ':', n)));
}

bool event_is_listed(const char *list, const char *name)
{
	size_t n;

	if (!strcmp(list, "all"))
		return true;
	for (; *list; list += n + (list[n] == ',')) {
		n = name_length(list);
		if (means(list, n, name))
			return true;
	}
	return false;
}

static bool any_event(const struct profile *p, const char *asked, size_t n)
{
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (means(asked, n, strtab_get(&p->strings, p->events.v[i].name)))
			return true;
	return false;
}

const char *event_list_unknown(const char *list, const struct profile *p, size_t *n)
{
	if (!strcmp(list, "all"))
		return NULL;
	for (; *list; list += *n + (list[*n] == ',')) {
		*n = name_length(list);
		if (!any_event(p, list, *n))
			return list;
	}
	return NULL;
}

int event_set_make(struct event_set *s, const struct profile *p, const char *list, struct err *err)
{
	bool any = false;
	size_t i;

	*s = (struct event_set){
		.ids = calloc(p->events.n + 1, sizeof *s->ids),
		.has = calloc(p->events.n + 1, sizeof *s->has),
	};
	if (!s->ids || !s->has)
		return err_nomem(err);
	for (i = 0; i < p->events.n; i++) {
		const struct profile_event *e = &p->events.v[i];

		if (list && !event_is_listed(list, strtab_get(&p->strings, e->name)))
			continue;
		any = true;
		if (!e->samples)
			continue;
		s->has[i] = true;
		s->ids[s->n++] = (uint32_t)i;
	}
	if (s->n)
		return 0;
	if (list && !any)
		return err_set(err, ERR_NOT_FOUND, "", "no event %s in the recording", list);
	return list ? err_set(err, ERR_NOT_FOUND, "", "no samples of event %s", list)
		    : err_set(err, ERR_NOT_FOUND, "", "no samples to write");
}

/* Recordings without periods are weighed by the number of samples. */
static uint64_t weight(const struct profile_event *e)
{
	return e->period ? e->period : e->samples;
}

/* Ends of calls, whose beginnings are in the set, too: these have the stacks and the arguments. */
static bool has_beginning(const struct event_set *s, const struct profile *p, uint32_t event)
{
	const char *end = strtab_get(&p->strings, p->events.v[event].name);

	if (span_role_of(end) != SPAN_ENDS)
		return false;
	for (size_t i = 0; i < s->n; i++) {
		const char *name = strtab_get(&p->strings, p->events.v[s->ids[i]].name);

		if (span_role_of(name) == SPAN_BEGINS &&
		    !strcmp(strchr(name, ':'), strchr(end, ':')))
			return true;
	}
	return false;
}

static bool goes_before(const struct event_set *s, const struct profile *p, uint32_t a, uint32_t b)
{
	const bool a_ends = has_beginning(s, p, a), b_ends = has_beginning(s, p, b);

	return a_ends == b_ends ? weight(&p->events.v[a]) > weight(&p->events.v[b]) : b_ends;
}

uint32_t event_set_main(const struct event_set *s, const struct profile *p)
{
	uint32_t best = s->ids[0];
	size_t i;

	for (i = 0; i < s->n; i++)
		if (p->events.v[s->ids[i]].is_default)
			return s->ids[i];
	for (i = 1; i < s->n; i++)
		if (goes_before(s, p, s->ids[i], best))
			best = s->ids[i];
	return best;
}

const char *event_set_why_main(const struct event_set *s, const struct profile *p)
{
	const struct profile_event *e = &p->events.v[event_set_main(s, p)];

	if (e->is_default)
		return "is its default";
	for (size_t i = 0; i < s->n; i++)
		if (weight(&p->events.v[s->ids[i]]) > weight(e))
			return "has the most weight but for ends of calls";
	return "has the most weight";
}

void event_set_reduce(struct event_set *s, const struct profile *p)
{
	uint32_t best = event_set_main(s, p);

	event_set_pick(s, best);
	s->ids[0] = best;
	s->n = 1;
}

void event_set_pick(struct event_set *s, uint32_t event)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		s->has[s->ids[i]] = s->ids[i] == event;
}

void event_set_done(struct event_set *s)
{
	free(s->ids);
	free(s->has);
}
