/* fmt_lines.c - what each source line costs, itself and with what it calls:
 *
 *	# Children      Self  Line        Source
 *	    61.53%    12.10%  w.c:7       for (i = 0; i < n; i++)
 *
 * The lines of inlined functions are lines of their own files; the line that such a function was
 * inlined at has it as a callee. Code without lines is one row for each file: "[libc.so.6]". */
#include "base/err.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"

#include <stdlib.h>

#include "base/pair.h"
#include "base/source_text.h"
#include "base/fit.h"
#include "output/top.h"

enum { SOURCE_SHOWN = 160, NO_FILE = UINT32_MAX };

struct place {
	uint32_t file, line; /* string id; NO_FILE: the name of mapping `line` */
};

struct lines {
	const struct profile *p;
	const struct output_options *opt;
	VEC(struct place) places;
	struct hash_table place_of; /* (file, line) -> place */
	struct tree_symbols symbols;
	struct tree tree;
	struct tree_sums sums;
	uint32_t *order;
	size_t n_shown;
	struct strtab bases;   /* base names of files ... */
	VEC(uint32_t) file_of; /* ... by id: the file; NO_FILE: several, or none */
	struct source_text source;
	struct text text;
};

static int add_place(struct lines *l, uint32_t file, uint32_t line)
{
	uint32_t id = pair_intern(&l->place_of, file, line);

	if (id == HASH_NONE ||
	    (id == l->places.n && vec_push(&l->places, ((struct place){file, line}))))
		return -1;
	return vec_push(&l->symbols.ids, id);
}

static int add_location(struct lines *l, const struct profile_location *loc)
{
	const struct profile *p = l->p;
	size_t n, i;
	const struct profile_line *lines = profile_lines(p, loc, l->opt->style.no_inline, &n);

	if (vec_push(&l->symbols.first, (uint32_t)l->symbols.ids.n))
		return -1;
	for (i = n; i--;) {
		uint32_t file = p->functions.v[lines[i].function].file;

		if (file && lines[i].line ? add_place(l, file, lines[i].line)
					  : add_place(l, NO_FILE, loc->mapping))
			return -1;
	}
	return n ? 0 : add_place(l, NO_FILE, loc->mapping);
}

/* Remembers which files have a base name that another one has, too. */
static int learn_file(struct lines *l, uint32_t file)
{
	uint32_t id;

	if (file == NO_FILE)
		return 0;
	id = strtab_add_cstr(&l->bases, base_name(strtab_get(&l->p->strings, file)));
	if (id == STRTAB_FAILED)
		return -1;
	if (id >= l->file_of.n) {
		while (l->file_of.n < id)
			if (vec_push(&l->file_of, NO_FILE))
				return -1;
		return vec_push(&l->file_of, file);
	}
	if (l->file_of.v[id] != file)
		l->file_of.v[id] = NO_FILE;
	return 0;
}

static bool is_shared(const struct lines *l, const char *base)
{
	uint32_t id = strtab_find(&l->bases, base, strlen(base));

	return id == STRTAB_FAILED || id >= l->file_of.n || l->file_of.v[id] == NO_FILE;
}

static int add_symbols(struct lines *l)
{
	for (size_t i = 0; i < l->p->locations.n; i++)
		if (add_location(l, &l->p->locations.v[i]))
			return -1;
	if (vec_push(&l->symbols.first, (uint32_t)l->symbols.ids.n))
		return -1;
	for (size_t i = 0; i < l->p->samples.n; i++)
		if (vec_push(&l->symbols.roots, TREE_NO_ROOT))
			return -1;
	for (size_t i = 0; i < l->places.n; i++)
		if (learn_file(l, l->places.v[i].file))
			return -1;
	return 0;
}

/* ---- order ---------------------------------------------------------------------------------- */

static bool by_own(const struct lines *l)
{
	return l->opt->top.no_children || l->opt->top.own_first;
}

static const char *name_of(const struct lines *l, const struct place *at)
{
	const struct profile *p = l->p;

	return at->file == NO_FILE ? profile_mapping_short_name(p, at->line)
				   : strtab_get(&p->strings, at->file);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_places(const void *pa, const void *pb, void *arg)
{
	const struct lines *l = arg;
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int own = compare_u64(l->sums.own[a], l->sums.own[b]);
	int total = compare_u64(l->sums.total[a], l->sums.total[b]);
	int rc = by_own(l) ? (own ? own : total) : (total ? total : own);
	const struct place *x = &l->places.v[a], *y = &l->places.v[b];

	rc = rc ? rc : (x->file == NO_FILE) - (y->file == NO_FILE);
	rc = rc ? rc : strcmp(name_of(l, x), name_of(l, y));
	return rc ? rc : (x->line > y->line) - (x->line < y->line);
}

/* Sorts, and decides how many rows there will be. */
static int choose_rows(struct lines *l)
{
	const struct top_options *o = &l->opt->top;
	size_t i, n = l->places.n, lines = o->lines > 7 ? o->lines - 7 : 3;
	double all = (double)l->sums.node[0];

	l->order = malloc((n + 1) * sizeof *l->order);
	if (!l->order)
		return -1;
	for (i = 0; i < n; i++)
		l->order[i] = (uint32_t)i;
	qsort_r(l->order, n, sizeof *l->order, compare_places, l);
	for (i = 0; i < n; i++) {
		uint64_t w = by_own(l) ? l->sums.own[l->order[i]] : l->sums.total[l->order[i]];

		if ((o->rows && i >= o->rows) || (!o->rows && o->lines && i >= lines) || !w ||
		    100 * (double)w < o->limit * all)
			break;
	}
	l->n_shown = i;
	return 0;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* The base name, or the path if another file is called the same. */
static void add_name(struct lines *l, struct text *t, const struct place *at)
{
	const char *name = name_of(l, at), *base = base_name(name);

	if (at->file == NO_FILE) {
		text_char(t, '[');
		text_clean(t, name, strlen(name));
		text_char(t, ']');
		return;
	}
	if (l->opt->full_paths || is_shared(l, base))
		base = name;
	text_clean(t, base, strlen(base));
	text_char(t, ':');
	text_dec(t, at->line, 0);
}

static void add_percent(struct text *t, uint64_t part, uint64_t whole)
{
	char buf[24];

	text_add(t, buf,
		 (size_t)snprintf(buf, sizeof buf, "  %6.2f%%",
				  whole ? 100.0 * (double)part / (double)whole : 0));
	text_char(t, ' ');
}

static void add_source(struct lines *l, const struct place *at, size_t columns)
{
	const char *s;
	struct text clean = {0};
	size_t n;

	if (at->file == NO_FILE)
		return;
	s = source_line(&l->source, strtab_get(&l->p->strings, at->file), at->line, &n);
	l->text.failed |= l->source.failed;
	if (!s)
		return;
	text_clean(&clean, s, n < SOURCE_SHOWN ? n : SOURCE_SHOWN);
	text_str(&l->text, "  ");
	if (columns && fit_width(clean.s, clean.n) > columns)
		fit_add(&l->text, clean.s, clean.n, columns);
	else
		text_add(&l->text, clean.s, clean.n);
	l->text.failed |= clean.failed;
	text_done(&clean);
}

static size_t width_of_names(struct lines *l)
{
	struct text t = {0};
	size_t i, width = strlen("Line");

	for (i = 0; i < l->n_shown; i++) {
		size_t w;

		t.n = 0;
		add_name(l, &t, &l->places.v[l->order[i]]);
		w = fit_width(t.s, t.n);
		width = w > width ? w : width;
	}
	l->text.failed |= t.failed;
	text_done(&t);
	return width;
}

static void add_row(struct lines *l, uint32_t id, size_t width)
{
	const unsigned columns = l->opt->top.width;
	const size_t shares = l->opt->top.no_children ? 10 : 20;
	struct text name = {0};
	size_t used, most = columns > shares + 22 ? columns - shares - 2 : SIZE_MAX;

	if (!l->opt->top.no_children)
		add_percent(&l->text, l->sums.total[id], l->sums.node[0]);
	add_percent(&l->text, l->sums.own[id], l->sums.node[0]);
	text_char(&l->text, ' ');
	add_name(l, &name, &l->places.v[id]);
	used = fit_width(name.s, name.n);
	fit_add(&l->text, name.s, name.n, most);
	used = shares + 1 + (used > width ? used : width);
	if (!columns || used + 12 < columns) {
		size_t before = l->text.n;

		text_pad(&l->text, fit_width(name.s, name.n), width);
		add_source(l, &l->places.v[id], columns ? columns - used - 2 : 0);
		while (l->text.n > before && l->text.s[l->text.n - 1] == ' ')
			l->text.n--;
	}
	l->text.failed |= name.failed;
	text_done(&name);
	text_char(&l->text, '\n');
}

static void add_event(struct lines *l, uint32_t event, FILE *out)
{
	size_t i, width = width_of_names(l);

	top_event_head(&l->text, l->p, event);
	text_str(&l->text,
		 l->opt->top.no_children ? "#\n# Overhead  Line" : "#\n# Children      Self  Line");
	text_pad(&l->text, strlen("Line"), width);
	text_str(&l->text, "  Source\n#\n");
	for (i = 0; i < l->n_shown; i++) {
		add_row(l, l->order[i], width);
		if (l->text.n > FLUSH_BYTES)
			text_flush(&l->text, out);
	}
	if (l->n_shown < l->places.n) {
		text_str(&l->text, "# and ");
		text_dec(&l->text, l->places.n - l->n_shown, 0);
		text_str(&l->text, " more lines\n");
	}
	text_flush(&l->text, out);
}

static int write_event(struct lines *l, uint32_t event, const bool *has, FILE *out, struct err *err)
{
	int rc = tree_fill(&l->tree, l->p, has, &l->symbols, err);

	if (!rc)
		rc = tree_sums(&l->sums, &l->tree, l->places.n,
			       l->opt->count_samples ? TREE_BY_COUNT : TREE_BY_WEIGHT, err);
	if (!rc && choose_rows(l))
		rc = err_nomem(err);
	if (!rc)
		add_event(l, event, out);
	free(l->order);
	l->order = NULL;
	tree_sums_done(&l->sums);
	tree_done(&l->tree);
	l->tree = (struct tree){0};
	return rc;
}

static int write_lines(const struct profile *p, const struct output_options *opt,
		       struct event_set *events, FILE *out, struct err *err)
{
	struct lines l = {
		.p = p, .opt = opt, .source = {.root = opt->source_root, .dir = opt->source_dir}};
	int rc = add_symbols(&l) ? err_nomem(err) : 0;

	for (size_t i = 0; !rc && i < events->n; i++) {
		if (i)
			text_char(&l.text, '\n');
		event_set_pick(events, events->ids[i]);
		rc = write_event(&l, events->ids[i], events->has, out, err);
	}
	if (!rc && l.text.failed)
		rc = err_nomem(err);
	vec_done(&l.places);
	hash_done(&l.place_of);
	strtab_done(&l.bases);
	vec_done(&l.file_of);
	tree_symbols_done(&l.symbols);
	source_text_done(&l.source);
	text_done(&l.text);
	return rc;
}

const struct output_format format_lines = {
	.name = "lines",
	.help = "table of source lines, with and without callees, with their text",
	.suffixes = ".lines",
	.honours = OUTPUT_ROWS | OUTPUT_SOURCE | OUTPUT_PATHS,
	.write = write_lines,
};
