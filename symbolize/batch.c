/* batch.c - runs a batch: looks up each distinct address once, compiles each module once.
 *
 *	group     queries by dso, addresses sorted and made unique
 *	symbols   every source, in parallel
 *	lines     DWARF: small modules side by side, large ones one after another on all threads
 *	names     demangled, each once per module, in parallel
 *	answers   interned by one thread, by rising dso and address: ids do not depend on threads
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/sort.h"
#include "base/threads.h"
#include "base/vec.h"
#include "reader/reader.h"
#include "symbolize/batch_group.h"
#include "symbolize/symbolize.h"

/* A module with more debug information than this is compiled by all threads together. */
enum { LARGE_DEBUG_BYTES = 8 << 20 };

struct batch {
	struct symbolizer *s;
	const struct sym_query *queries;
	struct sym_result *results;
	struct sort_pair *pairs;  /* (key, query), sorted inside of each group */
	uint32_t *lookup_of;	  /* per pair: index into its group's lookups */
	size_t n;		  /* pairs: queries that have a dso */
	VEC(struct group) groups; /* by rising dso id */
	struct group **order;	  /* the same, most work first */
	unsigned lines_threads;
};

/* ---- group ------------------------------------------------------------------------------- */

static struct symbol_source *source_get(struct symbolizer *s, const struct dso *dso)
{
	struct symbol_source *src;

	while (s->sources.n <= dso->id)
		if (vec_push(&s->sources, NULL))
			return NULL;
	src = s->sources.v[dso->id];
	if (src)
		return src;
	src = calloc(1, sizeof *src);
	if (!src)
		return NULL;
	src->ops = source_ops_for(dso->kind);
	src->env = &s->env;
	src->dso = dso;
	if (dso->kind == DSO_KERNEL)
		kernel_set_dso(s->env.kernel, dso);
	s->sources.v[dso->id] = src;
	return src;
}

/* Makes the sources of all dsos; counts[id] is set to the number of queries of a dso. */
static int count_queries(struct batch *b, size_t n, size_t *n_ids, size_t **counts)
{
	uint32_t max_id = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (b->queries[i].dso && b->queries[i].dso->id > max_id)
			max_id = b->queries[i].dso->id;
	*n_ids = (size_t)max_id + 1;
	*counts = calloc(*n_ids, sizeof **counts);
	if (!*counts)
		return -1;
	for (i = 0; i < n; i++) {
		const struct dso *dso = b->queries[i].dso;

		if (!dso)
			continue;
		if (!(*counts)[dso->id]++ && !source_get(b->s, dso))
			return -1;
		b->n++;
	}
	return 0;
}

static int make_groups(struct batch *b, size_t n)
{
	size_t *counts = NULL, n_ids = 0, at = 0, i;
	int rc = count_queries(b, n, &n_ids, &counts);

	for (i = 0; !rc && i < n_ids; i++) {
		struct group g = {.first_pair = at, .n_pairs = counts[i]};

		if (!counts[i])
			continue;
		g.src = b->s->sources.v[i];
		rc = vec_push(&b->groups, g);
		counts[i] = at; /* from here on: where the next query goes */
		at += g.n_pairs;
	}
	b->pairs = malloc((b->n ? b->n : 1) * sizeof *b->pairs);
	b->lookup_of = malloc((b->n ? b->n : 1) * sizeof *b->lookup_of);
	b->order = malloc((b->groups.n ? b->groups.n : 1) * sizeof *b->order);
	if (rc || !b->pairs || !b->lookup_of || !b->order) {
		free(counts);
		return -1;
	}
	for (i = 0; i < n; i++) {
		const struct sym_query *q = &b->queries[i];
		const struct source_ops *ops;

		if (!q->dso)
			continue;
		ops = b->s->sources.v[q->dso->id]->ops;
		b->pairs[counts[q->dso->id]++] =
			(struct sort_pair){ops->by_ip ? q->ip : q->off, (uint32_t)i};
	}
	free(counts);
	for (i = 0; i < b->groups.n; i++)
		b->order[i] = &b->groups.v[i];
	return 0;
}

static int make_lookups(struct batch *b, struct group *g)
{
	struct sort_pair *p = b->pairs + g->first_pair;
	uint32_t *lookup_of = b->lookup_of + g->first_pair;
	struct lookups *l = &g->lookups;
	size_t i;

	if (sort_pairs(p, g->n_pairs))
		return -1;
	l->v = calloc(g->n_pairs, sizeof *l->v);
	if (!l->v)
		return -1;
	for (i = 0; i < g->n_pairs; i++) {
		const struct sym_query *q = &b->queries[p[i].index];
		struct lookup *last = l->n ? &l->v[l->n - 1] : NULL;

		if (!last || last->key != p[i].key || last->time_ns != q->time_ns)
			l->v[l->n++] = (struct lookup){
				.key = p[i].key, .off = q->off, .ip = q->ip, .time_ns = q->time_ns};
		lookup_of[i] = (uint32_t)l->n - 1;
	}
	return 0;
}

/* ---- symbols, lines ---------------------------------------------------------------------- */

/* The kernel always writes all its symbols as text, which takes longest. */
static size_t symbols_work(const struct group *g)
{
	return g->src->dso->kind == DSO_KERNEL ? SIZE_MAX : g->n_pairs;
}

static int by_symbols_work(const void *a, const void *b)
{
	size_t x = symbols_work(*(struct group *const *)a);
	size_t y = symbols_work(*(struct group *const *)b);

	return (x < y) - (x > y);
}

static int by_cost(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return (x->cost < y->cost) - (x->cost > y->cost);
}

static void run_symbols(void *arg, size_t i, unsigned worker)
{
	struct batch *b = arg;
	struct group *g = b->order[i];
	struct symbol_source *src = g->src;

	(void)worker;
	g->rc = make_lookups(b, g) ? -ERR_NOMEM : src->ops->symbols(src, &g->lookups, NULL);
	if (!g->rc)
		g->rc = recorded_symbols(src, &g->lookups, NULL);
	if (!g->rc && src->ops->lines_cost && !b->s->env.no_inline)
		g->cost = src->ops->lines_cost(src);
}

static void run_lines(void *arg, size_t i, unsigned worker)
{
	struct batch *b = arg;
	struct group *g = b->order[i];

	(void)worker;
	if (g->cost && !g->rc)
		g->rc = g->src->ops->lines(g->src, &g->lookups, b->lines_threads, NULL);
}

static void run_all_lines(struct batch *b)
{
	unsigned n_threads = b->s->n_threads;
	size_t n_large = 0, n = 0, i;

	qsort(b->order, b->groups.n, sizeof *b->order, by_cost);
	while (n < b->groups.n && b->order[n]->cost)
		n_large += b->order[n++]->cost >= LARGE_DEBUG_BYTES;
	b->lines_threads = n_threads;
	for (i = 0; i < n_large; i++)
		run_lines(b, i, 0);
	b->lines_threads = 1;
	b->order += n_large;
	threads_for(n_threads, n - n_large, run_lines, b);
	b->order -= n_large;
}

/* ---- names ------------------------------------------------------------------------------- */

static void run_names(void *arg, size_t i, unsigned worker)
{
	struct batch *b = arg;
	struct group *g = b->order[i];

	(void)worker;
	if (!g->rc)
		g->rc = group_names(g, b->s->style);
}

/* ---- answers ----------------------------------------------------------------------------- */

static int answer_group(struct batch *b, struct group *g)
{
	struct sym_result *r = calloc(g->lookups.n ? g->lookups.n : 1, sizeof *r);
	int rc = r ? group_answers(b->s, g, r) : -1;
	size_t i;

	for (i = 0; !rc && i < g->n_pairs; i++)
		b->results[b->pairs[g->first_pair + i].index] = r[b->lookup_of[g->first_pair + i]];
	free(r);
	return rc;
}

/* ---- all together ------------------------------------------------------------------------ */

static int first_failure(const struct batch *b)
{
	size_t i;

	for (i = 0; i < b->groups.n; i++)
		if (b->groups.v[i].rc)
			return b->groups.v[i].rc;
	return 0;
}

static int run_phases(struct batch *b)
{
	size_t i;

	qsort(b->order, b->groups.n, sizeof *b->order, by_symbols_work);
	threads_for(b->s->n_threads, b->groups.n, run_symbols, b);
	if (first_failure(b))
		return -1;
	run_all_lines(b);
	b->s->stats.cached_modules = b->s->lines_cache.hits;
	threads_for(b->s->n_threads, b->groups.n, run_names, b);
	if (first_failure(b))
		return -1;
	for (i = 0; i < b->groups.n; i++)
		if (answer_group(b, &b->groups.v[i]))
			return -1;
	return 0;
}

static void batch_done(struct batch *b)
{
	size_t i;

	for (i = 0; i < b->groups.n; i++) {
		struct group *g = &b->groups.v[i];

		if (g->src->ops->end_batch)
			g->src->ops->end_batch(g->src);
		free(g->lookups.v);
		free(g->symbol_names);
		vec_done(&g->lookups.frames);
		vec_done(&g->frame_names);
		vec_done(&g->names);
		hash_done(&g->by_pointer);
		arena_done(&g->text);
	}
	vec_done(&b->groups);
	free(b->order);
	free(b->pairs);
	free(b->lookup_of);
}

int batch_run(struct symbolizer *s, const struct sym_query *queries, size_t n,
	      struct sym_result *results, struct err *err)
{
	struct batch b = {.s = s, .queries = queries, .results = results};
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		results[i] = (struct sym_result){.miss = SYM_MISS_NO_MAP};
		if (!queries[i].dso)
			count_answer(&s->stats, &results[i]);
	}
	rc = n > UINT32_MAX ? -1 : make_groups(&b, n);
	if (!rc)
		rc = run_phases(&b);
	batch_done(&b);
	return rc ? err_nomem(err) : 0;
}
