/* function_rows.h - the functions of an event with what they cost; of a difference, on both sides.
 * Private to output/. */
#ifndef OUTPUT_FUNCTION_ROWS_H
#define OUTPUT_FUNCTION_ROWS_H

#include "output/output.h"

struct function_rows {
	const struct profile *p;
	struct function_symbols f;
	struct tree tree;
	struct tree_sums sums[2]; /* of a profile only the first; of a difference base, new */
	double *limits;		  /* of a difference: diff_limits() */
	bool is_diff;
};

enum function_order { ROWS_BY_OWN, ROWS_BY_TOTAL, ROWS_BY_OWN_CHANGE, ROWS_BY_TOTAL_CHANGE };

/* Fills a zeroed *r. Returns 0 or -ERR_NOMEM. Release it with function_rows_done() in both cases.
 */
int function_rows(struct function_rows *r, const struct profile *p,
		  const struct output_options *opt, const bool *has_event, struct err *err);
void function_rows_done(struct function_rows *r);

/* The symbols, heaviest first, or with the largest change first. The caller frees it; NULL when out
 * of memory. */
uint32_t *function_rows_sorted(const struct function_rows *r, enum function_order by);
/* A function's share of a side, 0 .. 1. */
double function_share(const struct function_rows *r, int side, uint32_t symbol, bool is_total);
/* Of a difference: does chance explain the change? */
bool function_is_noise(const struct function_rows *r, const struct output_diff *d, uint32_t symbol,
		       bool is_total);
/* The name, and that of the file. */
void function_name(struct text *t, const struct function_rows *r, uint32_t symbol);
void function_module(struct text *t, const struct function_rows *r, uint32_t symbol);

#endif
