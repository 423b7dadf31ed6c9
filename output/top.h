/* top.h - what the parts of top share: rows and their columns. Private to fmt_top.c and top_*.c;
 * fmt_lines.c has its head from here. */
#ifndef OUTPUT_TOP_H
#define OUTPUT_TOP_H

#include "base/hash.h"
#include "output/formats.h"
#include "profile/profile.h"

#define TOP_UNKNOWN "[unknown]"

/* What the code of a row has in common. These are the symbols of the tree, below the tasks. */
struct top_kind {
	uint32_t dso, symbol, line; /* ids in names */
};

/* What its samples have in common: ids in names. */
struct top_task {
	uint32_t comm, pid, tid, cpu, cgroup;
};

struct top_row {
	uint32_t task; /* index in tasks */
	struct top_kind kind;
	uint64_t children, self; /* with and without callees */
	uint32_t share;		 /* self in hundredths of a percent, which add up to 100 % */
};

/* The part of a row's weight that comes directly from one caller. */
struct top_edge {
	uint32_t row, caller; /* indices in rows, kinds; TOP_NO_CALLER */
	uint64_t weight;
};

/* A frame of a row's function that no other frame of it has called. */
struct top_place {
	uint32_t row, node;
};

enum { TOP_NO_CALLER = UINT32_MAX - 1, TOP_SHARE_COLUMNS = 10 };

struct top {
	const struct profile *p;
	const struct output_options *opt;
	struct strtab names;
	VEC(struct top_kind) kinds;
	struct hash_table kind_of, line_of; /* (dso, (symbol, line)) -> kind */
	VEC(struct top_task) tasks;
	/* (((comm, pid), cgroup), (tid, cpu)) -> task */
	struct hash_table task_of, ids_of, groups_of, places_of;
	VEC(struct top_row) rows;
	struct hash_table row_of; /* (task, kind) -> row */
	VEC(struct top_edge) edges;
	struct hash_table edge_of;    /* (row, caller) -> edge */
	VEC(struct top_place) places; /* only for trees of callers */
	struct tree_symbols symbols;
	struct tree tree;
	uint64_t *totals; /* by node of the tree: with callees */
	uint32_t *depths; /* likewise: how many callers; NULL before a tree of callers */
	struct text text;
};

static inline bool top_has_column(const struct top *t, enum top_column c)
{
	return (t->opt->top.columns ? t->opt->top.columns : (unsigned)TOP_USUAL) & c;
}

static inline double top_percent(uint64_t part, uint64_t total)
{
	return total ? 100.0 * (double)part / (double)total : 0;
}

static inline bool top_by_own(const struct top *t)
{
	return t->opt->top.no_children || t->opt->top.own_first;
}

/* The name that a row has in a column: id in names. */
uint32_t top_cell(const struct top *t, const struct top_row *r, enum top_column c);
/* The columns that are shown, in their order. Returns how many. */
struct top_column_row {
	enum top_column bit;
	const char *title;
	size_t width; /* 0: it is the last, whose width does not matter */
};
enum { TOP_COLUMNS_MAX = 9 };
size_t top_columns(const struct top *t, struct top_column_row *ret);

/* Writes the table of one event, of which `total` is the weight. All return 0, or -1 when out of
 * memory. */
int top_write_table(struct top *t, uint32_t event, const bool *has_event, uint64_t total,
		    FILE *out);
/* The same with a level for each column. */
int top_write_hierarchy(struct top *t, uint32_t event, uint64_t total, FILE *out);
/* Appends the callers of a row as a tree, with their shares of all. The places are sorted by row.
 */
int top_add_callers(struct top *t, uint32_t row, uint64_t total);
/* What changed, of a profile of two sides. */
int top_write_diff(const struct profile *p, const struct output_options *opt,
		   struct event_set *events, FILE *out, struct err *err);

/* The lines "# Samples: 12 of event 'cpu-clock'" and "# Event count (approx.): 1200". Where only
 * sums are known, the first has no number. */
void top_event_head(struct text *out, const struct profile *p, uint32_t event);
/* For tables. */
void top_add_head(struct top *t, uint32_t event);
void top_add_share(struct top *t, double percent);
/* Is the row one of --symbols? */
bool top_is_wanted(const struct top *t, const struct top_row *r);

#endif
