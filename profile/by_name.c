/* by_name.c - fills a profile from inputs that already have names. Equal things are matched by
 * content. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"

#include <string.h>

#include "base/pair.h"
#include "base/sum.h"

int profile_add_event(struct profile *p, uint32_t name, uint32_t unit, uint32_t *ret,
		      struct err *err)
{
	size_t i;

	for (i = 0; i < p->events.n; i++)
		if (p->events.v[i].name == name && p->events.v[i].unit == unit) {
			*ret = (uint32_t)i;
			return 0;
		}
	if (profile_grow_events(p, i + 1, err))
		return -ERR_NOMEM;
	p->events.v[i].name = name;
	p->events.v[i].unit = unit;
	p->events.v[i].is_ns = !strcmp(strtab_get(&p->strings, unit), "nanoseconds");
	*ret = (uint32_t)i;
	return 0;
}

static bool same_mapping(const struct profile_mapping *a, const struct profile_mapping *b)
{
	return a->path == b->path && a->kind == b->kind && a->map.start == b->map.start &&
	       a->map.end == b->map.end && a->map.pgoff == b->map.pgoff &&
	       build_id_identical(&a->build_id, &b->build_id);
}

int profile_add_mapping(struct profile *p, const struct profile_mapping *m, uint32_t *ret,
			struct err *err)
{
	struct profile_index *x = p->index_;
	struct profile_mapping new = {
		.path = m->path,
		.name = m->name ? m->name : m->path,
		.kind = m->kind,
		.build_id = m->build_id,
		.maj = m->maj,
		.min = m->min,
		.ino = m->ino,
		.map = {.start = m->map.start, .end = m->map.end, .pgoff = m->map.pgoff},
	};
	uint64_t h = hash_mix(hash_mix(x->secret ^ m->path, m->map.start), m->map.end);
	uint32_t hash = (uint32_t)hash_mix(h, m->map.pgoff);
	struct hash_probe probe = hash_index_probe(&x->mappings, hash);

	*ret = 0;
	if (!m->path || !strcmp(strtab_get(&p->strings, m->path), "[unknown]"))
		return 0;
	while ((*ret = hash_index_next(&x->mappings, &probe)) != HASH_NONE)
		if (same_mapping(&p->mappings.v[*ret], m))
			return 0;
	*ret = (uint32_t)p->mappings.n;
	if (profile_push_mapping(p, new, err))
		return -ERR_NOMEM;
	return hash_index_put(&x->mappings, hash, *ret) ? err_nomem(err) : 0;
}

int profile_add_function(struct profile *p, const struct profile_function *f, uint32_t *ret,
			 struct err *err)
{
	struct profile_function named = *f;

	if (!named.name)
		named.name = named.system_name;
	if (!named.system_name)
		named.system_name = named.name;
	if (named.name == STRTAB_FAILED || named.system_name == STRTAB_FAILED)
		return err_nomem(err);
	if (mangled_spell(p, &named, err))
		return -ERR_NOMEM;
	return profile_intern_function(p, &named, ret, err);
}

static bool same_location(const struct profile *p, const struct profile_location *a,
			  const struct profile_location *b, const struct profile_line *lines)
{
	return a->mapping == b->mapping && a->ip == b->ip && a->is_kernel == b->is_kernel &&
	       a->is_return_address == b->is_return_address && a->how == b->how &&
	       a->n_lines == b->n_lines && a->symbol == b->symbol &&
	       (!a->n_lines ||
		!memcmp(p->lines.v + a->first_line, lines, a->n_lines * sizeof *lines));
}

static uint32_t hash_location(const struct profile_index *x, const struct profile_location *l,
			      const struct profile_line *lines, size_t n)
{
	uint64_t h = hash_mix(hash_mix(x->secret, pair_key(l->mapping, l->is_kernel)), l->ip);
	size_t i;

	for (i = 0; i < n; i++)
		h = hash_mix(h, pair_key(lines[i].function, lines[i].line));
	return (uint32_t)h;
}

/* Puts the mark in the place of the innermost function. */
static int mark_lines(struct profile *p, uint32_t location, size_t skipped, struct err *err)
{
	const struct profile_location *l, *mark;
	uint32_t id;

	if (profile_add_bound_mark(p, &id, err))
		return -ERR_NOMEM;
	l = &p->locations.v[location];
	mark = &p->locations.v[id];
	p->lines.v[l->first_line] = p->lines.v[mark->first_line];
	p->bounded.stacks++;
	p->bounded.frames += skipped + 1;
	return 0;
}

int profile_add_location(struct profile *p, const struct profile_location *l,
			 const struct profile_line *lines, size_t n, uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	struct profile_location new = *l;
	size_t skip = n > PROFILE_LOCATION_LINES ? n - PROFILE_LOCATION_LINES : 0;
	const struct profile_line *kept = skip ? lines + skip : lines; /* no offset from no lines */
	uint32_t hash = hash_location(x, l, kept, n -= skip);
	struct hash_probe probe = hash_index_probe(&x->locations, hash);

	new.first_line = (uint32_t)p->lines.n;
	new.n_lines = (uint32_t)n;
	while ((*ret = hash_index_next(&x->locations, &probe)) != HASH_NONE)
		if (same_location(p, &p->locations.v[*ret], &new, kept))
			return 0;
	*ret = (uint32_t)p->locations.n;
	if (p->locations.n >= UINT32_MAX - 1 || p->lines.n + n > UINT32_MAX ||
	    vec_reserve(&p->lines, p->lines.n + n) || vec_push(&p->locations, new))
		return err_nomem(err);
	if (n)
		memcpy(p->lines.v + p->lines.n, kept, n * sizeof *kept);
	p->lines.n += n;
	p->mappings.v[l->mapping].symbolized |= n > 0;
	if (skip && mark_lines(p, *ret, skip, err))
		return -ERR_NOMEM;
	return hash_index_put(&x->locations, hash, *ret) ? err_nomem(err) : 0;
}

enum { NODES_MIN = 8 << 20 };

/* How many nodes there may be beside those that are there. */
static size_t room_for_nodes(const struct profile *p)
{
	uint64_t most = add_saturated(NODES_MIN, p->input_bytes);

	return p->nodes.n < most ? (size_t)(most - p->nodes.n) : 0;
}

int profile_add_stack(struct profile *p, const uint32_t *locations, size_t n, uint32_t *ret,
		      struct err *err)
{
	size_t i, room = room_for_nodes(p), kept = n < room ? n : room;
	uint32_t mark;

	for (i = *ret = 0; i < kept; i++)
		if (profile_intern_node(p, *ret, locations[i], ret, err))
			return -ERR_NOMEM;
	if (kept == n)
		return 0;
	p->bounded.stacks++;
	p->bounded.frames = add_saturated(p->bounded.frames, n - kept);
	return profile_add_bound_mark(p, &mark, err) ? -ERR_NOMEM
						     : profile_intern_node(p, *ret, mark, ret, err);
}

static int add_sample(struct profile *p, struct profile_sample s, struct err *err)
{
	struct profile_event *e = &p->events.v[s.event];
	uint32_t id;

	if (!(p->index_->keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS)))
		s.pid = 0;
	if (!(p->index_->keep & PROFILE_KEEP_TIDS))
		s.tid = 0;
	if (!(p->index_->keep & PROFILE_KEEP_CPUS))
		s.cpu = 0;
	if (!(p->index_->keep & PROFILE_KEEP_LABELS))
		s.labels = 0;
	if (profile_intern_sample(p, &s, profile_expect_sample(p, &s), &id, err))
		return -ERR_NOMEM;
	profile_count(p, id, s.count, s.period);
	e->samples = add_saturated(e->samples, s.count);
	e->period = add_saturated(e->period, s.period);
	return 0;
}

int profile_add_sample(struct profile *p, const struct profile_sample *s, struct err *err)
{
	return add_sample(p, *s, err);
}

int profile_log_sums(struct profile *p, struct err *err)
{
	size_t i;

	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		struct profile_log_entry e = {
			.node = s->node,
			.event = s->event,
			.comm = s->comm,
			.pid = s->pid,
			.tid = s->tid,
			.period = s->period ? s->period : s->count,
			.has_stack = true,
		};

		if (vec_push(&p->log, e))
			return err_nomem(err);
	}
	return 0;
}

int profile_add_entry(struct profile *p, const struct profile_sample *s,
		      const struct profile_log_entry *when, struct err *err)
{
	struct profile_log_entry e = *when;

	profile_see_times(p, when->time_ns, when->time_ns);
	if (add_sample(p, *s, err))
		return -ERR_NOMEM;
	if (!(p->index_->keep & PROFILE_KEEP_LOG))
		return 0;
	e.node = s->node;
	e.event = s->event;
	e.comm = s->comm;
	e.pid = s->pid;
	e.tid = s->tid;
	e.period = s->period;
	e.stop = s->stop;
	e.labels = p->index_->keep & PROFILE_KEEP_LABELS ? s->labels : 0;
	return vec_push(&p->log, e) ? err_nomem(err) : 0;
}
