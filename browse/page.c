/* page.c - pages through machine code. */
#include "browse/page.h"

#include <ncurses.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "browse/screen.h"

enum { STEP = 8, CONTEXT = 4 };

struct page {
	const char *title, *text;
	VEC(size_t) lines; /* where they begin, and one more */
	size_t cursor, top, left;
};

/* The share that a line begins with; -1: it is none of an instruction. */
static double share_of(const struct page *p, size_t line)
{
	char *end;
	const double v = strtod(p->text + p->lines.v[line], &end);

	return end <= p->text + p->lines.v[line + 1] && !strncmp(end, " :", 2) ? v : -1;
}

static int find_lines(struct page *p, size_t n)
{
	size_t at = 0;

	while (at < n) {
		const char *end = memchr(p->text + at, '\n', n - at);

		if (vec_push(&p->lines, at))
			return -1;
		at = end ? (size_t)(end - p->text) + 1 : n;
	}
	return vec_push(&p->lines, n);
}

static size_t count(const struct page *p)
{
	return p->lines.n - 1;
}

/* The next line with a larger share than any between, in the order of shares: the one with the
 * largest share below `less`. */
static void go_to_hottest(struct page *p, double less)
{
	double best = 0;
	size_t found = p->cursor;

	for (size_t i = 0; i < count(p); i++) {
		const double share = share_of(p, i);

		if (share > best && share < less) {
			best = share;
			found = i;
		}
	}
	p->cursor = found;
}

static void draw_line(const struct page *p, size_t line)
{
	const char *s = p->text + p->lines.v[line];
	size_t n = p->lines.v[line + 1] - p->lines.v[line], skip = p->left;
	const double share = share_of(p, line);
	const bool is_hot = share >= 5;

	if (n && s[n - 1] == '\n')
		n--;
	for (; n && skip; skip--, s++)
		n--;
	attron(is_hot ? (int)A_BOLD : 0);
	screen_put(s, n);
	attroff(is_hot ? (int)A_BOLD : 0);
}

static void draw(struct page *p)
{
	const size_t lines = LINES > 2 ? (size_t)LINES - 2 : 1;
	static const char keys[] = "Up Down PgUp PgDn Left Right, n next hottest, g G ends, q back";

	if (p->cursor < p->top)
		p->top = p->cursor;
	if (p->cursor >= p->top + lines)
		p->top = p->cursor - lines + 1;
	erase();
	attron(A_REVERSE);
	move(0, 0);
	screen_put(p->title, strlen(p->title));
	attroff(A_REVERSE);
	for (size_t i = 0; i < lines && p->top + i < count(p); i++) {
		move((int)i + 1, 0);
		attron(p->top + i == p->cursor ? A_REVERSE : 0);
		draw_line(p, p->top + i);
		attroff(A_REVERSE);
	}
	move(LINES - 1, 0);
	attron(A_DIM);
	screen_put(keys, strlen(keys));
	attroff(A_DIM);
	refresh();
}

/* Returns false to go back. */
static bool answer(struct page *p, int key)
{
	const size_t lines = LINES > 2 ? (size_t)LINES - 2 : 1, last = count(p) ? count(p) - 1 : 0;

	switch (key) {
	case KEY_UP:
	case 'k':
		p->cursor -= p->cursor > 0;
		break;
	case KEY_DOWN:
	case 'j':
		p->cursor += p->cursor < last;
		break;
	case KEY_NPAGE:
	case ' ':
		p->cursor = p->cursor + lines < last ? p->cursor + lines : last;
		break;
	case KEY_PPAGE:
		p->cursor = p->cursor > lines ? p->cursor - lines : 0;
		break;
	case KEY_HOME:
	case 'g':
		p->cursor = 0;
		break;
	case KEY_END:
	case 'G':
		p->cursor = last;
		break;
	case KEY_LEFT:
		p->left = p->left > STEP ? p->left - STEP : 0;
		break;
	case KEY_RIGHT:
		p->left += STEP;
		break;
	case 'n':
		go_to_hottest(p, share_of(p, p->cursor) > 0 ? share_of(p, p->cursor) : 1000);
		break;
	case 'q':
	case 'a':
	case 27:
	case ERR:
		return false;
	}
	return true;
}

void page_show(const char *title, const char *text, size_t n)
{
	struct page p = {.title = title, .text = text};

	if (n && !find_lines(&p, n)) {
		go_to_hottest(&p, 1000);
		p.top = p.cursor > CONTEXT ? p.cursor - CONTEXT : 0;
		do
			draw(&p);
		while (answer(&p, getch()));
	}
	vec_done(&p.lines);
}
