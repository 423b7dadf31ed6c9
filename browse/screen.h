/* screen.h - what the browser draws. Private to browse/. */
#ifndef BROWSE_SCREEN_H
#define BROWSE_SCREEN_H

#include "browse/rows.h"

struct screen {
	struct model *model;
	struct rows rows;
	size_t cursor, top;	      /* rows */
	size_t kept_cursor, kept_top; /* of rows_keep() */
	char search[80];	      /* what is highlighted; "": nothing */
	char note[160];		      /* in the last line, until the next key */
	/* Of the filters; "": all. */
	char task[80], cgroup[160];
	uint32_t task_ids[3]; /* as in struct choice */
	char *cgroup_path;    /* owned; NULL: all */
	uint32_t last;	      /* the function that the cursor was on */
};

/* Takes over the terminal (ncurses) until screen_stop(), which leaves it as it was. */
void screen_start(const struct browse_options *opt);
void screen_stop(void);
/* Draws all of it, and moves `top` so that the cursor is to be seen. */
void screen_draw(struct screen *s);
/* Adds text up to the last column; what is no character of the terminal's is a '?'. */
void screen_put(const char *s, size_t n);
/* Lines for rows. */
size_t screen_lines(void);
/* The name of a row, with its mark of folding. */
bool screen_matches(const struct screen *s, const struct row *row);
/* Reads a line below the rows. Returns false if it was given up. */
bool screen_ask(const char *question, char *answer, size_t size);
/* Shows lines of text until a key. */
void screen_help(void);

/* A list to choose from, heaviest first. */
struct choice {
	char *name;
	double share;
	uint32_t ids[3];
};
/* Returns the index, or -1 if nothing was chosen. */
int screen_choose(const char *title, const struct choice *v, size_t n);

#endif
