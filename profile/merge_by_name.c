/* merge_by_name.c - adds the profile of one input to that of several; everything is matched by
 * name. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"

#include <string.h>

#include "base/sum.h"

/* Ids of src -> ids of dst. */
struct absorption {
	const struct profile *src;
	struct profile *dst;
	uint32_t *strings; /* + 1; 0: not yet */
	uint32_t *mappings, *functions, *locations, *nodes, *events;
	VEC(struct profile_line) lines;
	const struct event_set *sides; /* of a difference: which events; NULL: all are added up */
	bool is_new, with_tasks;
	uint32_t main, run;
};

#define NO_EVENT UINT32_MAX

static uint32_t string(struct absorption *a, uint32_t id)
{
	const struct strtab *from = &a->src->strings;

	if (!a->strings[id]) {
		uint32_t ours = profile_string(a->dst, strtab_get(from, id), strtab_len(from, id));

		if (ours == STRTAB_FAILED)
			return ours;
		a->strings[id] = ours + 1;
	}
	return a->strings[id] - 1;
}

/* pprof's name for the time on processors, in nanoseconds, which perf has from its clocks. */
static bool is_pprofs_clock(const struct profile *p, const struct profile_event *e)
{
	return e->is_ns && !strcmp(strtab_get(&p->strings, e->name), "cpu");
}

/* The event that is shown if there is room for one. */
static const struct profile_event *first_shown(const struct profile *p)
{
	const struct profile_event *best = p->events.v;

	for (size_t i = 0; i < p->events.n; i++) {
		const struct profile_event *e = &p->events.v[i];

		if (e->is_default > best->is_default ||
		    (e->is_default == best->is_default && e->samples > best->samples))
			best = e;
	}
	return best;
}

/* Of several inputs: do the events mean the same although their names differ? */
static bool means_the_same(const struct absorption *a, const struct profile_event *from,
			   const struct profile_event *to)
{
	if (from->is_unnamed != to->is_unnamed)
		return from == first_shown(a->src) && to == first_shown(a->dst);
	return (is_pprofs_clock(a->src, from) && !to->is_ns && profile_event_is_clock(to)) ||
	       (is_pprofs_clock(a->dst, to) && !from->is_ns && profile_event_is_clock(from));
}

/* The event of dst that an event of src is added to, if it is there under another name. */
static bool find_meeting(const struct absorption *a, const struct profile_event *from,
			 uint32_t *ret)
{
	for (size_t i = 0; i < a->dst->events.n; i++)
		if (means_the_same(a, from, &a->dst->events.v[i])) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

static int absorb_event(struct absorption *a, size_t i, struct err *err)
{
	const struct profile_event *from = &a->src->events.v[i];
	uint32_t name = string(a, from->name), unit = string(a, from->unit), to = 0;
	struct profile_event *e;
	bool met;

	if (name == STRTAB_FAILED || unit == STRTAB_FAILED)
		return err_nomem(err);
	met = !a->sides && find_meeting(a, from, &to);
	/* The main events of the two sides may have different names: they are the first one. */
	if (!met && !(a->sides && i == a->main && a->dst->events.n) &&
	    profile_add_event(a->dst, name, unit, &to, err))
		return -ERR_NOMEM;
	if (a->sides && i != a->main && !to)
		return 0;
	e = &a->dst->events.v[to];
	if (met && e->is_unnamed) { /* it gets a name */
		e->name = name;
		e->unit = unit;
	}
	if (!met || e->is_unnamed)
		e->attr = from->attr;
	e->is_unnamed = from->is_unnamed && (!met || e->is_unnamed);
	e->is_ns |= from->is_ns;
	e->is_default |= a->sides ? i == a->main : from->is_default;
	e->is_sum |= from->is_sum;
	if (a->sides)
		e->side_samples[a->is_new] += from->samples;
	a->events[i] = to;
	return 0;
}

/* The main event of a difference comes first; others are there if its tasks are. */
static int absorb_events(struct absorption *a, struct err *err)
{
	size_t i;

	for (i = 0; i < a->src->events.n; i++)
		a->events[i] = NO_EVENT;
	if (a->sides && absorb_event(a, a->main, err))
		return -ERR_NOMEM;
	for (i = 0; i < a->src->events.n; i++)
		if (!a->sides || (a->with_tasks && i != a->main && a->sides->has[i]))
			if (absorb_event(a, i, err))
				return -ERR_NOMEM;
	return 0;
}

static int absorb_mappings(struct absorption *a, struct err *err)
{
	size_t i;

	for (i = 1; i < a->src->mappings.n; i++) {
		struct profile_mapping m = a->src->mappings.v[i];

		m.path = string(a, m.path);
		m.name = string(a, m.name);
		if (m.path == STRTAB_FAILED || m.name == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_mapping(a->dst, &m, &a->mappings[i], err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int absorb_functions(struct absorption *a, struct err *err)
{
	size_t i;

	for (i = 0; i < a->src->functions.n; i++) {
		struct profile_function f = a->src->functions.v[i];

		f.name = string(a, f.name);
		f.system_name = string(a, f.system_name);
		f.file = string(a, f.file);
		if (f.name == STRTAB_FAILED || f.system_name == STRTAB_FAILED ||
		    f.file == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_function(a->dst, &f, &a->functions[i], err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int absorb_locations(struct absorption *a, struct err *err)
{
	size_t i, j;

	for (i = 0; i < a->src->locations.n; i++) {
		struct profile_location l = a->src->locations.v[i];

		l.mapping = a->mappings[l.mapping];
		l.symbol = string(a, l.symbol);
		if (l.symbol == STRTAB_FAILED)
			return err_nomem(err);
		a->lines.n = 0;
		for (j = 0; j < l.n_lines; j++) {
			struct profile_line line = a->src->lines.v[l.first_line + j];

			line.function = a->functions[line.function];
			if (vec_push(&a->lines, line))
				return err_nomem(err);
		}
		if (profile_add_location(a->dst, &l, a->lines.v, a->lines.n, &a->locations[i], err))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Stacks of a difference are without the command: a program that was renamed would have nothing in
 * common with its old name. Where tasks are kept they are beside stacks. */
static void to_side(const struct absorption *a, struct profile_sample *s)
{
	uint64_t weight = s->period ? s->period : s->count;

	s->comm = a->with_tasks ? s->comm : 0;
	s->pid = 0;
	s->cpu = 0;
	s->labels = 0;
	s->tid = a->run;
	s->count = a->is_new ? 0 : weight;
	s->period = a->is_new ? weight : 0;
}

/* Times are since the beginning of each run; `cpu` is the side. */
static int absorb_log(struct absorption *a, struct err *err)
{
	size_t i;

	for (i = 0; i < a->src->log.n; i++) {
		const struct profile_log_entry *from = &a->src->log.v[i];
		struct profile_log_entry e = {
			.time_ns = from->time_ns - a->src->first_ns,
			.period = from->period,
			.node = a->nodes[from->node],
			.event = a->events[from->event],
			.comm = string(a, from->comm),
			.tid = a->run,
			.cpu = a->is_new,
			.stop = from->stop,
		};

		if (e.event == NO_EVENT)
			continue;
		if (e.comm == STRTAB_FAILED || vec_push(&a->dst->log, e))
			return err_nomem(err);
	}
	return 0;
}

static int absorb_samples(struct absorption *a, struct err *err)
{
	size_t i;

	/* A parent's id is smaller than its children's. */
	for (i = 1; i < a->src->nodes.n; i++) {
		const struct profile_node *n = &a->src->nodes.v[i];

		if (profile_intern_node(a->dst, a->nodes[n->parent], a->locations[n->location],
					&a->nodes[i], err))
			return -ERR_NOMEM;
	}
	for (i = 0; i < a->src->samples.n; i++) {
		struct profile_sample s = a->src->samples.v[i];

		if (a->events[s.event] == NO_EVENT)
			continue;
		if (a->sides)
			to_side(a, &s);
		s.node = a->nodes[s.node];
		s.event = a->events[s.event];
		s.comm = string(a, s.comm);
		/* Not shortened, as names are. */
		if (s.labels)
			s.labels =
				strtab_add(&a->dst->strings, strtab_get(&a->src->strings, s.labels),
					   strtab_len(&a->src->strings, s.labels));
		if (s.comm == STRTAB_FAILED || s.labels == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_add_sample(a->dst, &s, err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int absorb_all(struct absorption *a, struct err *err)
{
	uint64_t ns = a->src->last_ns - a->src->first_ns;

	a->dst->input_bytes = add_saturated(a->dst->input_bytes, a->src->input_bytes);
	if (absorb_events(a, err) || absorb_mappings(a, err) || absorb_functions(a, err) ||
	    absorb_locations(a, err) || absorb_samples(a, err))
		return -ERR_NOMEM;
	a->dst->has_marks |= a->src->has_marks;
	a->dst->has_folded_roots |= a->src->has_folded_roots;
	a->dst->bounded.stacks += a->src->bounded.stacks;
	a->dst->bounded.frames = add_saturated(a->dst->bounded.frames, a->src->bounded.frames);
	if (a->sides && a->dst->index_->keep & PROFILE_KEEP_LOG && absorb_log(a, err))
		return -ERR_NOMEM;
	/* The inputs' clocks differ, so their durations are added; sides lie beside each other. */
	if (!a->sides)
		a->dst->last_ns = add_saturated(a->dst->last_ns, ns);
	else if (ns > a->dst->last_ns)
		a->dst->last_ns = ns;
	if (a->src->wall_ns && (!a->dst->wall_ns || a->src->wall_ns < a->dst->wall_ns))
		a->dst->wall_ns = a->src->wall_ns;
	return 0;
}

static int absorb(struct absorption how, struct err *err)
{
	const struct profile *src = how.src;
	struct absorption a = {
		.src = src,
		.dst = how.dst,
		.sides = how.sides,
		.is_new = how.is_new,
		.with_tasks = how.with_tasks,
		.main = how.main,
		.run = how.run,
		.strings = calloc(strtab_count(&src->strings), sizeof(uint32_t)),
		.mappings = calloc(src->mappings.n, sizeof(uint32_t)),
		.functions = calloc(src->functions.n + 1, sizeof(uint32_t)),
		.locations = calloc(src->locations.n + 1, sizeof(uint32_t)),
		.nodes = calloc(src->nodes.n, sizeof(uint32_t)),
		.events = calloc(src->events.n + 1, sizeof(uint32_t)),
	};
	int rc = -ERR_NOMEM;

	if (!a.strings || !a.mappings || !a.functions || !a.locations || !a.nodes || !a.events)
		err_nomem(err);
	else
		rc = absorb_all(&a, err);
	free(a.strings);
	free(a.mappings);
	free(a.functions);
	free(a.locations);
	free(a.nodes);
	free(a.events);
	vec_done(&a.lines);
	return rc;
}

int profile_absorb(struct profile *dst, const struct profile *src, struct err *err)
{
	return absorb((struct absorption){.src = src, .dst = dst}, err);
}

int profile_absorb_side(struct profile *dst, const struct profile *src,
			const struct event_set *events, bool is_new, uint32_t run, struct err *err)
{
	struct absorption a = {.src = src, .dst = dst, .sides = events, .is_new = is_new};

	a.main = event_set_main(events, src);
	a.with_tasks = dst->index_->keep & PROFILE_KEEP_PIDS;
	a.run = run;
	return absorb(a, err);
}
