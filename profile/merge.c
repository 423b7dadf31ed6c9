/* merge.c - merges profiles that several threads have filled. */
#include "profile/intern.h"

#include <string.h>

/* Ids of src -> ids of dst. */
struct translation {
	const struct profile *src;
	struct profile *dst;
	/* The id in dst; strings: + 1, 0: not translated yet. */
	uint32_t *strings, *mappings, *locations, *nodes;
};

static uint32_t merge_string(struct translation *t, uint32_t id)
{
	if (!t->strings[id]) {
		uint32_t ours = strtab_add(&t->dst->strings, strtab_get(&t->src->strings, id),
					   strtab_len(&t->src->strings, id));

		if (ours == STRTAB_FAILED)
			return ours;
		t->strings[id] = ours + 1;
	}
	return t->strings[id] - 1;
}

static int merge_events(struct translation *t, struct err *err)
{
	const struct profile *src = t->src;
	size_t i;

	if (profile_grow_events(t->dst, src->events.n, err))
		return -ERR_NOMEM;
	for (i = 0; i < src->events.n; i++) {
		const struct profile_event *from = &src->events.v[i];
		struct profile_event *to = &t->dst->events.v[i];

		if (!to->name) {
			to->name = merge_string(t, from->name);
			to->attr = from->attr;
			if (to->name == STRTAB_FAILED) {
				to->name = 0;
				return err_nomem(err);
			}
		}
		to->samples += from->samples;
		to->period = add_saturated(to->period, from->period);
	}
	return 0;
}

/* Copies the lines of a location for which dst has none. */
static int merge_lines(struct translation *t, const struct profile_location *from, uint32_t to,
		       struct err *err)
{
	struct profile *dst = t->dst;
	uint32_t i, first = (uint32_t)dst->lines.n, symbol = merge_string(t, from->symbol);

	if (symbol == STRTAB_FAILED || dst->lines.n + from->n_lines > UINT32_MAX)
		return err_nomem(err);
	for (i = 0; i < from->n_lines; i++) {
		struct profile_line line = t->src->lines.v[from->first_line + i];
		struct profile_function f = t->src->functions.v[line.function];

		f.name = merge_string(t, f.name);
		f.system_name = merge_string(t, f.system_name);
		f.file = merge_string(t, f.file);
		if (f.name == STRTAB_FAILED || f.system_name == STRTAB_FAILED ||
		    f.file == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_intern_function(dst, &f, &line.function, err))
			return -ERR_NOMEM;
		if (vec_push(&dst->lines, line))
			return err_nomem(err);
	}
	dst->locations.v[to].miss = from->miss;
	dst->locations.v[to].symbol = symbol;
	dst->locations.v[to].symbol_offset = from->symbol_offset;
	dst->locations.v[to].first_line = first;
	dst->locations.v[to].n_lines = from->n_lines;
	return 0;
}

static int merge_locations(struct translation *t, struct err *err)
{
	const struct profile *src = t->src;
	size_t i;

	for (i = 0; i < src->mappings.n; i++) {
		const struct profile_mapping *m = &src->mappings.v[i];

		if (profile_intern_mapping(t->dst, m->dso, &m->map, &t->mappings[i], err))
			return -ERR_NOMEM;
		t->dst->mappings.v[t->mappings[i]].symbolized |= m->symbolized;
	}
	for (i = 0; i < src->locations.n; i++) {
		const struct profile_location *l = &src->locations.v[i];
		struct location_key key = {
			.off = l->off,
			.made_ns = l->made_ns,
			.mapping = t->mappings[l->mapping],
			.flags = location_flags(l->is_return_address, l->is_kernel, l->how),
		};
		size_t known = t->dst->locations.n;

		if (profile_intern_location(t->dst, key, l->ip, &t->locations[i], err))
			return -ERR_NOMEM;
		if (t->locations[i] >= known && merge_lines(t, l, t->locations[i], err))
			return -ERR_NOMEM;
	}
	return 0;
}

static int merge_samples(struct translation *t, struct err *err)
{
	const struct profile *src = t->src;
	uint32_t id;
	size_t i;

	/* A parent's id is smaller than its children's. */
	for (i = 1; i < src->nodes.n; i++) {
		const struct profile_node *from = &src->nodes.v[i];

		if (profile_intern_node(t->dst, t->nodes[from->parent],
					t->locations[from->location], &t->nodes[i], err))
			return -ERR_NOMEM;
	}
	for (i = 0; i < src->samples.n; i++) {
		struct profile_sample s = src->samples.v[i];

		s.node = t->nodes[s.node];
		s.comm = merge_string(t, s.comm);
		if (s.comm == STRTAB_FAILED)
			return err_nomem(err);
		if (profile_intern_sample(t->dst, &s, profile_expect_sample(t->dst, &s), &id, err))
			return -ERR_NOMEM;
		profile_count(t->dst, id, s.count, s.period);
	}
	return 0;
}

/* Both logs are sorted by seq. Merges them backwards, from the end of the enlarged log, so that no
 * entry is overwritten before it was moved. */
static int merge_log(struct translation *t, struct err *err)
{
	const struct profile *src = t->src;
	struct profile *dst = t->dst;
	size_t a = dst->log.n, b = src->log.n, to = a + b;

	for (size_t i = 0; i < b; i++)
		if (merge_string(t, src->log.v[i].trace) == STRTAB_FAILED ||
		    merge_string(t, src->log.v[i].detail) == STRTAB_FAILED)
			return err_nomem(err);
	if (vec_reserve(&dst->log, to))
		return err_nomem(err);
	dst->log.n = to;
	while (b) {
		const struct profile_log_entry *from = &src->log.v[b - 1];
		struct profile_log_entry e;

		if (a && from->seq < dst->log.v[a - 1].seq) {
			dst->log.v[--to] = dst->log.v[--a];
			continue;
		}
		e = *from;
		e.node = t->nodes[e.node];
		e.comm = t->strings[e.comm] - 1; /* merge_samples() has seen them all */
		e.trace = t->strings[e.trace] - 1;
		e.detail = t->strings[e.detail] - 1;
		dst->log.v[--to] = e;
		b--;
	}
	return 0;
}

static int merge_all(struct translation *t, struct err *err)
{
	bool any = t->src->samples.n;

	if (merge_events(t, err) || merge_locations(t, err))
		return -ERR_NOMEM;
	if (any)
		profile_see_times(t->dst, t->src->first_ns, t->src->last_ns);
	if (merge_samples(t, err) || merge_log(t, err))
		return -ERR_NOMEM;
	if (!t->dst->info)
		t->dst->info = t->src->info;
	return 0;
}

int profile_merge(struct profile *dst, const struct profile *src, struct err *err)
{
	struct translation t = {
		.src = src,
		.dst = dst,
		.strings = calloc(strtab_count(&src->strings), sizeof(uint32_t)),
		.mappings = calloc(src->mappings.n, sizeof(uint32_t)),
		.locations = calloc(src->locations.n + 1, sizeof(uint32_t)),
		.nodes = calloc(src->nodes.n, sizeof(uint32_t)),
	};
	int rc = -ERR_NOMEM;

	if (dst->index_->keep != src->index_->keep)
		rc = err_set(err, ERR_USAGE, "",
			     "profiles that keep different things cannot be merged");
	else if (!t.strings || !t.mappings || !t.locations || !t.nodes)
		err_nomem(err);
	else
		rc = merge_all(&t, err);
	free(t.strings);
	free(t.mappings);
	free(t.locations);
	free(t.nodes);
	return rc;
}
