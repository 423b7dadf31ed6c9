/* fmt_folded.c - one line per stack: "comm;main;f 42", for flame graph tools.
 *
 * Lines are sorted bytewise, as the collapse tools do. That is not the order of the frames' names:
 * "a b" comes before "a;c", since ' ' < ';', but after "a". So every node has two places among its
 * siblings: one where its own line stands, sorted by the bare name, and one where the lines of its
 * callees stand, sorted by the name with a ';'. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"

/* A place in the output, of node e / 2: that of its own line if e is even, of its subtree if e is
 * odd. */
struct folded {
	const struct named_stacks *stacks;
	const struct tree *tree; /* of the stacks, or reversed */
	const struct output_options *opt;
	uint32_t *rank;	 /* by symbol * 2 + (subtree ? 1 : 0) */
	uint32_t *first; /* by node, and one more: where in places its children begin */
	uint32_t *places;
	size_t *end;	    /* by node: length of its text */
	VEC(uint32_t) todo; /* places */
	struct text line, out;
};

static int compare_spelling(const void *pa, const void *pb, void *arg)
{
	const struct strtab *names = &((const struct folded *)arg)->stacks->names;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	const char *sa = strtab_get(names, a / 2), *sb = strtab_get(names, b / 2);
	size_t na = strtab_len(names, a / 2), nb = strtab_len(names, b / 2);
	size_t n = na < nb ? na : nb;
	int ca = n < na ? (unsigned char)sa[n] : a & 1 ? ';' : -1;
	int cb = n < nb ? (unsigned char)sb[n] : b & 1 ? ';' : -1;
	int rc = memcmp(sa, sb, n);

	return rc ? rc : ca - cb;
}

static int rank_names(struct folded *f, struct err *err)
{
	size_t i, n = strtab_count(&f->stacks->names) * 2;
	uint32_t *sorted = malloc(n * sizeof *sorted);

	f->rank = malloc(n * sizeof *f->rank);
	if (!sorted || !f->rank) {
		free(sorted);
		return err_nomem(err);
	}
	for (i = 0; i < n; i++)
		sorted[i] = (uint32_t)i;
	qsort_r(sorted, n, sizeof *sorted, compare_spelling, f);
	for (i = 0; i < n; i++)
		f->rank[sorted[i]] = (uint32_t)i;
	free(sorted);
	return 0;
}

static int place_nodes(struct folded *f, struct err *err)
{
	const struct tree *t = f->tree;
	size_t i, n = t->nodes.n, n_places = 0;
	uint32_t *key = calloc(n * 2, sizeof *key);
	int rc = -ERR_NOMEM;

	f->first = calloc(n + 1, sizeof *f->first);
	f->places = malloc(n * 2 * sizeof *f->places);
	if (!key || !f->first || !f->places) {
		err_nomem(err);
		goto out;
	}
	/* key says first whether a node has children ... */
	for (i = 1; i < n; i++)
		key[t->nodes.v[i].parent * 2 + 1] = 1;
	for (i = 1; i < n; i++) {
		const struct tree_node *node = &t->nodes.v[i];

		if (node->count || node->period)
			f->places[n_places++] = (uint32_t)i * 2;
		if (key[i * 2 + 1])
			f->places[n_places++] = (uint32_t)i * 2 + 1;
	}
	/* ... then it holds what to sort by: the rank of the name, then the parent. */
	for (i = 2; i < n * 2; i++)
		key[i] = f->rank[t->nodes.v[i / 2].symbol * 2 + (i & 1)];
	if (order_by_key(f->places, n_places, key, strtab_count(&f->stacks->names) * 2, err))
		goto out;
	for (i = 2; i < n * 2; i++)
		key[i] = t->nodes.v[i / 2].parent;
	for (i = 0; i < n_places; i++)
		f->first[key[f->places[i]] + 1]++;
	for (i = 1; i <= n; i++)
		f->first[i] += f->first[i - 1];
	rc = order_by_key(f->places, n_places, key, n, err);
out:
	free(key);
	return rc;
}

static void add_name(struct folded *f, uint32_t node)
{
	const struct tree_node *n = &f->tree->nodes.v[node];
	const struct strtab *names = &f->stacks->names;

	f->line.n = f->end[n->parent];
	if (n->parent)
		text_char(&f->line, ';');
	text_add(&f->line, strtab_get(names, n->symbol), strtab_len(names, n->symbol));
}

static void add_line(struct folded *f, uint32_t node)
{
	const struct tree_node *n = &f->tree->nodes.v[node];

	text_add(&f->out, f->line.s, f->line.n);
	text_char(&f->out, ' ');
	if (f->opt->diff.is_diff) {
		text_dec(&f->out, n->count, 0);
		text_char(&f->out, ' ');
		text_dec(&f->out, n->period, 0);
	} else {
		text_dec(&f->out, format_weight(f->opt, n->count, n->period), 0);
	}
	text_char(&f->out, '\n');
}

static int push_children(struct folded *f, uint32_t node)
{
	uint32_t i;

	/* Pushed in reverse, so that the first is popped first. */
	for (i = f->first[node + 1]; i > f->first[node]; i--)
		if (vec_push(&f->todo, f->places[i - 1]))
			return -1;
	return 0;
}

static int write_lines(struct folded *f, FILE *out)
{
	f->end[0] = 0;
	if (push_children(f, 0))
		return -1;
	while (f->todo.n) {
		uint32_t place = f->todo.v[--f->todo.n], node = place / 2;

		add_name(f, node);
		if (place & 1) {
			f->end[node] = f->line.n;
			if (push_children(f, node))
				return -1;
			continue;
		}
		add_line(f, node);
		if (f->out.n > FLUSH_BYTES)
			text_flush(&f->out, out);
	}
	text_flush(&f->out, out);
	return f->line.failed || f->out.failed ? -1 : 0;
}

static int write_folded(const struct profile *p, const struct output_options *opt,
			struct event_set *events, FILE *out, struct err *err)
{
	struct named_stacks stacks = {0};
	struct tree reversed = {0};
	bool is_reverse = opt->picture.reverse;
	struct folded f = {
		.stacks = &stacks, .tree = is_reverse ? &reversed : &stacks.tree, .opt = opt};
	struct stack_style style = opt->style;
	int rc;

	if (p->has_marks)
		style.mark_kernel = style.mark_jit = style.mark_inline = style.mark_stitched = true;
	rc = named_stacks(&stacks, p, events, &style, err);
	if (!rc && is_reverse)
		rc = tree_reverse(&reversed, &stacks.tree, err);
	if (!rc)
		rc = rank_names(&f, err);
	if (!rc)
		rc = place_nodes(&f, err);
	if (!rc) {
		f.end = malloc(f.tree->nodes.n * sizeof *f.end);
		if (!f.end || write_lines(&f, out))
			rc = err_nomem(err);
	}
	free(f.rank);
	free(f.first);
	free(f.places);
	free(f.end);
	vec_done(&f.todo);
	text_done(&f.line);
	text_done(&f.out);
	tree_done(&reversed);
	named_done(&stacks);
	return rc;
}

const struct output_format format_folded = {
	.name = "folded",
	.help = "one line per stack for flame graph tools",
	.suffixes = ".folded .collapsed",
	.honours = OUTPUT_NAMED_STACKS | OUTPUT_SIDES,
	.write = write_folded,
};
