/* rows.h - the rows on the screen: functions, and below them what was unfolded. Private to browse/.
 */
#ifndef BROWSE_ROWS_H
#define BROWSE_ROWS_H

#include "browse/model.h"

enum row_kind {
	ROW_FUNCTION, /* all of a function */
	ROW_CALLER,
	ROW_CALLEE,
	ROW_HEADING, /* words instead of a function */
};

struct row {
	enum row_kind kind;
	uint32_t symbol;
	unsigned depth;
	bool is_unfolded, is_leaf; /* nothing is below it */
	uint64_t weight[2], own[2];
	struct place *places; /* owned */
	size_t n_places;
	const char *words; /* of a heading */
};

enum view { VIEW_FUNCTIONS, VIEW_TREE, VIEW_SANDWICH };
enum sorting { SORT_OWN, SORT_TOTAL, SORT_CHANGE };

struct rows {
	struct model *m;
	VEC(struct row) v, kept;
	enum view view, kept_view;
	enum sorting sorting;
	enum direction unfolds; /* what Enter shows below a function */
	uint32_t symbol;	/* of the sandwich */
	int64_t module;		/* string id of the only one whose functions are shown; -1: all */
};

/* Makes the rows of the view anew. All return 0, or -1 when out of memory. */
int rows_make(struct rows *r);
int rows_unfold(struct rows *r, size_t at);
void rows_fold(struct rows *r, size_t at);
/* Unfolds the heaviest way from this row on, as long as it has most of the row's weight. */
int rows_unfold_hottest(struct rows *r, size_t at);
/* In the tree: unfolds the way to the heaviest of the places of these functions (by symbol), and
 * sets *at to its row. Leaves *at if there is none. */
int rows_unfold_to(struct rows *r, const bool *wanted, size_t *at);
/* The row that this one is below; itself if there is none. */
size_t rows_parent(const struct rows *r, size_t at);
/* Puts the rows aside, as they are unfolded, and takes them back. They are to be dropped when the
 * model or the order changes. */
void rows_keep(struct rows *r);
void rows_restore(struct rows *r);
void rows_drop_kept(struct rows *r);
void rows_done(struct rows *r);

#endif
