/* batch.c - queries in, answers out: each distinct address once, each module once, names last.
 *
 *	group     queries by dso, addresses sorted and made unique
 *	symbols   every source, in parallel
 *	lines     DWARF: small modules side by side, large ones one after another on all threads
 *	names     demangled, each once per module, in parallel
 *	answers   interned by one thread, by rising dso and address: ids do not depend on the
 * threads
 */
#include "symbolize/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/threads.h"
#include "symbolize/demangle.h"
#include "symbolize/sort.h"

/* A module with more debug information than this is worth all threads by itself. */
enum { LARGE_DEBUG_BYTES = 8 << 20 };

#define NAME_NONE UINT32_MAX

/* A name as the sources gave it, and what became of it. */
struct name {
	const char *system, *shown;
	uint32_t aliases;	      /* "[+N]" */
	bool readable;		      /* put together from DWARF, not mangled */
	uint32_t system_id, shown_id; /* NAME_NONE until interned */
	const struct sym_line
		*plain; /* the answer for a function without line; NULL until needed */
};

struct group {
	struct source *src;
	size_t first_pair, n_pairs;
	struct lookups lookups;
	uint32_t *symbol_names;	   /* per lookup: index into names, or NAME_NONE */
	VEC(uint32_t) frame_names; /* per frame: the same */
	VEC(struct name) names;
	struct hash_table by_pointer; /* system name's address -> index into names */
	struct arena text;	      /* demangled names */
	uint64_t cost;
	int rc;
};

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

static struct source *source_get(struct symbolizer *s, const struct dso *dso)
{
	struct source *src;

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

/* Sources for all dsos; counts[id] becomes the number of queries of a dso. */
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

static int by_queries(const void *a, const void *b)
{
	const struct group *x = *(struct group *const *)a, *y = *(struct group *const *)b;

	return (x->n_pairs < y->n_pairs) - (x->n_pairs > y->n_pairs);
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
	struct source *src = g->src;

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

static int name_index(struct group *g, const char *system, bool readable, uint32_t *ret)
{
	uint64_t key = (uintptr_t)system;

	*ret = NAME_NONE;
	if (!system)
		return 0;
	*ret = hash_get(&g->by_pointer, key);
	if (*ret != HASH_NONE)
		return 0;
	*ret = (uint32_t)g->names.n;
	return vec_push(&g->names, (struct name){.system = system,
						 .shown = system,
						 .readable = readable,
						 .system_id = NAME_NONE,
						 .shown_id = NAME_NONE}) ||
			       hash_put(&g->by_pointer, key, *ret)
		       ? -1
		       : 0;
}

static int collect_names(struct group *g)
{
	const struct lookups *l = &g->lookups;
	size_t i;

	g->symbol_names = malloc((l->n ? l->n : 1) * sizeof *g->symbol_names);
	if (!g->symbol_names || vec_reserve(&g->frame_names, l->frames.n))
		return -1;
	for (i = 0; i < l->n; i++) {
		uint32_t *index = &g->symbol_names[i];

		if (name_index(g, l->v[i].symbol, false, index))
			return -1;
		if (*index != NAME_NONE)
			g->names.v[*index].aliases = l->v[i].aliases;
	}
	for (i = 0; i < l->frames.n; i++) {
		const struct dwarf_frame *f = &l->frames.v[i];

		if (name_index(g, f->linkage_name ? f->linkage_name : f->name, !f->linkage_name,
			       &g->frame_names.v[g->frame_names.n++]))
			return -1;
	}
	return 0;
}

/* name->shown in the group's memory. 0 or -1 (out of memory). */
static int show_name(struct group *g, struct demangler *d, const struct name_style *style,
		     struct name *name)
{
	const char *shown =
		name->readable ? restyle(d, name->system, style) : demangle(d, name->system, style);
	char mark[16] = "";
	size_t n = strlen(shown), n_mark;
	char *copy;

	if (name->aliases)
		snprintf(mark, sizeof mark, " [+%u]", name->aliases);
	n_mark = strlen(mark);
	if (shown == name->system && !n_mark)
		return 0;
	copy = arena_alloc(&g->text, n + n_mark + 1);
	if (!copy)
		return -1;
	memcpy(copy, shown, n);
	memcpy(copy + n, mark, n_mark + 1);
	name->shown = copy;
	return 0;
}

static int show_names(struct group *g, struct name_style style)
{
	struct demangler d = {0};
	size_t i;
	int rc = 0;

	style.fold_clones &= !g->src->is_go;
	for (i = 0; i < g->names.n && !rc; i++)
		rc = show_name(g, &d, &style, &g->names.v[i]);
	demangler_done(&d);
	return rc;
}

static void run_names(void *arg, size_t i, unsigned worker)
{
	struct batch *b = arg;
	struct group *g = b->order[i];

	(void)worker;
	if (!g->rc && (collect_names(g) || show_names(g, b->s->style)))
		g->rc = -ERR_NOMEM;
}

/* ---- answers ----------------------------------------------------------------------------- */

/* The name's ids; 0 for no name. */
static int intern(struct symbolizer *s, struct name *name)
{
	if (name->shown_id != NAME_NONE)
		return 0;
	name->shown_id = strtab_add_cstr(&s->strings, name->shown);
	name->system_id = name->system == name->shown ? name->shown_id
						      : strtab_add_cstr(&s->strings, name->system);
	return name->shown_id == STRTAB_FAILED || name->system_id == STRTAB_FAILED ? -1 : 0;
}

/* A function without file and line, one for all addresses in it. */
static int plain_line(struct symbolizer *s, struct name *name, struct sym_result *r)
{
	struct sym_line *line;

	r->n_lines = 1;
	r->lines = name->plain;
	if (r->lines)
		return 0;
	line = arena_alloc(&s->lines, sizeof *line);
	if (!line)
		return -1;
	line->name = name->shown_id;
	line->system_name = name->system_id;
	r->lines = name->plain = line;
	return 0;
}

static int chain_lines(struct symbolizer *s, struct group *g, const struct lookup *l,
		       const struct name *symbol, struct sym_result *r)
{
	struct sym_line *lines = arena_alloc(&s->lines, l->n_frames * sizeof *lines);
	size_t i;

	if (!lines)
		return -1;
	for (i = 0; i < l->n_frames; i++) {
		const struct dwarf_frame *f = &g->lookups.frames.v[l->first_frame + i];
		uint32_t index = g->frame_names.v[l->first_frame + i];
		const struct name *name = index == NAME_NONE ? NULL : &g->names.v[index];

		/* The real function goes by the name it has in the symbol table. */
		if (i + 1 == l->n_frames && symbol)
			name = symbol;
		else if (index != NAME_NONE && intern(s, &g->names.v[index]))
			return -1;
		if (name) {
			lines[i].name = name->shown_id;
			lines[i].system_name = name->system_id;
		}
		if (f->file)
			lines[i].file = strtab_add_cstr(&s->strings, f->file);
		if (lines[i].file == STRTAB_FAILED)
			return -1;
		lines[i].line = f->line;
		lines[i].start_line = f->decl_line;
	}
	r->n_lines = l->n_frames;
	r->lines = lines;
	return 0;
}

static void count(struct symbolize_stats *st, const struct sym_result *r)
{
	st->addresses++;
	st->misses[r->miss]++;
	st->symbolized += r->miss == SYM_MISS_FOUND;
	st->with_lines += r->n_lines && r->lines[0].line;
	st->inlined_frames += r->n_lines ? r->n_lines - 1 : 0;
}

static int answer(struct symbolizer *s, struct group *g, size_t i, struct sym_result *r)
{
	const struct lookup *l = &g->lookups.v[i];
	struct name *symbol =
		g->symbol_names[i] == NAME_NONE ? NULL : &g->names.v[g->symbol_names[i]];

	*r = (struct sym_result){
		.miss = (enum sym_miss)l->miss, .offset = l->offset, .aliases = l->aliases};
	if (symbol) {
		if (intern(s, symbol))
			return -1;
		r->symbol = symbol->shown_id;
		r->symbol_system = symbol->system_id;
	}
	if (l->n_frames && !l->no_function)
		r->miss = SYM_MISS_FOUND;
	if (r->miss == SYM_MISS_FOUND)
		g->src->found = true;
	if (l->n_frames)
		return chain_lines(s, g, l, symbol, r);
	return symbol ? plain_line(s, symbol, r) : 0;
}

static enum sym_tier tier_of(const struct lookup *l, const struct sym_result *r)
{
	if (l->n_frames)
		return l->no_function ? SYM_TIER_LINE : SYM_TIER_INLINE;
	return r->miss == SYM_MISS_FOUND ? SYM_TIER_SYM : SYM_TIER_NONE;
}

static int answer_group(struct batch *b, struct group *g)
{
	size_t n = g->lookups.n, i;
	struct sym_result *r = calloc(n ? n : 1, sizeof *r);
	int rc = r ? 0 : -1;

	for (i = 0; !rc && i < n; i++) {
		rc = answer(b->s, g, i, &r[i]);
		if (rc)
			break;
		count(&b->s->stats, &r[i]);
		if (tier_of(&g->lookups.v[i], &r[i]) > g->src->tier)
			g->src->tier = tier_of(&g->lookups.v[i], &r[i]);
	}
	for (i = 0; !rc && i < g->n_pairs; i++)
		b->results[b->pairs[g->first_pair + i].index] = r[b->lookup_of[g->first_pair + i]];
	/* Where single addresses missed, the first reason stands for the dso. */
	for (i = 0; !rc && i < n && !g->src->found && g->src->miss == SYM_MISS_FOUND; i++)
		g->src->miss = r[i].miss;
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

	qsort(b->order, b->groups.n, sizeof *b->order, by_queries);
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
			count(&s->stats, &results[i]);
	}
	rc = n > UINT32_MAX ? -1 : make_groups(&b, n);
	if (!rc)
		rc = run_phases(&b);
	batch_done(&b);
	return rc ? err_nomem(err) : 0;
}
