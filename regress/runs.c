/* runs.c - profiles become trees of keys, and counts of functions. */
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "regress/inside.h"
#include "regress/split.h"

#include <string.h>

#include "base/pair.h"

/* ---- keys --------------------------------------------------------------------------------------
 */

struct keyer {
	struct regress *g;
	const struct profile *p;
	enum side side; /* history is the base's */
	struct tree_symbols symbols;
	struct text text;
	uint32_t *of_function; /* by function and class: key of the name and 1 */
	struct split_run split;
};

/* What is shown is the smallest of all spellings, whatever the order of the runs. */
static int see_name(struct regress *g, uint32_t *kept, const char *s, size_t n)
{
	const char *old = strtab_get(&g->names, *kept);
	uint32_t id;

	if (!n || (*old && strcmp(old, s) <= 0))
		return 0;
	id = strtab_add(&g->names, s, n);
	if (id == STRTAB_FAILED)
		return -1;
	*kept = id;
	return 0;
}

static int see_string(struct keyer *k, uint32_t *kept, uint32_t id)
{
	return see_name(k->g, kept, strtab_get(&k->p->strings, id), strtab_len(&k->p->strings, id));
}

/* The key that is in k->text; STRTAB_FAILED when out of memory. */
static uint32_t take_key(struct keyer *k)
{
	struct regress *g = k->g;
	const char *renamed;

	text_char(&k->text, '\0');
	if (k->text.failed)
		return STRTAB_FAILED;
	renamed = budget_rename(g, k->text.s);
	k->text.n = 0;
	return key_intern(g, renamed ? renamed : k->text.s);
}

uint32_t key_intern(struct regress *g, const char *key)
{
	uint32_t id = strtab_add_cstr(&g->keys, key);

	if (id == STRTAB_FAILED)
		return id;
	while (g->info.n <= id)
		if (vec_push(&g->info, (struct key_info){0}))
			return STRTAB_FAILED;
	return id;
}

/* Is a function in another file than the one seen before by that name on this side? */
static bool is_namesake(const struct keyer *k, const struct key_info *info, uint32_t file)
{
	const char *old = base_name(strtab_get(&k->g->names, info->file[k->side])),
		   *own = base_name(strtab_get(&k->p->strings, file));

	return *old && *own && strcmp(old, own) != 0;
}

/* The key of a function's name. */
static uint32_t key_of_name(struct keyer *k, uint32_t function, enum key_kind kind)
{
	const struct profile_function *f = &k->p->functions.v[function];
	uint32_t *known = &k->of_function[function * 3 + kind], id;

	if (*known)
		return *known - 1;
	key_function(&k->text, strtab_get(&k->p->strings, f->name),
		     strtab_len(&k->p->strings, f->name), kind);
	id = take_key(k);
	if (id != STRTAB_FAILED)
		*known = id + 1;
	return id;
}

static uint32_t key_of_function(struct keyer *k, const struct profile_location *l,
				const struct profile_line *line, bool is_outermost)
{
	const struct profile_function *f = &k->p->functions.v[line->function];
	const struct profile_mapping *m = &k->p->mappings.v[l->mapping];
	enum key_kind kind = l->is_kernel ? KEY_KERNEL : m->kind == DSO_ANON ? KEY_JIT : KEY_USER;
	uint32_t id = key_of_name(k, line->function, kind);
	struct key_info *info;

	if (id != STRTAB_FAILED)
		id = split_key(&k->split, id, l, line, is_outermost);
	if (id == STRTAB_FAILED)
		return id;
	info = &k->g->info.v[id];
	info->is_vdso |= l->mapping && m->kind == DSO_VDSO;
	info->is_of_file |= l->mapping && m->kind == DSO_FILE;
	info->is_folded[k->side] |= strstr(strtab_get(&k->p->strings, f->name), " [+") != NULL;
	info->has_namesakes |= !info->whole && is_namesake(k, info, f->file);
	if (kind == KEY_KERNEL && !info->is_kernel)
		kernel_see(k->g, id);
	if (see_string(k, &info->name, f->name) || see_string(k, &info->dso, m->short_name) ||
	    see_string(k, &info->file[k->side], f->file))
		return STRTAB_FAILED;
	if (f->start_line && (!info->line[k->side] || f->start_line < info->line[k->side]))
		info->line[k->side] = f->start_line;
	return id;
}

static uint32_t key_of_module(struct keyer *k, const struct profile_location *l)
{
	uint32_t path = k->p->mappings.v[l->mapping].short_name, id;
	struct key_info *info;

	key_module(&k->text, strtab_get(&k->p->strings, path), strtab_len(&k->p->strings, path));
	id = take_key(k);
	if (id == STRTAB_FAILED)
		return id;
	info = &k->g->info.v[id];
	info->is_unknown = true;
	info->is_kernel |= l->is_kernel;
	if (see_name(k->g, &info->name, strtab_get(&k->g->keys, id), strtab_len(&k->g->keys, id)) ||
	    see_string(k, &info->dso, path))
		return STRTAB_FAILED;
	return id;
}

static int add_location(struct keyer *k, const struct profile_location *l)
{
	size_t i, n;
	const struct profile_line *lines = profile_lines(k->p, l, false, &n);
	uint32_t id;

	if (!n || !k->p->functions.v[lines[n - 1].function].name) {
		id = key_of_module(k, l);
		return id == STRTAB_FAILED || vec_push(&k->symbols.ids, id) ? -1 : 0;
	}
	for (i = n; i--;) {
		id = key_of_function(k, l, &lines[i], i + 1 == n);
		if (id == STRTAB_FAILED || vec_push(&k->symbols.ids, id))
			return -1;
	}
	return 0;
}

static int add_symbols(struct keyer *k)
{
	size_t i;

	k->of_function = calloc(k->p->functions.n * 3 + 1, sizeof *k->of_function);
	if (!k->of_function)
		return -1;
	for (i = 0; i < k->p->locations.n; i++)
		if (vec_push(&k->symbols.first, (uint32_t)k->symbols.ids.n) ||
		    add_location(k, &k->p->locations.v[i]))
			return -1;
	for (i = 0; i < k->p->samples.n; i++)
		if (vec_push(&k->symbols.roots, TREE_NO_ROOT))
			return -1;
	return vec_push(&k->symbols.first, (uint32_t)k->symbols.ids.n);
}

/* ---- a run -------------------------------------------------------------------------------------
 */

double node_weight(const struct tree_node *n)
{
	return (double)(n->period ? n->period : n->count);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	uint64_t swap;

	for (; b; swap = a % b, a = b, b = swap)
		;
	return a;
}

/* Sets the weight of one sample: as recorded, or the greatest common divisor of the weights, which
 * is a multiple of the period by chance in a run of few stacks. */
static void set_unit(struct run_tree *r, const struct profile_event *e, const struct tree *t)
{
	uint64_t divisor = 0;
	size_t i;

	r->unit = 1;
	if (!e->is_sum && e->samples && e->period)
		r->unit = (double)e->period / (double)e->samples;
	else if (e->period) {
		for (i = 0; i < t->nodes.n; i++)
			divisor = common_divisor(divisor, t->nodes.v[i].period);
		if (e->attr.sample_period && divisor % e->attr.sample_period == 0)
			divisor = e->attr.sample_period;
		r->unit = divisor ? (double)divisor : 1;
		r->divisor = e->unit && e->attr.sample_period ? 0 : divisor;
	}
}

/* Takes over the tree's nodes. */
static void keep_tree(struct run_tree *r, struct tree *t)
{
	r->nodes.v = t->nodes.v;
	r->nodes.n = t->nodes.n;
	r->nodes.cap = t->nodes.cap;
	memset(&t->nodes, 0, sizeof t->nodes);
}

static int same_event(struct regress *g, const struct profile *p, const struct profile_event *e,
		      const char *run, struct err *err)
{
	const char *name = strtab_get(&p->strings, e->name);
	const char *unit = e->unit		       ? strtab_get(&p->strings, e->unit)
			   : profile_event_is_clock(e) ? "nanoseconds"
						       : "";

	if (!g->runs.n) {
		snprintf(g->event, sizeof g->event, "%s", name);
		snprintf(g->unit, sizeof g->unit, "%s", unit);
		return 0;
	}
	if (!strcmp(g->event, name) || g->opt.force)
		return 0;
	/* pprof calls clocks cpu, folded stacks have no event. */
	if (!strcmp(g->event, "weight") || !strcmp(name, "weight") ||
	    (!strcmp(g->unit, "nanoseconds") && !strcmp(unit, "nanoseconds") &&
	     !whole_of_waits(g->event) && !whole_of_waits(name)))
		return 0;
	return err_set(err, ERR_USAGE, run,
		       "not comparable: its event is %s, that of %s is %s (--event, or --force)",
		       name, g->runs.v[0].name, g->event);
}

static int weigh(const struct regress *g, const struct profile_event *e, struct tree *t,
		 const char *name, struct past_run *ret)
{
	struct regress_run *run = &ret->run;
	size_t i;

	set_unit(&ret->tree, e, t);

	if (e->attr.flags & PERF_ATTR_FREQ)
		run->facts.frequency = e->attr.sample_period;
	else if (!run->facts.frequency && e->attr.sample_period && profile_event_is_clock(e))
		run->facts.frequency =
			(1000000000 + e->attr.sample_period / 2) / e->attr.sample_period;
	else if (!run->facts.frequency)
		run->facts.period = e->attr.sample_period;
	for (i = 0; i < t->nodes.n; i++) {
		double w = node_weight(&t->nodes.v[i]);

		run->weight += w;
		if (i && g->info.v[t->nodes.v[i].symbol].is_unknown)
			run->unknown += w;
	}
	run->samples = run->weight / ret->tree.unit;
	run->lacks_unit = ret->tree.divisor > 0 && !e->unit;
	run->unknown = run->weight > 0 ? run->unknown / run->weight : 0;
	run->name = strdup(name);
	keep_tree(&ret->tree, t);
	return run->name ? 0 : -1;
}

static void see_lines(const struct keyer *k, const struct profile_location *l,
		      struct key_info *info)
{
	const struct profile_line *line = &k->p->lines.v[l->first_line];

	info->has_lines[k->side] |= l->n_lines > 1 || (l->n_lines && line->line);
	info->is_of_stacks[k->side] |= l->n_lines && k->p->functions.v[line->function].is_folded;
}

/* What locations are: the functions that have the code, and those that are innermost in it. */
static int see_places(struct keyer *k, const bool *has_event, double unit)
{
	uint32_t *keys = calloc(k->p->locations.n + 1, sizeof *keys);
	size_t i, n = k->p->locations.n;
	int rc = keys ? 0 : -1;

	for (i = 0; !rc && i < n; i++) {
		const struct profile_location *l = &k->p->locations.v[i];

		keys[i] = k->symbols.ids.v[k->symbols.first.v[i]];
		see_lines(k, l, &k->g->info.v[keys[i]]);
	}
	rc = rc ? rc : builds_see(k->g, k->side, k->p, keys);
	for (i = 0; !rc && i < n; i++)
		keys[i] = k->symbols.ids.v[k->symbols.first.v[i + 1] - 1];
	rc = rc ? rc : lines_see(k->g, k->side, k->p, has_event, keys, unit);
	free(keys);
	return rc;
}

/* Fills a zeroed *ret but for its facts; its event must be that of the other runs. To be released
 * by past_run_done() in all cases. */
static int read_run(struct regress *g, const char *name, const struct profile *p,
		    struct past_run *ret, struct err *err)
{
	bool is_past = ret->session != NO_SESSION;
	struct keyer k = {.g = g,
			  .p = p,
			  .side = ret->run.side,
			  .split = {.g = g, .p = p, .side = ret->run.side, .is_past = is_past}};
	struct event_set events;
	struct tree t = {0};
	int rc = event_set_make(&events, p, g->opt.event, err);

	if (!rc) {
		event_set_reduce(&events, p);
		rc = same_event(g, p, &p->events.v[events.ids[0]], name, err);
	}
	if (!rc && (add_symbols(&k) || tree_fill(&t, p, events.has, &k.symbols, err) ||
		    interrupts_part(g, t.nodes.v, t.nodes.n) ||
		    weigh(g, &p->events.v[events.ids[0]], &t, name, ret) ||
		    (!is_past && see_places(&k, events.has, ret->tree.unit))))
		rc = err_nomem(err);
	event_set_done(&events);
	tree_symbols_done(&k.symbols);
	tree_done(&t);
	text_done(&k.text);
	split_run_done(&k.split);
	free(k.of_function);
	return rc;
}

void past_run_done(struct past_run *r)
{
	free(r->run.name);
	vec_done(&r->tree.nodes);
}

int regress_add_run(struct regress *g, enum side side, const char *name, const struct profile *p,
		    const struct run_facts *facts, struct err *err)
{
	struct past_run r = {.run = {.side = side}, .session = NO_SESSION};
	int rc = 0;

	if (facts)
		r.run.facts = *facts;
	g->code[side].lacks_modules |= !facts || !facts->has_modules;
	g->code[side].has_other |= facts && facts->made_code;
	if (g->runs.n >= RUNS_MAX)
		rc = err_set(err, ERR_LIMIT, name, "more than %d runs", RUNS_MAX);
	if (!rc)
		rc = read_run(g, name, p, &r, err);
	if (!rc && vec_push(&g->trees, r.tree))
		rc = err_nomem(err);
	else if (!rc)
		memset(&r.tree, 0, sizeof r.tree);
	if (!rc && vec_push(&g->runs, r.run))
		rc = err_nomem(err);
	if (rc)
		past_run_done(&r);
	return rc;
}

int regress_add_history(struct regress *g, unsigned session, const char *name,
			const struct profile *p, const struct run_facts *facts, struct err *err)
{
	struct past_run r = {.session = session};
	int rc;

	if (facts)
		r.run.facts = *facts;
	if (g->past.n >= HISTORY_MAX) {
		g->design.history_left_out++;
		return 0;
	}
	rc = read_run(g, name, p, &r, err);
	if (!rc && !vec_push(&g->past, r))
		return 0;
	past_run_done(&r);
	if (rc == -ERR_USAGE) {
		g->design.history_left_out++;
		return 0;
	}
	return rc ? rc : err_nomem(err);
}

static void share_unit(struct regress_run *r, struct run_tree *t, uint64_t divisor)
{
	if (!t->divisor)
		return;
	t->unit = (double)divisor;
	r->samples = r->weight / t->unit;
}

void runs_share_unit(struct regress *g)
{
	uint64_t divisor = 0;
	size_t i;

	for (i = 0; i < g->runs.n; i++)
		divisor = common_divisor(divisor, g->trees.v[i].divisor);
	for (i = 0; i < g->past.n; i++)
		divisor = common_divisor(divisor, g->past.v[i].tree.divisor);
	for (i = 0; i < g->runs.n; i++)
		share_unit(&g->runs.v[i], &g->trees.v[i], divisor);
	for (i = 0; i < g->past.n; i++)
		share_unit(&g->past.v[i].run, &g->past.v[i].tree, divisor);
}

/* ---- order -------------------------------------------------------------------------------------
 */

struct ordered {
	struct regress_run run;
	struct run_tree tree;
};

static int compare_runs(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->run.side != y->run.side)
		return x->run.side < y->run.side ? -1 : 1;
	if (strcmp(x->run.name, y->run.name))
		return strcmp(x->run.name, y->run.name);
	return (x->run.weight > y->run.weight) - (x->run.weight < y->run.weight);
}

/* The base first, then by name: sums of doubles depend on their order. */
void runs_sort(struct regress *g)
{
	struct ordered *v = calloc(g->runs.n + 1, sizeof *v);
	size_t i;

	if (!v)
		return;
	for (i = 0; i < g->runs.n; i++)
		v[i] = (struct ordered){g->runs.v[i], g->trees.v[i]};
	qsort(v, g->runs.n, sizeof *v, compare_runs);
	for (i = 0; i < g->runs.n; i++) {
		g->runs.v[i] = v[i].run;
		g->trees.v[i] = v[i].tree;
	}
	free(v);
}

/* ---- counting ----------------------------------------------------------------------------------
 */

/* Nodes come after their parents, so sums of subtrees are made from the end on; a key counts where
 * it is for the first time on the way from the root. */
int run_count(const struct run_tree *t, double *self, double *incl)
{
	size_t i, n = t->nodes.n;
	double *below = calloc(n + 1, sizeof *below);

	if (!below)
		return -1;
	for (i = n; i-- > 1;) {
		const struct tree_node *node = &t->nodes.v[i];
		double w = node_weight(node) / t->unit;

		self[node->symbol] += w;
		below[i] += w;
		below[node->parent] += below[i];
	}
	for (i = 1; i < n; i++) {
		uint32_t key = t->nodes.v[i].symbol, at = t->nodes.v[i].parent;

		if (!(below[i] > 0))
			continue;
		while (at && t->nodes.v[at].symbol != key)
			at = t->nodes.v[at].parent;
		if (!at)
			incl[key] += below[i];
	}
	free(below);
	return 0;
}

int run_count_of(const struct run_tree *t, uint32_t key, const bool *skip_leaf,
		 const bool *skip_any, double *incl)
{
	enum { INSIDE = 1, SKIPPED = 2 };
	size_t i, n = t->nodes.n;
	uint8_t *state = calloc(n + 1, 1);

	*incl = 0;
	for (i = 1; state && i < n; i++) {
		const struct tree_node *node = &t->nodes.v[i];

		state[i] = state[node->parent] | (node->symbol == key ? INSIDE : 0) |
			   (skip_any[node->symbol] ? SKIPPED : 0);
		if (state[i] == INSIDE && !skip_leaf[node->symbol])
			*incl += node_weight(node) / t->unit;
	}
	free(state);
	return state ? 0 : -1;
}

/* ---- both sides in one tree --------------------------------------------------------------------
 */

int runs_merge(struct regress *g, const double *size, struct err *err)
{
	struct hash_index children = {0};
	const uint64_t secret = hash_secret();
	double sum[SIDE_N] = {0};
	size_t r, i;
	int rc = 0;

	for (r = 0; r < g->runs.n; r++)
		sum[g->runs.v[r].side] += size[r];
	if (vec_push(&g->both, (struct both_node){0}))
		return err_nomem(err);
	for (r = 0; !rc && r < g->runs.n; r++) {
		const struct run_tree *t = &g->trees.v[r];
		uint32_t *of = calloc(t->nodes.n + 1, sizeof *of);
		enum side side = g->runs.v[r].side;

		for (i = 1; of && !rc && i < t->nodes.n; i++) {
			const struct tree_node *node = &t->nodes.v[i];
			uint32_t parent = of[node->parent], id;
			uint32_t hash = (uint32_t)hash_u64(pair_key(parent, node->symbol) ^ secret);
			struct hash_probe probe = hash_index_probe(&children, hash);

			while ((id = hash_index_next(&children, &probe)) != HASH_NONE)
				if (g->both.v[id].parent == parent &&
				    g->both.v[id].key == node->symbol)
					break;
			if (id == HASH_NONE) {
				id = (uint32_t)g->both.n;
				if (vec_push(&g->both, (struct both_node){.parent = parent,
									  .key = node->symbol}) ||
				    hash_index_put(&children, hash, id))
					rc = err_nomem(err);
			}
			of[i] = id;
			if (!rc)
				g->both.v[id].self[side] += node_weight(node) / t->unit / sum[side];
		}
		if (!of)
			rc = err_nomem(err);
		free(of);
	}
	for (i = g->both.n; !rc && i-- > 1;)
		for (r = 0; r < SIDE_N; r++) {
			g->both.v[i].incl[r] += g->both.v[i].self[r];
			g->both.v[g->both.v[i].parent].incl[r] += g->both.v[i].incl[r];
		}
	hash_index_done(&children);
	return rc;
}
