/* fmt_md.c - one page of Markdown (GitHub's), for people in a hurry and for programs that read
 * text: what was recorded, how far to trust it, what costs most and on which way it is reached,
 * what has no name, and what to type next. At most MD_BYTES, whatever was recorded. */
#include "base/err.h"
#include "base/strtab.h"
#include "output/formats.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/fit.h"
#include "output/function_rows.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"
#include "unwind/unwind.h"

enum { MD_BYTES = 8000, NAME_COLUMNS = 64, TREE_DEPTH = 7, UNNAMED_SHOWN = 5, COMMAND_BYTES = 300 };

struct md {
	const struct profile *p;
	const struct output_options *opt;
	const bool *has;
	struct function_rows rows;
	struct tree_order children;
	unsigned n_rows, n_paths; /* how many are shown */
	unsigned paths;		  /* so far */
	struct text t;
};

__attribute__((format(printf, 2, 3))) static void add(struct md *m, const char *format, ...)
{
	char buf[256];
	va_list args;

	va_start(args, format);
	vsnprintf(buf, sizeof buf, format, args);
	va_end(args);
	text_str(&m->t, buf);
}

/* As code, in which nothing ends the cell or the code. */
static void add_code(struct md *m, const char *s, size_t n, size_t columns)
{
	struct text fit = {0};

	fit_add(&fit, s, n, columns);
	text_char(&m->t, '`');
	for (size_t i = 0; i < fit.n; i++) {
		if (fit.s[i] == '|')
			text_char(&m->t, '\\');
		text_char(&m->t, fit.s[i] == '`' ? '\'' : fit.s[i]);
	}
	text_str(&m->t, fit.n ? "`" : " `");
	m->t.failed |= fit.failed;
	text_done(&fit);
}

static void add_function(struct md *m, uint32_t symbol, size_t columns)
{
	struct text name = {0};

	function_name(&name, &m->rows, symbol);
	add_code(m, name.s, name.n, columns);
	m->t.failed |= name.failed;
	text_done(&name);
}

static void add_module(struct md *m, uint32_t symbol)
{
	struct text name = {0};

	function_module(&name, &m->rows, symbol);
	add_code(m, name.s, name.n, 32);
	m->t.failed |= name.failed;
	text_done(&name);
}

/* Where the function begins or, if that is not known, one of its lines. */
static void add_place(struct md *m, uint32_t symbol)
{
	const uint32_t line = m->rows.f.v.v[symbol].line;
	const struct profile_function *f;
	const char *base;
	uint32_t number;

	if (line == FRAME_NO_LINE)
		return;
	f = &m->p->functions.v[m->p->lines.v[line].function];
	number = f->start_line ? f->start_line : m->p->lines.v[line].line;
	base = base_name(strtab_get(&m->p->strings, f->file));
	if (!*base)
		return;
	text_clean(&m->t, base, strlen(base));
	if (number)
		add(m, ":%" PRIu32, number);
}

/* ---- head ----------------------------------------------------------------------------------- */

/* What was recorded: of a recorder's command line the part after its "--". */
static void add_command(struct text *t, const struct profile *p, const struct output_options *opt)
{
	const struct perf_file_info *info = opt->no_cmdline ? NULL : p->info;
	size_t i, from = 0;

	for (i = 0; info && i + 1 < info->n_cmdline && !from; i++)
		from = strcmp(info->cmdline[i], "--") ? 0 : i + 1;
	for (i = from; info && i < info->n_cmdline && t->n < COMMAND_BYTES; i++) {
		text_str(t, i > from ? " " : "");
		text_clean(t, info->cmdline[i], strlen(info->cmdline[i]));
	}
	if (!t->n && opt->source)
		text_clean(t, opt->source, strlen(opt->source));
}

/* Waiting, and calls, take time, too, which is none of a processor. */
static void add_sum(struct md *m, const struct profile_event *e)
{
	if (e->no_period)
		return;
	if (event_is_clock(e->attr.type, e->attr.config) && !e->is_ns)
		add(m, ", %.3f s of processor time", (double)e->period / 1e9);
	else if (profile_event_is_clock(e))
		add(m, ", %.3f s in all", (double)e->period / 1e9);
	else
		add(m, ", %s %" PRIu64, profile_event_is_bytes(m->p, e) ? "bytes" : "weight",
		    e->period);
}

static void add_head(struct md *m, uint32_t event)
{
	const struct profile *p = m->p;
	const struct profile_event *e = &p->events.v[event];
	const struct perf_file_info *info = p->info;
	struct text command = {0};

	add_command(&command, p, m->opt);
	text_str(&m->t, m->opt->diff.is_diff ? "# What changed\n\n" : "# Profile");
	if (!m->opt->diff.is_diff && command.n) {
		text_str(&m->t, " of ");
		add_code(m, command.s, command.n, 200);
	}
	m->t.failed |= command.failed;
	text_done(&command);
	if (m->opt->diff.is_diff)
		return;
	text_str(&m->t, "\n\n");
	if (!e->is_sum)
		add(m, "%" PRIu64 " samples of ", e->samples);
	text_str(&m->t, "event ");
	add_code(m, strtab_get(&p->strings, e->name), strtab_len(&p->strings, e->name), 60);
	add_sum(m, e);
	if (p->last_ns > p->first_ns)
		add(m, ", taken within %.3f s", (double)(p->last_ns - p->first_ns) / 1e9);
	if (info && info->os_release)
		add(m, "; Linux %.60s", info->os_release);
	if (info && info->cpu_desc)
		add(m, ", %.60s", info->cpu_desc);
	if (m->opt->lost)
		add(m, "; %" PRIu64 " samples were lost while recording", m->opt->lost);
	text_str(&m->t, ".\n");
}

/* ---- trust ---------------------------------------------------------------------------------- */

struct trust {
	double all, user, roots, stitched, guessed, nameless, frameless;
};

static void measure(struct md *m, struct trust *t)
{
	const struct profile *p = m->p;

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		const double w = (double)format_weight(m->opt, s->count, s->period);
		bool guessed = false, nameless = !s->node;

		if (!m->has[s->event])
			continue;
		for (uint32_t at = s->node; at; at = p->nodes.v[at].parent) {
			const struct profile_location *l = &p->locations.v[p->nodes.v[at].location];

			guessed |= frame_how_is_guess(l->how);
			nameless |= !l->n_lines;
		}
		t->all += w;
		t->user += s->stop != UNWIND_STOP_NONE ? w : 0;
		t->roots += s->stop == UNWIND_STOP_END ? w : 0;
		t->stitched += profile_is_stitched(p, s->node) ? w : 0;
		t->guessed += guessed ? w : 0;
		t->nameless += nameless ? w : 0;
		t->frameless += s->node ? 0 : w;
	}
}

static double percent_of(double part, double all)
{
	return all > 0 ? 100 * part / all : 0;
}

static void add_trust(struct md *m)
{
	struct trust t = {0};

	measure(m, &t);
	text_str(&m->t, "\n## How far to trust it\n\n");
	if (t.user > 0)
		add(m, "- %.1f %% of the user stacks reach their root",
		    percent_of(t.roots, t.user));
	else if (m->p->info)
		text_str(&m->t, "- stacks are as the kernel recorded them");
	else
		text_str(&m->t, "- stacks are those of another tool; how complete they are is not "
				"known");
	if (t.stitched > 0)
		add(m, "; %.1f %% have callers from another sample", percent_of(t.stitched, t.all));
	if (t.guessed > 0)
		add(m, "; %.1f %% have a caller found without unwind tables",
		    percent_of(t.guessed, t.all));
	add(m, "\n- %.1f %% of the stacks have names for all of their code",
	    100 - percent_of(t.nameless, t.all));
	if (t.frameless > 0)
		add(m, "; %.1f %% have no frames", percent_of(t.frameless, t.all));
	text_char(&m->t, '\n');
}

/* ---- tables --------------------------------------------------------------------------------- */

static int add_table(struct md *m, enum function_order by, const char *title)
{
	uint32_t *order = function_rows_sorted(&m->rows, by);
	unsigned shown = 0;

	if (!order)
		return -1;
	add(m, "\n## %s\n\n| own | total | function | file | line |\n|--:|--:|---|---|---|\n",
	    title);
	for (size_t i = 0; i < m->rows.f.v.n && shown < m->n_rows; i++) {
		const double own = function_share(&m->rows, 0, order[i], false);
		const double total = function_share(&m->rows, 0, order[i], true);

		if ((by == ROWS_BY_OWN ? own : total) < 0.0005)
			break;
		add(m, "| %.1f %% | %.1f %% | ", 100 * own, 100 * total);
		add_function(m, order[i], NAME_COLUMNS);
		text_str(&m->t, " | ");
		add_module(m, order[i]);
		text_str(&m->t, " | ");
		add_place(m, order[i]);
		text_str(&m->t, " |\n");
		shown++;
	}
	free(order);
	return 0;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static double node_share(const struct md *m, uint32_t node)
{
	const uint64_t *sums = m->rows.sums[0].node;

	return sums[0] ? (double)sums[node] / (double)sums[0] : 0;
}

/* The heaviest child behind `last` (0: of all) with at least `least` of the whole; 0: none. */
static uint32_t next_child(const struct md *m, uint32_t node, uint32_t last, double least)
{
	const struct tree_order *o = &m->children;
	const uint64_t *sums = m->rows.sums[0].node;
	uint32_t best = 0;

	for (uint32_t i = o->first[node]; i < o->first[node + 1]; i++) {
		const uint32_t id = o->ids[i];

		if (last && (sums[id] > sums[last] || (sums[id] == sums[last] && id <= last)))
			continue;
		if (!best || sums[id] > sums[best] || (sums[id] == sums[best] && id < best))
			best = id;
	}
	return best && node_share(m, best) >= least ? best : 0;
}

/* Frames in which nearly nothing happens but the next call are one line. */
static uint32_t end_of_chain(const struct md *m, uint32_t node)
{
	uint32_t next;

	while ((next = next_child(m, node, 0, 0)) &&
	       node_share(m, next) >= 0.97 * node_share(m, node))
		node = next;
	return node;
}

static void add_chain(struct md *m, uint32_t first, uint32_t last)
{
	enum { ENDS = 3 };
	const struct tree_node *nodes = m->rows.tree.nodes.v;
	uint32_t frames[2 * ENDS], n = 1, k = 0;

	for (uint32_t at = last; at != first; at = nodes[at].parent)
		n++;
	for (uint32_t at = last, i = n; i--; at = nodes[at].parent)
		if (i < ENDS - 1 || i + ENDS >= n || n <= 2 * ENDS)
			frames[k++] = at;
	for (uint32_t i = k; i--;) {
		add_function(m, nodes[frames[i]].symbol, NAME_COLUMNS / 2 + 8);
		if (n > 2 * ENDS && i == ENDS)
			add(m, " → (%" PRIu32 " frames)", n - k);
		text_str(&m->t, i ? " → " : "");
	}
}

static void add_paths(struct md *m, uint32_t node, unsigned depth)
{
	const double least = 0.05;
	uint32_t child = 0, last;

	while (m->paths < m->n_paths && (child = next_child(m, node, child, least))) {
		last = end_of_chain(m, child);
		m->paths++;
		for (unsigned i = 0; i < depth; i++)
			text_str(&m->t, "  ");
		add(m, "- %.1f %% ", 100 * node_share(m, child));
		add_chain(m, child, last);
		text_char(&m->t, '\n');
		if (depth < TREE_DEPTH)
			add_paths(m, last, depth + 1);
	}
}

/* ---- what has no name ----------------------------------------------------------------------- */

static const char *cure_of(enum sym_miss miss)
{
	static const char *const cures[SYM_MISS_N] = {
		[SYM_MISS_NO_FILE] = "resolve where it was recorded, or `--symfs DIR`, "
				     "`--debuginfod`",
		[SYM_MISS_BUILD_ID_DIFFERS] = "give the file that ran: `--symfs DIR`",
		[SYM_MISS_OTHER_CODE] = "give the file that ran: `--symfs DIR`",
		[SYM_MISS_NO_SYMBOLS] = "install its debug symbols, or `--debuginfod`",
		[SYM_MISS_NO_SYMBOL_HERE] = "install its debug symbols, or `--debuginfod`",
		[SYM_MISS_NO_KALLSYMS] = "`--kallsyms FILE` of the machine that was recorded",
		[SYM_MISS_OTHER_KERNEL] = "`--kallsyms FILE` of the machine that was recorded",
		[SYM_MISS_KPTR_RESTRICT] = "record as root",
		[SYM_MISS_NO_JIT_MAP] = "let the runtime write perf maps (node "
					"--perf-basic-prof, python -X perf, ..)",
		[SYM_MISS_FOREIGN_JIT_MAP] = "`--force`",
		[SYM_MISS_STALE_JIT_MAP] = "let the runtime write perf maps (node "
					   "--perf-basic-prof, python -X perf, ..)",
	};

	return cures[miss] ? cures[miss] : "`--explain ADDR` says more";
}

static enum sym_miss miss_of(const struct md *m, uint32_t mapping)
{
	const struct profile *p = m->p;
	const uint32_t file = p->mappings.v[mapping].short_name;

	for (size_t i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];

		if (!l->n_lines && p->mappings.v[l->mapping].short_name == file &&
		    l->miss < SYM_MISS_N)
			return l->miss;
	}
	return SYM_MISS_FOUND;
}

static int add_nameless(struct md *m)
{
	uint32_t *order = function_rows_sorted(&m->rows, ROWS_BY_TOTAL);
	unsigned shown = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < m->rows.f.v.n && shown < UNNAMED_SHOWN; i++) {
		const double total = function_share(&m->rows, 0, order[i], true);
		enum sym_miss miss;

		if (m->rows.f.v.v[order[i]].kind != NAME_UNKNOWN || total < 0.01)
			continue;
		text_str(&m->t, shown++ ? "- " : "\n## What has no name\n\n- ");
		add_module(m, order[i]);
		add(m, ": %.1f %%", 100 * total);
		miss = miss_of(m, m->rows.f.v.v[order[i]].mapping);
		if (miss != SYM_MISS_FOUND)
			add(m, "; %s; %s", sym_miss_text(miss), cure_of(miss));
		text_char(&m->t, '\n');
	}
	free(order);
	return 0;
}

static void add_next(struct md *m)
{
	static const char *const rows[][2] = {
		{"resolve -f top --callers=tree", "who calls each function"},
		{"resolve -f lines", "which source lines it is"},
		{"resolve -o profile.html", "all of it, in a browser"},
		{"resolve --stats -o /dev/null", "why stacks end and names are missing"},
	};
	const char *file = m->opt->source ? m->opt->source : "FILE";

	text_str(&m->t, "\n## What to type next\n\n");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!m->p->info && i + 1 == sizeof rows / sizeof *rows)
			break;
		text_str(&m->t, "- `");
		text_str(&m->t, rows[i][0]);
		text_char(&m->t, ' ');
		text_clean(&m->t, file, strlen(file) < 100 ? strlen(file) : 100);
		add(m, "`: %s\n", rows[i][1]);
	}
}

/* ---- a difference --------------------------------------------------------------------------- */

static int add_changes(struct md *m, enum function_order by, const char *title)
{
	uint32_t *order = function_rows_sorted(&m->rows, by);
	const bool is_total = by == ROWS_BY_TOTAL_CHANGE;
	unsigned shown = 0;

	if (!order)
		return -1;
	for (size_t i = 0; i < m->rows.f.v.n && shown < m->n_rows; i++) {
		const double base = function_share(&m->rows, 0, order[i], is_total);
		const double new = function_share(&m->rows, 1, order[i], is_total);

		if (fabs(new - base) < 0.0005 ||
		    function_is_noise(&m->rows, &m->opt->diff, order[i], is_total))
			continue;
		if (!shown++)
			add(m,
			    "\n## %s\n\n| base | new | change | function | file |\n"
			    "|--:|--:|--:|---|---|\n",
			    title);
		add(m, "| %.1f %% | %.1f %% | %+.1f | ", 100 * base, 100 * new, 100 * (new - base));
		add_function(m, order[i], NAME_COLUMNS);
		text_str(&m->t, " | ");
		add_module(m, order[i]);
		text_str(&m->t, " |\n");
	}
	free(order);
	if (!shown)
		add(m, "\n## %s\n\nNone: no share differs by more than chance explains.\n", title);
	return 0;
}

static int add_difference(struct md *m)
{
	double runs[2];

	for (int k = 0; k < 2; k++) {
		const struct diff_side *s = &m->opt->diff.sides[k];

		add(m, "- %s: %u run%s, %" PRIu64 " in all", k ? "new" : "base", s->runs,
		    &"s"[s->runs == 1], m -> rows.sums[k].node[0]);
		if (s->samples)
			add(m, ", %" PRIu64 " samples", s->samples);
		runs[k] = (double)m->rows.sums[k].node[0] / (s->runs ? s->runs : 1);
		text_char(&m->t, '\n');
	}
	if (runs[0] > 0)
		add(m, "- the whole of a run: %+.1f %%\n", 100 * (runs[1] / runs[0] - 1));
	text_str(&m->t, "\nShares are those of each side's whole; changes are in points of it, and "
			"left out where chance explains them.\n");
	if (add_changes(m, ROWS_BY_OWN_CHANGE, "Functions themselves") ||
	    add_changes(m, ROWS_BY_TOTAL_CHANGE, "Functions with what they call"))
		return -1;
	text_str(&m->t, "\nA change of shares is not yet a regression: `regress --base .. --new "
			"..` tests that.\n");
	return 0;
}

/* ---- the page ------------------------------------------------------------------------------- */

static int add_profile(struct md *m)
{
	add_trust(m);
	if (add_table(m, ROWS_BY_OWN, "Functions that cost most themselves") ||
	    add_table(m, ROWS_BY_TOTAL, "Functions with what they call"))
		return -1;
	text_str(&m->t, "\n## Where it goes\n\nFrom the roots; 5 % and more.\n\n");
	m->paths = 0;
	add_paths(m, 0, 0);
	if (add_nameless(m))
		return -1;
	add_next(m);
	return 0;
}

/* With fewer rows until it fits. */
static int make_page(struct md *m, uint32_t event)
{
	unsigned rows = 15;
	int rc;

	do {
		m->n_rows = rows;
		m->n_paths = rows + rows / 2;
		m->t.n = 0;
		add_head(m, event);
		rc = m->opt->diff.is_diff ? add_difference(m) : add_profile(m);
		rows--;
	} while (!rc && m->t.n > MD_BYTES && rows);
	return rc;
}

static int write_md(const struct profile *p, const struct output_options *opt,
		    struct event_set *events, FILE *out, struct err *err)
{
	struct md m = {.p = p, .opt = opt, .has = events->has};
	const uint32_t event = opt->diff.is_diff ? 0 : event_set_main(events, p);
	int rc;

	event_set_pick(events, event);
	rc = function_rows(&m.rows, p, opt, events->has, err);
	if (!rc)
		rc = tree_order_make(&m.children, &m.rows.tree, NULL, m.rows.f.v.n + 1, err);
	if (!rc && (make_page(&m, event) || m.t.failed))
		rc = err_nomem(err);
	if (!rc)
		text_flush(&m.t, out);
	tree_order_done(&m.children);
	function_rows_done(&m.rows);
	text_done(&m.t);
	return rc;
}

const struct output_format format_md = {
	.name = "md",
	.help = "one page of Markdown: what to know of it in 8 kB",
	.suffixes = ".md",
	.honours = OUTPUT_SIDES,
	.one_event = true,
	.write = write_md,
};
