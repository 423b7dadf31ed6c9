/* browse.c - the keys. */
#include "browse/browse.h"

#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "browse/filters.h"
#include "browse/page.h"

enum answer { FAILED = -1, GO_ON, LEAVE };

static struct row *current(struct screen *s)
{
	return s->cursor < s->rows.v.n ? &s->rows.v.v[s->cursor] : NULL;
}

static bool is_function(const struct screen *s, const struct row *row)
{
	return row && row->kind != ROW_HEADING && row->symbol < s->model->f.v.n;
}

static int no_function(struct screen *s)
{
	snprintf(s->note, sizeof s->note, "this row is no function: move to one first");
	return 0;
}

/* A sandwich leaves the rows that it came from, as they were unfolded, for the way back. */
static int show(struct screen *s, enum view view)
{
	if (view == VIEW_SANDWICH && s->rows.view != VIEW_SANDWICH) {
		rows_keep(&s->rows);
		s->kept_cursor = s->cursor;
		s->kept_top = s->top;
	} else if (view != VIEW_SANDWICH) {
		rows_drop_kept(&s->rows);
	}
	s->rows.view = view;
	s->cursor = s->top = 0;
	return rows_make(&s->rows);
}

/* The same view, of other samples or in another order. */
static int again(struct screen *s, int changed)
{
	return changed > 0 ? show(s, s->rows.view == VIEW_SANDWICH ? VIEW_FUNCTIONS : s->rows.view)
			   : changed;
}

static int toggle(struct screen *s)
{
	const struct row *row = current(s);

	if (!row)
		return 0;
	if (row->is_unfolded) {
		rows_fold(&s->rows, s->cursor);
		return 0;
	}
	return rows_unfold(&s->rows, s->cursor);
}

static int go_left(struct screen *s)
{
	const struct row *row = current(s);

	if (row && row->is_unfolded)
		rows_fold(&s->rows, s->cursor);
	else if (row)
		s->cursor = rows_parent(&s->rows, s->cursor);
	return 0;
}

static int turn(struct screen *s)
{
	s->rows.unfolds = s->rows.unfolds == TO_CALLERS ? TO_CALLEES : TO_CALLERS;
	return show(s, VIEW_FUNCTIONS);
}

static int sandwich(struct screen *s)
{
	const struct row *row = current(s);

	if (!is_function(s, row))
		return no_function(s);
	s->rows.symbol = row->symbol;
	return show(s, VIEW_SANDWICH);
}

static int next_order(struct screen *s)
{
	const enum sorting last = s->model->sides == 2 ? SORT_CHANGE : SORT_TOTAL;

	s->rows.sorting = s->rows.sorting == last ? SORT_OWN : s->rows.sorting + 1;
	return show(s, VIEW_FUNCTIONS);
}

static int by_change(struct screen *s)
{
	if (s->model->sides == 1) {
		snprintf(s->note, sizeof s->note,
			 "two sides are needed: resolve --diff BASE NEW, on a terminal");
		return 0;
	}
	s->rows.sorting = SORT_CHANGE;
	return show(s, VIEW_FUNCTIONS);
}

/* Moves to the next row that matches, in a circle. */
static int find(struct screen *s, int step)
{
	const size_t n = s->rows.v.n;
	size_t at = s->cursor;

	for (size_t i = 0; *s->search && i < n; i++) {
		at = (at + n + (size_t)step) % n;
		if (screen_matches(s, &s->rows.v.v[at])) {
			s->cursor = at;
			return 0;
		}
	}
	if (!*s->search)
		snprintf(s->note, sizeof s->note, "/ searches");
	else if (s->rows.view == VIEW_FUNCTIONS)
		snprintf(s->note, sizeof s->note, "no row has '%s'", s->search);
	else /* functions below what is folded are no rows */
		snprintf(s->note, sizeof s->note,
			 "no unfolded row has '%s'; the list of functions has all", s->search);
	return 0;
}

/* Moves to the heaviest place in the tree, which may be folded. */
static int find_in_tree(struct screen *s)
{
	const size_t n = s->model->f.v.n;
	bool *wanted = calloc(n + 1, sizeof *wanted);
	size_t at = SIZE_MAX;
	int rc = wanted ? 0 : -1;

	for (uint32_t i = 0; wanted && i < n; i++)
		wanted[i] = screen_matches(s, &(struct row){.symbol = i});
	if (!rc)
		rc = rows_unfold_to(&s->rows, wanted, &at);
	free(wanted);
	if (at != SIZE_MAX)
		s->cursor = at;
	else if (!rc)
		snprintf(s->note, sizeof s->note, "no function has '%s'", s->search);
	return rc;
}

static int search(struct screen *s)
{
	char asked[sizeof s->search];

	if (!screen_ask("/", asked, sizeof asked))
		return 0;
	memcpy(s->search, asked, sizeof asked);
	if (*s->search && s->rows.view == VIEW_TREE)
		return find_in_tree(s);
	if (screen_matches(s, current(s) ? current(s) : &(struct row){.symbol = UINT32_MAX}))
		return 0;
	return find(s, 1);
}

static int escape(struct screen *s)
{
	if (s->rows.view == VIEW_SANDWICH) {
		rows_restore(&s->rows);
		s->cursor = s->kept_cursor;
		s->top = s->kept_top;
		return 0;
	}
	if (*s->search) {
		s->search[0] = '\0';
		return 0;
	}
	return again(s, filter_none(s));
}

/* The machine code of the function under the cursor. */
static int annotate(struct screen *s)
{
	const struct model *m = s->model;
	const struct row *row = current(s);
	const char *name;
	static const char option[] = "--annotate: ";
	struct err err = {0};
	char *text = NULL;
	size_t n = 0;
	FILE *f;
	int rc;

	if (!is_function(s, row))
		return no_function(s);
	if (!m->opt->annotate) {
		snprintf(s->note, sizeof s->note, "machine code is shown of recordings only");
		return 0;
	}
	name = strtab_get(&m->f.frames.names, m->f.v.v[row->symbol].name);
	f = open_memstream(&text, &n);
	if (!f)
		return -1;
	rc = m->opt->annotate(m->opt->annotate_arg, name, f, &err);
	if (fclose(f))
		rc = rc ? rc : -ERR_NOMEM;
	if (!rc)
		page_show(name, text, n);
	else
		snprintf(s->note, sizeof s->note, "%.60s%s%.90s", err.source,
			 *err.source ? ": " : "",
			 err.what + (str_starts_with(err.what, option) ? strlen(option) : 0));
	free(text);
	return rc == -ERR_NOMEM ? -1 : 0;
}

static int help(struct screen *s)
{
	(void)s;
	screen_help();
	return 0;
}

static int other_view(struct screen *s)
{
	return show(s, s->rows.view == VIEW_TREE ? VIEW_FUNCTIONS : VIEW_TREE);
}

static int only_task(struct screen *s)
{
	return again(s, filter_task(s));
}

static int only_module(struct screen *s)
{
	const int changed = filter_module(s);

	return changed > 0 ? show(s, VIEW_FUNCTIONS) : changed;
}

static int only_cgroup(struct screen *s)
{
	return again(s, filter_cgroup(s));
}

static int other_event(struct screen *s)
{
	return again(s, filter_event(s));
}

static int unfold(struct screen *s)
{
	return current(s) ? rows_unfold(&s->rows, s->cursor) : 0;
}

static int unfold_hottest(struct screen *s)
{
	return current(s) ? rows_unfold_hottest(&s->rows, s->cursor) : 0;
}

static int find_next(struct screen *s)
{
	return find(s, 1);
}

static int find_last(struct screen *s)
{
	return find(s, -1);
}

static const struct {
	int key;
	int (*act)(struct screen *s);
} keys[] = {
	{'\n', toggle},	       {'\r', toggle},	    {KEY_ENTER, toggle}, {' ', toggle},
	{'+', toggle},	       {KEY_RIGHT, unfold}, {'l', unfold},	 {KEY_LEFT, go_left},
	{'h', unfold_hottest}, {'c', turn},	    {'s', sandwich},	 {'\t', other_view},
	{'o', next_order},     {'/', search},	    {'n', find_next},	 {'N', find_last},
	{'t', only_task},      {'m', only_module},  {'e', other_event},	 {'d', by_change},
	{'a', annotate},       {'?', help},	    {KEY_F(1), help},	 {27, escape},
	{'C', only_cgroup},
};

/* Returns false if the key is none that moves. */
static bool move_cursor(struct screen *s, int key)
{
	const size_t page = screen_lines(), n = s->rows.v.n;

	switch (key) {
	case KEY_UP:
	case 'k':
		s->cursor -= s->cursor > 0;
		return true;
	case KEY_DOWN:
	case 'j':
		s->cursor += s->cursor + 1 < n;
		return true;
	case KEY_NPAGE:
		s->cursor = s->cursor + page < n ? s->cursor + page : n ? n - 1 : 0;
		return true;
	case KEY_PPAGE:
		s->cursor = s->cursor > page ? s->cursor - page : 0;
		return true;
	case KEY_HOME:
	case 'g':
		s->cursor = 0;
		return true;
	case KEY_END:
	case 'G':
		s->cursor = n ? n - 1 : 0;
		return true;
	}
	return false;
}

static enum answer answer_key(struct screen *s, int key)
{
	s->note[0] = '\0';
	if (key == 'q' || key == ERR || key == 4)
		return LEAVE;
	if (move_cursor(s, key))
		return GO_ON;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (keys[i].key == key)
			return keys[i].act(s) ? FAILED : GO_ON;
	return GO_ON;
}

int browse(const struct profile *p, const struct browse_options *opt, struct err *err)
{
	struct model m;
	struct screen s = {.model = &m, .rows = {.m = &m, .module = -1}};
	enum answer answer = GO_ON;
	int rc = model_open(&m, p, opt, err);

	if (!rc && rows_make(&s.rows))
		rc = err_nomem(err);
	if (!rc) {
		screen_start(opt);
		while (answer == GO_ON) {
			screen_draw(&s);
			answer = answer_key(&s, getch());
		}
		screen_stop();
		rc = answer == FAILED ? err_nomem(err) : 0;
	}
	rows_done(&s.rows);
	free(s.cgroup_path);
	model_done(&m);
	return rc;
}
