/* fmt_top.c - the functions, by time spent in them and in what they call, as perf report --stdio
 * lays it out:
 *
 *	# Children      Self  Command  Shared Object  Symbol
 */
#include "output/format.h"

#include "base/pair.h"
#include "base/sum.h"
#include "profile/profile.h"

/* A function of a dso; the symbols of the tree below the command names. */
struct kind {
	uint32_t dso, symbol; /* ids in names */
};

struct row {
	uint32_t comm; /* id in names */
	struct kind kind;
	uint64_t children, self; /* with and without callees */
};

struct top {
	const struct profile *p;
	const struct output_options *opt;
	struct strtab names;
	VEC(struct kind) kinds;
	struct hash_table kind_of; /* (dso, symbol) -> kind */
	VEC(struct row) rows;
	struct hash_table row_of; /* (comm, kind) -> row */
	struct tree_symbols symbols;
	struct tree tree;
	struct text text;
};

/* The text collected since the last call as a name. */
static uint32_t take_name(struct top *t)
{
	uint32_t id = t->text.failed ? STRTAB_FAILED
				     : strtab_add(&t->names, t->text.n ? t->text.s : "", t->text.n);

	t->text.n = 0;
	return id;
}

static int add_kind(struct top *t, const struct profile_location *l, uint32_t name)
{
	const struct profile_mapping *m = &t->p->mappings.v[l->mapping];
	bool brackets = *strtab_get(&t->p->strings, m->name) == '[';
	struct kind k;
	uint32_t id;

	text_string(&t->text, t->p, brackets ? m->name : m->short_name);
	k.dso = take_name(t);
	text_str(&t->text, l->is_kernel ? "[k] " : "[.] ");
	if (name)
		text_string(&t->text, t->p, name);
	else
		text_str(&t->text, "[unknown]");
	if (l->how == FRAME_STITCHED && t->opt->style.mark_stitched)
		text_str(&t->text, FOLD_STITCHED);
	k.symbol = take_name(t);
	if (k.dso == STRTAB_FAILED || k.symbol == STRTAB_FAILED)
		return -1;
	id = pair_intern(&t->kind_of, k.dso, k.symbol);
	if (id == HASH_NONE || (id == t->kinds.n && vec_push(&t->kinds, k)))
		return -1;
	return vec_push(&t->symbols.ids, id);
}

static int add_location(struct top *t, const struct profile_location *l)
{
	size_t i, n;
	const struct profile_line *lines = profile_lines(t->p, l, t->opt->style.no_inline, &n);

	if (vec_push(&t->symbols.first, (uint32_t)t->symbols.ids.n) ||
	    add_kind(t, l, profile_symbol(t->p, l)))
		return -1;
	for (i = n; i-- > 1;)
		if (add_kind(t, l, t->p->functions.v[lines[i - 1].function].name))
			return -1;
	return 0;
}

static int add_symbols(struct top *t)
{
	const struct profile *p = t->p;
	size_t i;

	for (i = 0; i < p->locations.n; i++)
		if (add_location(t, &p->locations.v[i]))
			return -1;
	if (vec_push(&t->symbols.first, (uint32_t)t->symbols.ids.n))
		return -1;
	for (i = 0; i < p->samples.n; i++) {
		text_string(&t->text, p, p->samples.v[i].comm);
		if (vec_push(&t->symbols.roots, take_name(t)) ||
		    t->symbols.roots.v[i] == STRTAB_FAILED)
			return -1;
	}
	return 0;
}

/* ---- sums ----------------------------------------------------------------------------------- */

static struct row *find_row(struct top *t, uint32_t comm, uint32_t kind)
{
	uint32_t id = pair_intern(&t->row_of, comm, kind);
	struct row new = {.comm = comm, .kind = t->kinds.v[kind]};

	if (id == HASH_NONE || (id == t->rows.n && vec_push(&t->rows, new)))
		return NULL;
	return &t->rows.v[id];
}

/* Walks the tree depth first. A function that is on the path already counts once: all of what it
 * called is in its outermost frame's sum. totals: by node, with callees. */
static int sum_rows(struct top *t, const uint64_t *totals, const struct tree_order *order,
		    uint32_t *on_path)
{
	VEC(uint32_t) todo = {0}; /* nodes to enter; ~node: to leave */
	uint32_t i, comm = 0;
	int rc = vec_push(&todo, 0);

	while (!rc && todo.n) {
		uint32_t id = todo.v[--todo.n];
		bool leave = id >> 31;
		const struct tree_node *n = &t->tree.nodes.v[leave ? ~id : id];

		if (leave) {
			on_path[n->symbol]--;
			continue;
		}
		if (id && !n->parent) {
			comm = n->symbol;
		} else if (id) {
			struct row *r = find_row(t, comm, n->symbol);

			if (!r) {
				rc = -1;
				break;
			}
			r->self =
				add_saturated(r->self, format_weight(t->opt, n->count, n->period));
			if (!on_path[n->symbol]++)
				r->children = add_saturated(r->children, totals[id]);
			rc = vec_push(&todo, ~id);
		}
		for (i = order->first[id]; !rc && i < order->first[id + 1]; i++)
			rc = vec_push(&todo, order->ids[i]);
	}
	vec_done(&todo);
	return rc;
}

/* Fills the rows; *total is the sum over all samples. */
static int sum_all(struct top *t, uint64_t *total)
{
	size_t i, n = t->tree.nodes.n;
	size_t n_symbols =
		t->kinds.n > strtab_count(&t->names) ? t->kinds.n : strtab_count(&t->names);
	uint64_t *totals = calloc(n, sizeof *totals);
	uint32_t *on_path = calloc(t->kinds.n + 1, sizeof *on_path);
	struct tree_order order = {0};
	int rc = -1;

	if (totals && on_path && !tree_order_make(&order, &t->tree, NULL, n_symbols, NULL)) {
		for (i = n; i--;) {
			const struct tree_node *node = &t->tree.nodes.v[i];

			totals[i] = add_saturated(totals[i],
						  format_weight(t->opt, node->count, node->period));
			if (i)
				totals[node->parent] =
					add_saturated(totals[node->parent], totals[i]);
		}
		*total = totals[0];
		rc = sum_rows(t, totals, &order, on_path);
	}
	tree_order_done(&order);
	free(totals);
	free(on_path);
	return rc;
}

/* ---- the table ------------------------------------------------------------------------------ */

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct strtab *names = arg;
	const struct row *a = pa, *b = pb;
	int rc = (a->children < b->children) - (a->children > b->children);

	if (!rc)
		rc = (a->self < b->self) - (a->self > b->self);
	if (!rc)
		rc = strcmp(strtab_get(names, a->comm), strtab_get(names, b->comm));
	if (!rc)
		rc = strcmp(strtab_get(names, a->kind.dso), strtab_get(names, b->kind.dso));
	return rc ? rc
		  : strcmp(strtab_get(names, a->kind.symbol), strtab_get(names, b->kind.symbol));
}

static void add_percent(struct text *out, uint64_t part, uint64_t total)
{
	char buf[32];
	double percent = total ? 100.0 * (double)part / (double)total : 0;

	text_add(out, buf, (size_t)snprintf(buf, sizeof buf, "%9.2f%%", percent));
}

static void add_cell(struct text *out, const struct strtab *names, uint32_t id, size_t width)
{
	text_str(out, "  ");
	text_add(out, strtab_get(names, id), strtab_len(names, id));
	text_pad(out, strtab_len(names, id), width);
}

static void add_stitched(struct text *out, double share)
{
	char buf[96];

	if (share > 0)
		text_add(out, buf,
			 (size_t)snprintf(buf, sizeof buf,
					  "\n# Stitched: %.2f%% have callers of another sample",
					  100 * share));
}

static void add_head(struct text *out, const struct profile_event *e, const struct profile *p,
		     double stitched, const size_t *width)
{
	static const char *const titles[] = {"Command", "Shared Object"};
	size_t i, k;

	text_str(out, "# Samples: ");
	text_dec(out, e->samples, 0);
	text_str(out, " of event '");
	text_string(out, p, e->name);
	text_str(out, "'\n# Event count (approx.): ");
	text_dec(out, e->period, 0);
	add_stitched(out, stitched);
	text_str(out, "\n#\n# Children      Self");
	for (i = 0; i < 2; i++) {
		text_str(out, "  ");
		text_str(out, titles[i]);
		text_pad(out, strlen(titles[i]), width[i]);
	}
	text_str(out, "  Symbol\n# ........  ........");
	for (i = 0; i < 2; i++) {
		text_str(out, "  ");
		for (k = 0; k < width[i]; k++)
			text_char(out, '.');
	}
	text_str(out, "  ......\n#\n");
}

static void write_table(struct top *t, uint32_t event, const bool *has_event, uint64_t total,
			FILE *out)
{
	size_t i, k, width[2] = {strlen("Command"), strlen("Shared Object")};

	qsort_r(t->rows.v, t->rows.n, sizeof *t->rows.v, compare_rows, &t->names);
	for (i = 0; i < t->rows.n; i++) {
		uint32_t cells[2] = {t->rows.v[i].comm, t->rows.v[i].kind.dso};

		for (k = 0; k < 2; k++)
			if (strtab_len(&t->names, cells[k]) > width[k])
				width[k] = strtab_len(&t->names, cells[k]);
	}
	add_head(&t->text, &t->p->events.v[event], t->p,
		 format_stitched_share(t->p, t->opt, has_event), width);
	for (i = 0; i < t->rows.n; i++) {
		const struct row *r = &t->rows.v[i];

		add_percent(&t->text, r->children, total);
		add_percent(&t->text, r->self, total);
		add_cell(&t->text, &t->names, r->comm, width[0]);
		add_cell(&t->text, &t->names, r->kind.dso, width[1]);
		add_cell(&t->text, &t->names, r->kind.symbol, 0);
		text_char(&t->text, '\n');
		if (t->text.n > FLUSH_BYTES)
			text_flush(&t->text, out);
	}
	text_flush(&t->text, out);
}

/* The table of the one event that has_event[] is true for. */
static int write_event(struct top *t, uint32_t event, const bool *has_event, FILE *out,
		       struct err *err)
{
	uint64_t total = 0;
	int rc = tree_fill(&t->tree, t->p, has_event, &t->symbols, err);

	if (!rc && sum_all(t, &total))
		rc = err_nomem(err);
	if (!rc) {
		write_table(t, event, has_event, total, out);
		rc = t->text.failed ? err_nomem(err) : 0;
	}
	vec_done(&t->rows);
	hash_done(&t->row_of);
	tree_done(&t->tree);
	t->tree = (struct tree){0};
	return rc;
}

static int write_top(const struct profile *p, const struct output_options *opt,
		      struct event_set *events, FILE *out, struct err *err)
{
	struct top t = {.p = p, .opt = opt};
	size_t i;
	int rc = add_symbols(&t) ? err_nomem(err) : 0;

	for (i = 0; !rc && i < events->n; i++) {
		if (i)
			text_char(&t.text, '\n');
		event_set_pick(events, events->ids[i]);
		rc = write_event(&t, events->ids[i], events->has, out, err);
	}
	strtab_done(&t.names);
	vec_done(&t.kinds);
	hash_done(&t.kind_of);
	tree_symbols_done(&t.symbols);
	text_done(&t.text);
	return rc;
}

const struct output_format format_top = {
	.name = "top",
	.help = "table of functions, with and without callees, as perf report",
	.suffixes = ".top",
	.write = write_top,
};
