/* picture.h - the frames of a flame graph that are drawn, and their colours. Private to output/. */
#ifndef OUTPUT_PICTURE_H
#define OUTPUT_PICTURE_H

#include "base/text.h"
#include "output/output.h"

enum { PICTURE_PAD = 10 }; /* pixels left and right */

/* A frame that is drawn. */
struct box {
	uint32_t node, depth;
	uint64_t start; /* weight to the left of it */
};

struct flamegraph {
	const struct profile *p;
	const struct output_options *opt;
	const struct picture_options *look;
	unsigned width; /* pixels */
	struct named_stacks stacks;
	struct tree reversed;
	const struct tree *tree;
	struct tree_order order;
	uint64_t *totals;      /* by node, with callees */
	double *sides[2];      /* of a difference: the shares of base and new, by node; else NULL */
	double *limits;	       /* of a difference: by symbol, of noise */
	VEC(struct box) boxes; /* row by row, from left to right */
	uint32_t rows;	       /* that are needed */
	bool too_deep;	       /* there are frames below the last row that is drawn */
	uint64_t hidden;       /* weight of samples whose own frame is not drawn */
	double min_width;      /* pixels; of a frame that is drawn */
	const char *unit;
	double scale;	 /* pixels per weight */
	uint32_t *names; /* by symbol: its number in the list of names that are drawn, and 1 */
	struct text out;
};

/* Finds which frames are drawn. f->stacks, tree, width and look are set; the rest of the tree's
 * members are filled. Returns 0 or -ERR_NOMEM. Whatever the input, no more than PICTURE_BOXES
 * frames of PICTURE_ROWS rows are drawn: narrower ones are left out then, and counted in f->hidden.
 */
enum { PICTURE_BOXES = 200000, PICTURE_ROWS = 20000 };
int picture_place(struct flamegraph *f, struct err *err);
void picture_done(struct flamegraph *f);

/* The name of a node, of *n bytes. */
static inline const char *picture_name(const struct flamegraph *f, uint32_t node, size_t *n)
{
	uint32_t symbol = f->tree->nodes.v[node].symbol;

	*n = node ? strtab_len(&f->stacks.names, symbol) : strlen("all");
	return node ? strtab_get(&f->stacks.names, symbol) : "all";
}

/* Appends the list of boxes; flushes what is too long to `out`. */
void picture_list(struct flamegraph *f, FILE *out);

/* 0xRRGGBB. is_plain: without the shades that names have. */
uint32_t picture_colour(const struct flamegraph *f, uint32_t node, bool is_plain);
/* The colour of what a search found. */
uint32_t picture_hit_colour(const struct flamegraph *f);

#endif
