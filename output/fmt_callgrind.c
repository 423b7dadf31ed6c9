/* fmt_callgrind.c - for KCachegrind, QCachegrind and callgrind_annotate.
 *
 * Source of truth: valgrind's manual, "Callgrind Format Specification". What a function costs
 * itself stands at its lines; what its calls cost at the lines that call. A call of a function that
 * is already on the stack costs nothing there, so that sums over callers do not exceed what there
 * is. */
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/pair.h"
#include "base/sort.h"
#include "base/sum.h"

enum { NO_CALLEE = UINT32_MAX };

/* A line of a function. These are the symbols of the tree. */
struct spot {
	uint32_t function, line; /* index in f.v */
};

/* What is written as one line: the cost of a spot, or of its calls of a function. */
struct cost {
	uint32_t spot, callee; /* a function; NO_CALLEE */
};

/* Of one cost and one event. */
struct amount {
	uint64_t calls, weight;
};

struct callgrind {
	const struct profile *p;
	const struct output_options *opt;
	struct function_symbols f;
	VEC(struct spot) spots;
	struct hash_table spot_of, cost_of;
	struct tree_symbols symbols;
	struct tree tree;
	struct tree_sums sums;
	VEC(struct cost) costs;
	VEC(struct amount) amounts; /* n_events for each cost */
	size_t n_events, event;	    /* the event that is added up */
	uint64_t *totals;	    /* by event */
	uint32_t *order;
	bool *is_named;		       /* by function: its name was written */
	struct hash_table lined_files; /* string ids of files of which a line has a cost */
	struct text text;
};

static int add_spot(struct callgrind *c, uint32_t function, uint32_t line)
{
	const uint32_t id = pair_intern(&c->spot_of, function, line);

	if (id == HASH_NONE ||
	    (id == c->spots.n && vec_push(&c->spots, ((struct spot){function, line}))))
		return -1;
	return vec_push(&c->symbols.ids, id);
}

static int add_symbols(struct callgrind *c)
{
	for (size_t i = 0; i < c->p->locations.n; i++) {
		if (vec_push(&c->symbols.first, (uint32_t)c->symbols.ids.n))
			return -1;
		for (uint32_t k = c->f.symbols.first.v[i]; k < c->f.symbols.first.v[i + 1]; k++) {
			const uint32_t line = c->f.frames.frames.v[k].line;

			if (add_spot(c, c->f.symbols.ids.v[k],
				     line == FRAME_NO_LINE ? 0 : c->p->lines.v[line].line))
				return -1;
		}
	}
	if (vec_push(&c->symbols.first, (uint32_t)c->symbols.ids.n))
		return -1;
	for (size_t i = 0; i < c->p->samples.n; i++)
		if (vec_push(&c->symbols.roots, TREE_NO_ROOT))
			return -1;
	return 0;
}

/* ---- costs ---------------------------------------------------------------------------------- */

static int add_cost(struct callgrind *c, uint32_t spot, uint32_t callee, uint64_t weight)
{
	const uint32_t id = pair_intern(&c->cost_of, spot, callee);
	struct amount *a;

	if (id == HASH_NONE)
		return -1;
	if (id == c->costs.n) {
		if (vec_push(&c->costs, ((struct cost){spot, callee})))
			return -1;
		for (size_t i = 0; i < c->n_events; i++)
			if (vec_push(&c->amounts, ((struct amount){0, 0})))
				return -1;
	}
	a = &c->amounts.v[id * c->n_events + c->event];
	a->weight = add_saturated(a->weight, weight);
	a->calls++;
	return 0;
}

static int enter(struct callgrind *c, uint32_t id, uint32_t *on_path)
{
	const struct tree_node *n = &c->tree.nodes.v[id];
	const uint32_t function = c->spots.v[n->symbol].function;
	const uint64_t own = tree_weight(n, c->opt->count_samples ? TREE_BY_COUNT : TREE_BY_WEIGHT);
	const bool is_again = on_path[function]++;

	if (own && add_cost(c, n->symbol, NO_CALLEE, own))
		return -1;
	return n->parent ? add_cost(c, c->tree.nodes.v[n->parent].symbol, function,
				    is_again ? 0 : c->sums.node[id])
			 : 0;
}

static int collect(struct callgrind *c)
{
	struct tree_order order = {0};
	uint32_t *on_path = calloc(c->f.v.n + 1, sizeof *on_path), i;
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	int rc = on_path ? tree_order_make(&order, &c->tree, NULL, c->spots.n + 1, NULL) : -1;

	if (!rc)
		rc = vec_push(&todo, 0);
	while (!rc && todo.n) {
		const uint32_t id = todo.v[--todo.n];

		if (id >> 31) {
			on_path[c->spots.v[c->tree.nodes.v[~id].symbol].function]--;
			continue;
		}
		if (id)
			rc = enter(c, id, on_path) ? -1 : vec_push(&todo, ~id);
		for (i = order.first[id]; !rc && i < order.first[id + 1]; i++)
			rc = vec_push(&todo, order.ids[i]);
	}
	vec_done(&todo);
	free(on_path);
	tree_order_done(&order);
	return rc;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* By functions; what a function costs itself first, then by lines, then by callees. There can be
 * millions, so numbers are sorted, the least significant first. */
static int order_costs(struct callgrind *c)
{
	struct sort_pair *v = malloc((c->costs.n + 1) * sizeof *v);
	int rc = v ? 0 : -1;

	for (size_t i = 0; !rc && i < c->costs.n; i++) {
		const struct cost *cost = &c->costs.v[i];

		/* NO_CALLEE becomes 0: small keys are sorted sooner */
		v[i] = (struct sort_pair){pair_key(c->spots.v[cost->spot].line, cost->callee + 1u),
					  (uint32_t)i};
	}
	rc = rc ? rc : sort_pairs(v, c->costs.n);
	for (size_t i = 0; !rc && i < c->costs.n; i++) {
		const struct cost *cost = &c->costs.v[v[i].index];

		v[i].key = (uint64_t)c->spots.v[cost->spot].function << 1 |
			   (cost->callee != NO_CALLEE);
	}
	rc = rc ? rc : sort_pairs(v, c->costs.n);
	for (size_t i = 0; !rc && i < c->costs.n; i++)
		c->order[i] = v[i].index;
	free(v);
	return rc;
}

static const struct profile_function *source_of(const struct callgrind *c, uint32_t function)
{
	const uint32_t line = c->f.v.v[function].line;

	return line == FRAME_NO_LINE ? NULL : &c->p->functions.v[c->p->lines.v[line].function];
}

/* "KEY=(number) name": the name only the first time. */
static void add_function(struct callgrind *c, const char *prefix, uint32_t function)
{
	const struct profile_function *f = source_of(c, function);
	const uint32_t name = c->f.v.v[function].name;
	struct text *t = &c->text;
	const char *module = profile_mapping_short_name(c->p, c->f.v.v[function].mapping);

	text_str(t, prefix);
	text_str(t, "ob=");
	text_clean(t, module, strlen(module));
	text_char(t, '\n');
	text_str(t, *prefix ? "cfi=" : "fl=");
	if (f && f->file)
		text_string(t, c->p, f->file);
	else
		text_str(t, "???");
	text_char(t, '\n');
	text_str(t, prefix);
	text_str(t, "fn=(");
	text_dec(t, function + 1u, 0);
	text_char(t, ')');
	if (!c->is_named[function]) {
		text_char(t, ' ');
		text_add(t, strtab_get(&c->f.frames.names, name),
			 strtab_len(&c->f.frames.names, name));
	}
	c->is_named[function] = true;
	text_char(t, '\n');
}

static void add_line(struct callgrind *c, uint32_t line, const struct amount *amounts)
{
	text_dec(&c->text, line, 0);
	for (size_t i = 0; i < c->n_events; i++) {
		text_char(&c->text, ' ');
		text_dec(&c->text, amounts[i].weight, 0);
	}
	text_char(&c->text, '\n');
}

/* The event with most stacks says how many there are. */
static uint64_t calls_of(const struct callgrind *c, const struct amount *amounts)
{
	uint64_t most = 0;

	for (size_t i = 0; i < c->n_events; i++)
		most = amounts[i].calls > most ? amounts[i].calls : most;
	return most;
}

static int find_lined_files(struct callgrind *c)
{
	for (size_t i = 0; i < c->costs.n; i++) {
		const struct spot *at = &c->spots.v[c->costs.v[i].spot];
		const struct profile_function *f = source_of(c, at->function);

		if (c->costs.v[i].callee == NO_CALLEE && at->line && f && f->file &&
		    hash_put(&c->lined_files, f->file, 1))
			return -1;
	}
	return 0;
}

/* callgrind_annotate shows the source of each file that it can open, and for one in which no line
 * but 0 has a cost of its own it complains about itself. What valgrind has seen to run always has
 * such a line; samples are often in callees only. So one line gets the cost that it has: none. */
static int add_line_of_file(struct callgrind *c, uint32_t function, uint32_t line)
{
	const struct profile_function *f = source_of(c, function);

	line = f && f->start_line ? f->start_line : line;
	if (!f || !f->file || !line || hash_get(&c->lined_files, f->file) != HASH_NONE)
		return 0;
	text_dec(&c->text, line, 0);
	for (size_t i = 0; i < c->n_events; i++)
		text_str(&c->text, " 0");
	text_char(&c->text, '\n');
	return hash_put(&c->lined_files, f->file, 1);
}

static int add_costs(struct callgrind *c, FILE *out)
{
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < c->costs.n; i++) {
		const struct cost *cost = &c->costs.v[c->order[i]];
		const struct spot *at = &c->spots.v[cost->spot];
		const struct amount *amounts = &c->amounts.v[c->order[i] * c->n_events];

		if (at->function != last) {
			text_char(&c->text, '\n');
			add_function(c, "", at->function);
		}
		if (add_line_of_file(c, at->function, at->line))
			return -1;
		last = at->function;
		if (cost->callee != NO_CALLEE) {
			const struct profile_function *f = source_of(c, cost->callee);

			add_function(c, "c", cost->callee);
			text_str(&c->text, "calls=");
			text_dec(&c->text, calls_of(c, amounts), 0);
			text_char(&c->text, ' ');
			text_dec(&c->text, f ? f->start_line : 0, 0);
			text_char(&c->text, '\n');
		}
		add_line(c, at->line, amounts);
		if (c->text.n > FLUSH_BYTES)
			text_flush(&c->text, out);
	}
	return 0;
}

/* Names of events are words. */
static void add_event(struct callgrind *c, uint32_t event)
{
	const char *s = strtab_get(&c->p->strings, c->p->events.v[event].name);

	for (; *s; s++)
		text_char(&c->text,
			  (*s >= '0' && *s <= '9') || ((*s | 32) >= 'a' && (*s | 32) <= 'z') ? *s
											     : '_');
}

static void add_head(struct callgrind *c, const struct event_set *events)
{
	struct text *t = &c->text;

	text_str(t, "# callgrind format\nversion: 1\ncreator: ");
	text_str(t, c->opt->generator ? c->opt->generator : "unspool");
	text_str(t, "\npositions: line\nevents:");
	for (size_t i = 0; i < events->n; i++) {
		text_char(t, ' ');
		add_event(c, events->ids[i]);
	}
	text_str(t, "\nsummary:");
	for (size_t i = 0; i < events->n; i++) {
		text_char(t, ' ');
		text_dec(t, c->totals[i], 0);
	}
	text_char(t, '\n');
}

/* Adds up one event. */
static int take_event(struct callgrind *c, const bool *has, struct err *err)
{
	const enum tree_weigh by = c->opt->count_samples ? TREE_BY_COUNT : TREE_BY_WEIGHT;
	struct tree_sums none = {0};
	int rc = tree_fill(&c->tree, c->p, has, &c->symbols, err);

	if (!rc)
		rc = tree_sums(&c->sums, &c->tree, c->spots.n, by, err);
	if (!rc && collect(c))
		rc = err_nomem(err);
	if (!rc)
		c->totals[c->event] = c->sums.node[0];
	tree_sums_done(&c->sums);
	c->sums = none;
	tree_done(&c->tree);
	c->tree = (struct tree){0};
	return rc;
}

static int write_events(struct callgrind *c, const struct event_set *events, FILE *out,
			struct err *err)
{
	c->order = malloc((c->costs.n + 1) * sizeof *c->order);
	c->is_named = calloc(c->f.v.n + 1, sizeof *c->is_named);
	if (!c->order || !c->is_named || order_costs(c) || find_lined_files(c))
		return err_nomem(err);
	add_head(c, events);
	if (add_costs(c, out))
		return err_nomem(err);
	text_flush(&c->text, out);
	return c->text.failed ? err_nomem(err) : 0;
}

static int write_callgrind(const struct profile *p, const struct output_options *opt,
			   struct event_set *events, FILE *out, struct err *err)
{
	struct callgrind c = {.p = p, .opt = opt, .n_events = events->n};
	struct stack_style style = opt->style;
	int rc;

	style.keep_apart = true;
	rc = function_symbols(&c.f, p, &style, err);
	c.totals = calloc(events->n + 1, sizeof *c.totals);
	if (!rc && (!c.totals || add_symbols(&c)))
		rc = err_nomem(err);
	for (c.event = 0; !rc && c.event < events->n; c.event++) {
		event_set_pick(events, events->ids[c.event]);
		rc = take_event(&c, events->has, err);
	}
	if (!rc)
		rc = write_events(&c, events, out, err);
	function_symbols_done(&c.f);
	vec_done(&c.spots);
	vec_done(&c.costs);
	vec_done(&c.amounts);
	hash_done(&c.spot_of);
	hash_done(&c.cost_of);
	hash_done(&c.lined_files);
	tree_symbols_done(&c.symbols);
	free(c.totals);
	free(c.order);
	free(c.is_named);
	text_done(&c.text);
	return rc;
}

const struct output_format format_callgrind = {
	.name = "callgrind",
	.help = "for KCachegrind and callgrind_annotate",
	.suffixes = ".callgrind",
	.write = write_callgrind,
};
