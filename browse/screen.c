/* screen.c - draws with ncurses. Names are cut to what fits; only rows in sight are drawn. */
#include "browse/screen.h"

#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/fit.h"
#include "base/strtab.h"
#include "base/text.h"
#include "profile/profile.h"

enum { COLOUR_HOT = 1, COLOUR_WARM, COLOUR_LESS, HEAD_LINES = 2, FOOT_LINES = 1, INDENT_MAX = 40 };

static bool has_colour;

void screen_start(const struct browse_options *opt)
{
	setlocale(LC_CTYPE, "");
	initscr();
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	has_colour = opt->colours && has_colors();
	if (!has_colour)
		return;
	start_color();
	use_default_colors();
	init_pair(COLOUR_HOT, COLOR_RED, -1);
	init_pair(COLOUR_WARM, COLOR_GREEN, -1);
	init_pair(COLOUR_LESS, COLOR_BLUE, -1);
}

void screen_stop(void)
{
	endwin();
}

size_t screen_lines(void)
{
	return LINES > HEAD_LINES + FOOT_LINES + 1 ? (size_t)(LINES - HEAD_LINES - FOOT_LINES) : 1;
}

/* ---- text ----------------------------------------------------------------------------------- */

void screen_put(const char *s, size_t n)
{
	mbstate_t state = {0};
	wchar_t c;

	while (n) {
		size_t k = mbrtowc(&c, s, n, &state);
		int y, x, width;

		if (k == (size_t)-1 || k == (size_t)-2 || !k) {
			memset(&state, 0, sizeof state);
			k = n >= 3 && !memcmp(s, "…", 3) ? 3 : 1; /* fit_add() wrote it */
			c = k == 3 ? L'~' : L'?';
		}
		width = wcwidth(c);
		getyx(stdscr, y, x);
		(void)y;
		if (x + (width > 0 ? width : 1) >= COLS)
			return;
		if (width < 0)
			addch('?');
		else if (c < 0x80)
			addch((chtype)c);
		else
			addnstr(s, (int)k);
		s += k;
		n -= k;
	}
}

static void put_str(const char *s)
{
	screen_put(s, strlen(s));
}

/* Fills the rest of the line, so that a reversed one is reversed to its end. */
static void end_line(void)
{
	int y, x;

	getyx(stdscr, y, x);
	(void)y;
	for (; x < COLS - 1; x++)
		addch(' ');
}

/* In so many columns, at least some: of a long name the middle is left out. */
static void put_name(const struct model *m, uint32_t symbol, size_t columns)
{
	enum { COLUMNS_MIN = 16 };
	const uint32_t name = m->f.v.v[symbol].name;
	const size_t n = strtab_len(&m->f.frames.names, name);
	struct text fit = {0};

	fit_add(&fit, strtab_get(&m->f.frames.names, name), n,
		columns > COLUMNS_MIN ? columns : COLUMNS_MIN);
	if (fit.n)
		screen_put(fit.s, fit.n);
	text_done(&fit);
}

/* Columns of the line that are left. */
static size_t columns_left(void)
{
	int y, x;

	getyx(stdscr, y, x);
	(void)y;
	return x < COLS ? (size_t)(COLS - 1 - x) : 0;
}

static bool contains(const char *s, const char *what)
{
	return strcasestr(s, what) != NULL;
}

bool screen_matches(const struct screen *s, const struct row *row)
{
	const struct model *m = s->model;

	return *s->search && row->symbol < m->f.v.n &&
	       contains(strtab_get(&m->f.frames.names, m->f.v.v[row->symbol].name), s->search);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void put_share(double share)
{
	char buf[24];
	const unsigned colour = share >= 0.05	 ? (unsigned)COLOR_PAIR(COLOUR_HOT)
				: share >= 0.005 ? (unsigned)COLOR_PAIR(COLOUR_WARM)
						 : 0;
	const int attribute = (int)(has_colour ? colour : share >= 0.05 ? A_BOLD : 0u);

	snprintf(buf, sizeof buf, "%7.2f%% ", 100 * share);
	attron(attribute);
	put_str(buf);
	attroff(attribute);
}

static void put_change(double points)
{
	char buf[24];
	const int attribute = !has_colour  ? 0
			      : points > 0 ? COLOR_PAIR(COLOUR_HOT)
					   : COLOR_PAIR(COLOUR_LESS);

	snprintf(buf, sizeof buf, "%+8.2f ", 100 * points);
	attron(attribute);
	put_str(buf);
	attroff(attribute);
}

static void put_shares(const struct screen *s, const struct row *row)
{
	const struct model *m = s->model;

	put_share(model_share(m, 0, row->weight[0]));
	if (m->sides == 2) {
		put_share(model_share(m, 1, row->weight[1]));
		put_change(model_share(m, 1, row->weight[1]) - model_share(m, 0, row->weight[0]));
		return;
	}
	if (row->kind == ROW_CALLER && row->depth)
		put_str("         ");
	else
		put_share(model_share(m, 0, row->own[0]));
}

static void draw_row(const struct screen *s, size_t at)
{
	const struct model *m = s->model;
	const struct row *row = &s->rows.v.v[at];
	const unsigned depth = row->depth < INDENT_MAX ? row->depth : INDENT_MAX;
	const char *module;
	size_t left, room;

	if (row->kind == ROW_HEADING) {
		attron(A_BOLD);
		put_str(row->words);
		put_str(" ");
		put_name(m, s->rows.symbol, columns_left());
		attroff(A_BOLD);
		return;
	}
	put_shares(s, row);
	for (unsigned i = 0; i < depth; i++)
		put_str(" ");
	put_str(row->is_leaf ? "  " : row->is_unfolded ? "- " : "+ ");
	if (row->symbol >= m->f.v.n) {
		put_str(row->words);
		return;
	}
	/* None as in a text of folded stacks. */
	module = m->f.v.v[row->symbol].mapping
			 ? profile_mapping_short_name(m->p, m->f.v.v[row->symbol].mapping)
			 : "";
	left = columns_left();
	room = *module ? fit_width(module, strlen(module)) + 2 : 0;
	attron(screen_matches(s, row) ? (int)(A_UNDERLINE | A_BOLD) : 0);
	put_name(m, row->symbol, room < left / 2 ? left - room : left);
	attroff(A_UNDERLINE | A_BOLD);
	if (!*module)
		return;
	put_str("  ");
	attron(A_DIM);
	put_str(module);
	attroff(A_DIM);
}

/* ---- the screen ----------------------------------------------------------------------------- */

static void draw_head(const struct screen *s)
{
	const struct model *m = s->model;
	const struct profile_event *e = &m->p->events.v[m->event];
	static const char *const views[] = {"functions", "call tree", "sandwich"};
	static const char *const orders[] = {"by own", "by total", "by change"};
	char buf[64];

	move(0, 0);
	attron(A_REVERSE);
	if (m->sides == 2) {
		put_str(m->opt->base ? m->opt->base : "several runs");
		put_str(" -> ");
	}
	put_str(m->opt->source ? m->opt->source : m->sides == 2 ? "several runs" : "profile");
	if (m->sides == 1) {
		put_str(": ");
		put_str(strtab_get(&m->p->strings, e->name));
		snprintf(buf, sizeof buf, e->is_sum ? "" : ", %llu samples",
			 (unsigned long long)e->samples);
		put_str(buf);
	}
	if (*s->task) {
		put_str(" | only ");
		put_str(s->task);
	}
	if (*s->cgroup) {
		put_str(" | only ");
		put_str(s->cgroup);
	}
	if (s->rows.module >= 0) {
		put_str(" | only in ");
		put_str(strtab_get(&m->p->strings, (uint32_t)s->rows.module));
	}
	put_str(" | ");
	put_str(views[s->rows.view]);
	if (s->rows.view == VIEW_FUNCTIONS) {
		put_str(" ");
		put_str(orders[s->rows.sorting]);
		put_str(s->rows.unfolds == TO_CALLERS ? ", Enter: callers" : ", Enter: callees");
	}
	end_line();
	attroff(A_REVERSE);
	move(1, 0);
	attron(A_DIM);
	put_str(m->sides == 2 ? "    base      new    points  Function"
			      : "   total      own   Function");
	attroff(A_DIM);
}

static void draw_foot(const struct screen *s)
{
	move(LINES - 1, 0);
	if (*s->note) {
		put_str(s->note);
		return;
	}
	attron(A_DIM);
	put_str("? help, q quit, Enter unfold, / search, Tab tree, c callers, s sandwich, a code");
	attroff(A_DIM);
}

void screen_draw(struct screen *s)
{
	const size_t lines = screen_lines();

	if (s->cursor >= s->rows.v.n)
		s->cursor = s->rows.v.n ? s->rows.v.n - 1 : 0;
	if (s->cursor < s->top)
		s->top = s->cursor;
	if (s->cursor >= s->top + lines)
		s->top = s->cursor - lines + 1;
	erase();
	draw_head(s);
	for (size_t i = 0; i < lines && s->top + i < s->rows.v.n; i++) {
		move((int)(HEAD_LINES + i), 0);
		if (s->top + i == s->cursor)
			attron(A_REVERSE);
		draw_row(s, s->top + i);
		if (s->top + i == s->cursor) {
			attron(A_REVERSE);
			end_line();
			attroff(A_REVERSE);
		}
	}
	if (!s->rows.v.n)
		mvaddstr(HEAD_LINES, 2, "nothing: Esc takes filters away");
	draw_foot(s);
	refresh();
}

/* ---- questions ------------------------------------------------------------------------------ */

bool screen_ask(const char *question, char *answer, size_t size)
{
	size_t n = 0;
	int key;

	answer[0] = '\0';
	for (;;) {
		move(LINES - 1, 0);
		clrtoeol();
		attron(A_BOLD);
		put_str(question);
		attroff(A_BOLD);
		put_str(answer);
		put_str("_");
		refresh();
		key = getch();
		if (key == '\n' || key == '\r' || key == KEY_ENTER)
			return n > 0;
		if (key == 27 || key == ERR)
			return false;
		if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n)
			answer[--n] = '\0';
		else if (key >= ' ' && key < 256 && key != 127 && n + 1 < size) {
			answer[n++] = (char)key;
			answer[n] = '\0';
		}
	}
}

void screen_help(void)
{
	/* They fit into 60 columns and 20 lines, where the heading gives way. */
	static const char *const lines[] = {
		"Up Down j k      move; PgUp PgDn Home End",
		"Enter Space      (un)fold; Right unfold, Left fold or up",
		"h                unfold the hottest way from here",
		"c                callers or callees below a function",
		"a                code: each instruction with its share",
		"s                sandwich: all callers, all callees",
		"Tab              the tree from the roots, and back",
		"o                order: own, total, change (of --diff)",
		"/ n N            search, in the tree unfolds; next, last place",
		"t                only one command or thread",
		"m                only functions of one module",
		"C                only one container or other cgroup",
		"e                another event",
		"d                the largest change first (of --diff)",
		"Esc              back; takes search, filters away",
		"q                leave",
		"",
		"total: with all that it calls, own: the function itself.",
		"Shares: of what is shown. A recursion counts once.",
	};
	const int n = sizeof lines / sizeof *lines, first = n + 2 < LINES ? 2 : 0;

	erase();
	if (first) {
		attron(A_BOLD);
		mvaddstr(0, 2, "Keys");
		attroff(A_BOLD);
	}
	for (int i = 0; i < n && first + i < LINES; i++) {
		move(first + i, 2);
		put_str(lines[i]);
	}
	refresh();
	getch();
}

int screen_choose(const char *title, const struct choice *v, size_t n)
{
	const size_t lines = LINES > 3 ? (size_t)LINES - 3 : 1;
	size_t at = 0, top = 0;

	for (;;) {
		erase();
		attron(A_BOLD);
		move(0, 0);
		put_str(title);
		attroff(A_BOLD);
		top = at < top ? at : at >= top + lines ? at - lines + 1 : top;
		for (size_t i = 0; i < lines && top + i < n; i++) {
			move((int)i + 2, 0);
			attron(top + i == at ? A_REVERSE : 0);
			put_share(v[top + i].share);
			put_str(v[top + i].name);
			attroff(A_REVERSE);
		}
		refresh();
		switch (getch()) {
		case KEY_UP:
		case 'k':
			at -= at > 0;
			break;
		case KEY_DOWN:
		case 'j':
			at += at + 1 < n;
			break;
		case KEY_NPAGE:
			at = at + lines < n ? at + lines : n - 1;
			break;
		case KEY_PPAGE:
			at = at > lines ? at - lines : 0;
			break;
		case '\n':
		case '\r':
		case KEY_ENTER:
			return n ? (int)at : -1;
		case 27:
		case 'q':
		case ERR:
			return -1;
		}
	}
}
