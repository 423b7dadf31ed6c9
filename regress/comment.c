/* comment.c - the comment on a proposed change, as Markdown: what counts in the title and in ten
 * rows at most, the path that changed most as a tree; noise is folded away. It is short, so that
 * people and programs read all of it. */
#include "base/vec.h"
#include "regress/report.h"

#include <math.h>
#include <stdlib.h>

enum { NAME_BYTES = 80 };
/* Of the tree: frames from the root, those up to the function, and on to what it calls. */
enum { TREE_TOP = 2, TREE_END = 9, TREE_BELOW = 3, TREE_NAME = 60 };
enum { TAIL_BYTES = 900 }; /* for the lines behind the tables */

void report_code_span(struct text *t, const char *s, size_t most)
{
	struct text clean = {0};
	size_t i, n;

	text_clean(&clean, s, strlen(s));
	n = clean.n;
	/* No character is cut in two. */
	if (n > most)
		for (n = most; n && ((unsigned char)clean.s[n] & 0xc0) == 0x80; n--)
			;
	text_char(t, '`');
	for (i = 0; i < n; i++)
		if (clean.s[i] == '|')
			text_str(t, "\\|");
		else
			text_char(t, clean.s[i] == '`' ? '\'' : clean.s[i]);
	text_str(t, n < clean.n ? "..`" : "`");
	t->failed |= clean.failed;
	text_done(&clean);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* "lstring.c:31, in `a` < `b`": where the change is. */
static void add_where(struct text *t, const struct regress *g, const struct finding *f)
{
	uint32_t line = 0;
	const char *file = base_name(finding_file(g, f, &line));
	const struct finding_path *p = &f->paths[0];
	char place[NAME_BYTES + 16];
	size_t i;

	if (f->n_lines && f->lines[0].line[SIDE_NEW])
		line = f->lines[0].line[SIDE_NEW];
	if (*file && strlen(file) < NAME_BYTES) {
		snprintf(place, sizeof place, line ? "%s:%u" : "%s", file, line);
		report_code_span(t, place, sizeof place);
		text_str(t, f->n_paths && p->n_above ? " " : "");
	}
	if (f->n_paths && p->n_above)
		text_str(t, "from ");
	for (i = 0; f->n_paths && i < p->n_above; i++) {
		text_str(t, i ? " < " : "");
		report_code_span(t, regress_name(g, p->above[i]), NAME_BYTES / 2);
	}
}

static void add_related(struct text *t, const struct regress *g, const struct finding *f)
{
	static const char *const words[VERDICT_N] = {
		[VERDICT_REGRESSED] = "in part instead of ",
		[VERDICT_NEW] = "in part instead of ",
		[VERDICT_OUTWEIGHED] = "got faster all the same: ",
		[VERDICT_IMPROVED] = "replaced by ",
		[VERDICT_GONE] = "replaced by ",
		[VERDICT_REPLACED] = "instead of ",
	};

	if (f->related == UINT32_MAX || (f->verdict != VERDICT_MOVED && !words[f->verdict]))
		return;
	text_str(t, "; ");
	text_str(t, f->verdict == VERDICT_MOVED ? moved_how_text(f->how) : words[f->verdict]);
	text_str(t, f->verdict == VERDICT_MOVED ? ": " : "");
	report_code_span(t, regress_name(g, f->related), NAME_BYTES / 2);
}

static void add_row(struct text *t, const struct regress *g, const struct finding *f)
{
	char line[160];

	text_str(t, "| ");
	text_str(t, verdict_text(f->verdict));
	text_str(t, " | ");
	report_code_span(t, regress_name(g, f->key), NAME_BYTES);
	if (f->kind == FINDING_INCL)
		text_str(t, " and what it calls");
	snprintf(line, sizeof line, " | %.2f %% | **%s** | %+.2f | ", 100 * f->base_share,
		 show_growth(f).s, 100 * f->impact);
	text_str(t, line);
	if (g->opt.is_absolute) {
		snprintf(line, sizeof line, "%.0f -> %.0f | ", f->base, f->new);
		text_str(t, line);
	}
	add_where(t, g, f);
	add_related(t, g, f);
	if (f->limit > 0) {
		text_str(t, "; ");
		report_growth(t, f);
	}
	if (f->why) {
		text_str(t, "; allowed: ");
		report_code_span(t, f->why, NAME_BYTES);
	}
	text_str(t, " |\n");
}

/* Appends rows as long as there is room; returns how many it did. */
static size_t add_rows(struct text *t, const struct regress *g, const struct finding *const *rows,
		       size_t n, size_t most)
{
	struct text row = {0};
	size_t i;

	if (n)
		text_str(t, g->opt.is_absolute
				    ? "| | function | of base | growth | points of the whole | "
				      "samples a run | where |\n|---|---|--:|--:|--:|--:|---|\n"
				    : "| | function | of base | growth | points of the whole | "
				      "where |\n|---|---|--:|--:|--:|---|\n");
	for (i = 0; i < n; i++) {
		row.n = 0;
		add_row(&row, g, rows[i]);
		if (t->n + row.n > most)
			break;
		text_add(t, row.s, row.n);
	}
	t->failed |= row.failed;
	text_done(&row);
	return i;
}

/* ---- the tree -----------------------------------------------------------------------------------
 */

static double change_at(const struct regress *g, size_t node)
{
	return g->both.v[node].incl[SIDE_NEW] - g->both.v[node].incl[SIDE_BASE];
}

/* The callee with most of a node's change; 0: no callee has half of it. */
static size_t follow(const struct regress *g, size_t node)
{
	double most = change_at(g, node) / 2, sign = most < 0 ? -1 : 1;
	size_t i, best = 0;

	for (i = node + 1; i < g->both.n; i++)
		if (g->both.v[i].parent == node && sign * change_at(g, i) > sign * most) {
			most = change_at(g, i);
			best = i;
		}
	return best;
}

static void add_frame(struct text *t, const struct regress *g, size_t node, size_t depth)
{
	const struct both_node *b = &g->both.v[node];
	const char *name = regress_name(g, b->key);
	struct text clean = {0};
	double whole = g->both.v[0].incl[SIDE_BASE];
	char line[64];
	size_t n, i;

	snprintf(line, sizeof line, "%6.2f -> %6.2f  ",
		 whole > 0 ? 100 * b->incl[SIDE_BASE] / whole : 0,
		 whole > 0 ? 100 * b->incl[SIDE_NEW] / whole : 0);
	text_str(t, line);
	text_pad(t, 0, depth);
	text_clean(&clean, name, strlen(name));
	n = clean.n;
	if (n > TREE_NAME)
		for (n = TREE_NAME; n && ((unsigned char)clean.s[n] & 0xc0) == 0x80; n--)
			;
	for (i = 0; i < n; i++)
		text_char(t, clean.s[i] == '`' ? '\'' : clean.s[i]);
	text_str(t, n < clean.n ? "..\n" : "\n");
	t->failed |= clean.failed;
	text_done(&clean);
}

/* Appends the path of the finding from the root, and on to what most of it is spent in. */
static void add_tree(struct text *t, const struct regress *g, const struct finding *f)
{
	VEC(size_t) way = {0};
	size_t node = f->n_paths ? f->paths[0].node : 0, i, left = 0, below = TREE_BELOW;

	for (i = node; i; i = g->both.v[i].parent)
		/* Of one that calls itself, or is in two parts, the outermost. */
		if (way.n && g->both.v[way.v[way.n - 1]].key == g->both.v[i].key)
			way.v[way.n - 1] = i;
		else if (vec_push(&way, i))
			t->failed = true;
	if (!node || t->failed) {
		vec_done(&way);
		return;
	}
	text_str(t, "\nWhere most of it is, in % of the base's whole:\n```text\n");
	if (way.n > TREE_TOP + TREE_END)
		left = way.n - TREE_TOP - TREE_END;
	for (i = 0; i < way.n; i++) {
		char line[64];

		if (left && i == TREE_TOP) {
			snprintf(line, sizeof line, "%19s.. %zu frames\n", "", left);
			text_str(t, line);
		}
		if (!left || i < TREE_TOP || i >= TREE_TOP + left)
			add_frame(t, g, way.v[way.n - 1 - i], i < TREE_TOP ? i : i - left + !!left);
	}
	for (i = way.n - left + !!left; below-- && (node = follow(g, node)); i++)
		add_frame(t, g, node, i);
	text_str(t, "```\n");
	vec_done(&way);
}

/* ---- the lines around them ----------------------------------------------------------------------
 */

/* Both totals: seconds if the event is a clock, else samples. */
static void add_totals(struct text *t, const struct regress *g)
{
	const struct finding *f = &g->findings.v[0];
	double sum[SIDE_N] = {0};
	char line[256];
	size_t i;

	for (i = 0; i < g->runs.n; i++)
		sum[g->runs.v[i].side] +=
			g->runs.v[i].weight / (double)g->design.runs[g->runs.v[i].side];
	if (!strcmp(g->unit, "nanoseconds"))
		snprintf(line, sizeof line, "%.3g -> %.3g s", sum[SIDE_BASE] / 1e9,
			 sum[SIDE_NEW] / 1e9);
	else
		snprintf(line, sizeof line, "%.0f -> %.0f samples", f->base, f->new);
	text_str(t, f->verdict == VERDICT_EXPLAINED || f->verdict == VERDICT_UNCONFIRMED
			    ? ""
			    : verdict_text(f->verdict));
	text_str(t,
		 f->verdict == VERDICT_EXPLAINED || f->verdict == VERDICT_UNCONFIRMED ? "" : ": ");
	text_str(t, report_whole(g));
	text_str(t, " of a run: ");
	text_str(t, line);
	snprintf(line, sizeof line, ", **%s** [%+.1f, %+.1f]\n\n", show_growth(f).s, 100 * f->lo,
		 100 * f->hi);
	text_str(t, line);
}

/* What was compared and how sure that is, in one line. */
void report_compared(struct text *t, const struct regress *g)
{
	const struct regress_design *d = &g->design;
	char line[320];

	snprintf(line, sizeof line,
		 "\n%zu + %zu runs%s, %.0f samples each, event `%s`; slower: more than "
		 "%+.3g %% of a function, %+.3g %% of the whole; ",
		 d->runs[SIDE_BASE], d->runs[SIDE_NEW],
		 d->together == TOGETHER_YES  ? " in turn on one machine"
		 : d->together == TOGETHER_NO ? " **not in turn on one machine**"
					      : "",
		 (d->samples[0] + d->samples[1]) / 2, d->event, 100 * g->opt.margin,
		 100 * g->opt.total_max);
	text_str(t, line);
	report_power(g, t);
	if (d->false_alarm > 0) {
		snprintf(line, sizeof line, "; without any change red in at most %.2g %% of jobs",
			 100 * d->false_alarm);
		text_str(t, line);
	}
	text_str(t, ".\n");
}

static void add_notes(struct text *t, const struct regress *g)
{
	const char *note;
	size_t i;

	for (i = 0; (note = regress_warning(g, i)) && i < 3; i++) {
		text_str(t, "\nNote: ");
		report_code_span(t, note, 200);
		text_char(t, '\n');
	}
	if (*report_code(g) || *report_inlines(g))
		text_char(t, '\n');
	text_str(t, report_code(g));
	text_str(t, report_inlines(g));
}

/* What is not in the table: noise, the environment, and what there was no room for. */
static void add_folded(struct text *t, const struct regress *g, const struct finding *const *rows,
		       size_t n, size_t most)
{
	char line[160];
	size_t did;

	if (!n)
		return;
	snprintf(line, sizeof line,
		 "\n<details><summary>%zu more: uncertain, by the environment, ignored, "
		 "or smaller</summary>\n\n",
		 n);
	text_str(t, line);
	did = add_rows(t, g, rows, n, most);
	if (did < n) {
		snprintf(line, sizeof line, "\n%zu more are in the JSON report and on the page.\n",
			 n - did);
		text_str(t, line);
	}
	text_str(t, "\n</details>\n");
}

void report_section(struct text *t, const struct regress *g, const char *heading, size_t most)
{
	size_t shown, n, did, end = t->n + most;
	const struct finding **rows = findings_rank(g, ROWS, &shown, &n);

	if (!rows) {
		t->failed = true;
		return;
	}
	text_str(t, heading);
	report_title(g, rows, shown, n, t);
	text_str(t, "\n\n");
	add_totals(t, g);
	did = add_rows(t, g, rows, shown, end);
	if (did < n) {
		char line[96];

		snprintf(line, sizeof line, "\n%zu more are in the JSON report and on the page.\n",
			 n - did);
		text_str(t, line);
	}
	text_char(t, '\n');
	free(rows);
}

void report_only_title(struct text *t, const struct regress *g)
{
	size_t shown, n;
	const struct finding **rows = findings_rank(g, ROWS, &shown, &n);

	if (rows)
		report_title(g, rows, shown, n, t);
	t->failed |= !rows;
	free(rows);
}

void regress_write_markdown(const struct regress *g, FILE *out)
{
	size_t most = g->opt.is_long ? LONG_MAX_BYTES : COMMENT_MAX, shown, n, did;
	const struct finding **rows =
		findings_rank(g, g->opt.is_long ? SIZE_MAX : ROWS, &shown, &n);
	struct text t = {0}, tree = {0}, tail = {0};

	if (!rows) {
		t.failed = true;
		report_flush(&t, out);
		return;
	}
	text_str(&t, "### ");
	report_title(g, rows, shown, n, &t);
	text_str(&t, "\n\n");
	add_totals(&t, g);
	if (shown && rows[0]->verdict != VERDICT_GONE)
		add_tree(&tree, g, rows[0]);
	add_notes(&tail, g);
	report_compared(&tail, g);
	did = add_rows(&t, g, rows, shown, most - TAIL_BYTES / 2 - tail.n);
	if (t.n + tree.n + tail.n + TAIL_BYTES / 2 < most)
		text_add(&t, tree.s, tree.n);
	add_folded(&t, g, rows + did, n - did, most - tail.n - TAIL_BYTES / 3);
	text_add(&t, tail.s, tail.n);
	t.failed |= tree.failed || tail.failed;
	text_done(&tree);
	text_done(&tail);
	free(rows);
	report_flush(&t, out);
}
