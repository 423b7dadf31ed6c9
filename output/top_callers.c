/* top_callers.c - who calls a function, as the tree that perf report --stdio draws: innermost
 * caller first, shares are of all samples.
 *
 *	|--35.97%--caller
 *	|          its caller
 *	 --12.00%--another one
 */
#include "base/strtab.h"
#include "base/vec.h"
#include "output/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "base/fit.h"

/* FORK_SOUGHT: how many frames behind those that are shown are searched for the next fork: a stack
 * of 30,000 functions has 30,000 rows, each with up to as many callers. */
enum { INDENT = 12, LEVELS = 48, CHAIN_SHOWN = 40, FORK_SOUGHT = 1000 };
#define LEAST_PERCENT 0.5 /* as perf's */

/* A frame, and the part of its weight that goes through the row's function. */
struct step {
	uint32_t node;
	uint64_t weight;
};

struct branch {
	uint32_t caller; /* a kind; TOP_NO_CALLER: the stack begins here */
	size_t first, n; /* in steps */
	uint64_t weight;
};

struct callers {
	struct top *t;
	uint64_t total;
	struct text prefix;
};

static uint32_t up(const struct top *t, uint32_t node)
{
	const uint32_t parent = t->tree.nodes.v[node].parent;

	return t->tree.nodes.v[parent].parent ? parent : 0; /* the first level are tasks */
}

static uint32_t caller_of(const struct top *t, uint32_t node)
{
	const uint32_t parent = up(t, node);

	return parent ? t->tree.nodes.v[parent].symbol : TOP_NO_CALLER;
}

static int by_caller(const void *a, const void *b, void *arg)
{
	const struct top *t = arg;
	const struct step *x = a, *y = b;
	const uint32_t p = caller_of(t, x->node), q = caller_of(t, y->node);

	return p != q ? (p > q) - (p < q) : (x->node > y->node) - (x->node < y->node);
}

/* Heavier ones first. */
static int by_weight(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

/* Sorts the steps by their callers; returns the branches, or NULL when out of memory. */
static struct branch *find_branches(struct top *t, struct step *v, size_t n, size_t *n_branches)
{
	VEC(struct branch) b = {0};

	qsort_r(v, n, sizeof *v, by_caller, t);
	for (size_t i = 0; i < n; i++) {
		const uint32_t caller = caller_of(t, v[i].node);

		if ((!b.n || b.v[b.n - 1].caller != caller) &&
		    vec_push(&b, ((struct branch){caller, i, 0, 0}))) {
			vec_done(&b);
			return NULL;
		}
		b.v[b.n - 1].n++;
		b.v[b.n - 1].weight = add_saturated(b.v[b.n - 1].weight, v[i].weight);
	}
	if (b.n)
		qsort(b.v, b.n, sizeof *b.v, by_weight);
	*n_branches = b.n;
	return b.v;
}

static void add_line(struct callers *c, const char *lead, uint32_t kind)
{
	struct text *t = &c->t->text;
	const char *name = strtab_get(&c->t->names, c->t->kinds.v[kind].symbol);
	const size_t used = c->prefix.n + strlen(lead), width = c->t->opt->top.width;

	if (str_starts_with(name, "[.] ") || str_starts_with(name, "[k] "))
		name += 4;
	if (!*name || !strcmp(name, TOP_UNKNOWN))
		name = strtab_get(&c->t->names, c->t->kinds.v[kind].dso);
	text_add(t, c->prefix.s, c->prefix.n);
	text_str(t, lead);
	fit_add(t, name, strlen(name), width > used + 8 ? width - used : width ? 8 : SIZE_MAX);
	text_char(t, '\n');
}

static void move_up(const struct top *t, struct step *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].node = up(t, v[i].node);
}

static int add_branches(struct callers *c, struct step *v, size_t n, unsigned level);

static int add_branch(struct callers *c, struct step *v, const struct branch *b, bool is_last,
		      unsigned level)
{
	const size_t before = c->prefix.n;
	char lead[48];

	snprintf(lead, sizeof lead, "%s--%.2f%%--", is_last ? " " : "|",
		 top_percent(b->weight, c->total));
	add_line(c, lead, b->caller);
	text_str(&c->prefix, is_last ? "           " : "|          ");
	move_up(c->t, v + b->first, b->n);
	if (add_branches(c, v + b->first, b->n, level + 1))
		return -1;
	c->prefix.n = before;
	return 0;
}

/* True if all go on in one frame: then there is no fork up to the root. */
static bool is_one_frame(const struct step *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i].node != v[0].node)
			return false;
	return true;
}

static void add_more(struct callers *c, size_t n, bool is_at_least)
{
	if (!n)
		return;
	text_add(&c->t->text, c->prefix.s, c->prefix.n);
	text_str(&c->t->text, "(and ");
	text_dec(&c->t->text, n, 0);
	text_str(&c->t->text, is_at_least ? " or more)\n" : " more)\n");
}

/* Callers without a fork are one column of names. Moves `v` up to the next fork. Returns the
 * branches there, of which the last may be none; NULL when out of memory. */
static struct branch *add_chain(struct callers *c, struct step *v, size_t n, size_t *n_branches)
{
	struct branch *b;
	size_t chain = 0;

	while ((b = find_branches(c->t, v, n, n_branches)) && *n_branches == 1 &&
	       b->caller != TOP_NO_CALLER) {
		if (chain >= CHAIN_SHOWN && is_one_frame(v, n)) {
			chain += c->t->depths[v->node];
			*n_branches = 0;
			break;
		}
		if (chain == CHAIN_SHOWN + FORK_SOUGHT)
			break;
		if (chain++ < CHAIN_SHOWN)
			add_line(c, "", b->caller);
		move_up(c->t, v, n);
		free(b);
	}
	if (b && chain > CHAIN_SHOWN) {
		const bool is_left = *n_branches == 1 && b->caller != TOP_NO_CALLER;

		add_more(c, chain - CHAIN_SHOWN, is_left);
		if (is_left)
			*n_branches = 0;
	}
	return b;
}

static int add_branches(struct callers *c, struct step *v, size_t n, unsigned level)
{
	size_t n_branches, shown = 0, i;
	struct branch *b =
		level ? add_chain(c, v, n, &n_branches) : find_branches(c->t, v, n, &n_branches);

	if (!b)
		return -1;
	for (i = 0; i < n_branches; i++)
		shown += b[i].caller != TOP_NO_CALLER &&
			 top_percent(b[i].weight, c->total) >= LEAST_PERCENT;
	for (i = 0; i < n_branches && shown && level < LEVELS; i++) {
		if (b[i].caller == TOP_NO_CALLER)
			continue;
		if (add_branch(c, v, &b[i], shown == 1, level)) {
			free(b);
			return -1;
		}
		shown--;
	}
	free(b);
	return 0;
}

/* The first place of the row in the list that is sorted by row. */
static size_t first_place(const struct top *t, uint32_t row)
{
	size_t from = 0, to = t->places.n;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (t->places.v[middle].row < row)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* How many callers each node has. Parents come before their children. */
static uint32_t *count_callers(const struct tree *tree)
{
	uint32_t *depths = calloc(tree->nodes.n, sizeof *depths);

	for (size_t i = 1; depths && i < tree->nodes.n; i++) {
		const uint32_t parent = tree->nodes.v[i].parent;

		if (parent && tree->nodes.v[parent].parent) /* the first level are tasks */
			depths[i] = depths[parent] + 1;
	}
	return depths;
}

int top_add_callers(struct top *t, uint32_t row, uint64_t total)
{
	struct callers c = {.t = t, .total = total};
	const size_t first = first_place(t, row);
	size_t n = 0, before;
	struct step *v;
	int rc;

	if (!t->depths && !(t->depths = count_callers(&t->tree)))
		return -1;
	while (first + n < t->places.n && t->places.v[first + n].row == row)
		n++;
	v = malloc((n + 1) * sizeof *v);
	if (!v)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const uint32_t node = t->places.v[first + i].node;

		v[i] = (struct step){node, t->totals[node]};
	}
	text_pad(&c.prefix, 0, INDENT);
	before = t->text.n;
	text_add(&t->text, c.prefix.s, c.prefix.n);
	text_str(&t->text, "|\n");
	rc = add_branches(&c, v, n, 0);
	if (t->text.n == before + c.prefix.n + 2)
		t->text.n = before; /* nothing calls it */
	else
		text_char(&t->text, '\n');
	rc = c.prefix.failed ? -1 : rc;
	text_done(&c.prefix);
	free(v);
	return rc;
}
