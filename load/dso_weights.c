/* dso_weights.c - walks the stacks of a profile once and counts samples per dso. */
#include "load/pipeline.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <stdlib.h>

static int heavier_first(const void *a, const void *b)
{
	const struct dso_weight *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->dso->id > y->dso->id) - (x->dso->id < y->dso->id);
}

static const struct dso *dso_of(const struct profile *p, uint32_t node)
{
	uint32_t loc = p->nodes.v[node].location;

	return node ? p->mappings.v[p->locations.v[loc].mapping].dso : NULL;
}

/* For each node, the nearest ancestor in another dso, or 0: stacks stay in one dso for many frames.
 */
static void find_exits(const struct profile *p, uint32_t *exits)
{
	uint32_t node, up;

	exits[0] = 0;
	for (node = 1; node < p->nodes.n; node++) {
		up = p->nodes.v[node].parent; /* is smaller */
		exits[node] = dso_of(p, up) == dso_of(p, node) ? exits[up] : up;
	}
}

/* Sets mark[dso] to `stamp` for the dsos of a stack, and adds the sample to those that were not
 * marked yet. */
static void weigh_stack(const struct profile *p, const struct profile_sample *s,
			const uint32_t *exits, uint64_t stamp, uint64_t *mark, struct dso_weight *w)
{
	uint32_t node;

	for (node = s->node; node; node = exits[node]) {
		const struct dso *d = dso_of(p, node);

		if (!d || mark[d->id] == stamp)
			continue;
		mark[d->id] = stamp;
		w[d->id].samples += s->count;
	}
}

void dso_weights_sort(struct dso_weight *v, size_t n)
{
	qsort(v, n, sizeof *v, heavier_first);
}

static void weigh_stacks(const struct profile *p, const uint32_t *exits, uint64_t *mark,
			 struct dso_weight *w)
{
	size_t i;

	for (i = 0; i < p->samples.n; i++)
		weigh_stack(p, &p->samples.v[i], exits, i + 1, mark, w);
}

struct dso_weight *weigh_dsos(const struct loaded *p, size_t *n)
{
	size_t count = perf_file_dso_count(p->file), i;
	struct dso_weight *w = calloc(count + 1, sizeof *w);
	uint64_t *mark = calloc(count + 1, sizeof *mark);
	uint32_t *exits = malloc(p->profile->nodes.n * sizeof *exits);

	*n = 0;
	if (w && mark && exits) {
		for (i = 0; i < count; i++)
			w[i].dso = perf_file_dso(p->file, i);
		find_exits(p->profile, exits);
		weigh_stacks(p->profile, exits, mark, w);
		dso_weights_sort(w, count);
		while (*n < count && w[*n].samples)
			++*n;
	}
	free(exits);
	free(mark);
	return w;
}

double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static bool goes_through(const struct profile *p, const struct profile_sample *s,
			 const bool *picked)
{
	uint32_t node;

	for (node = s->node; node; node = p->nodes.v[node].parent) {
		const struct dso *d = dso_of(p, node);

		if (d && picked[d->id])
			return true;
	}
	return false;
}

uint64_t weigh_picked(const struct loaded *p, const bool *picked)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->profile->samples.n; i++)
		if (goes_through(p->profile, &p->profile->samples.v[i], picked))
			sum += p->profile->samples.v[i].count;
	return sum;
}
