/* model.h - the profile as the browser shows it: a tree of functions, what each costs, and where it
 * is in the tree. Private to browse/. */
#ifndef BROWSE_MODEL_H
#define BROWSE_MODEL_H

#include "browse/browse.h"

/* A place in the tree, and how much of its weight goes through what is looked at; of a difference
 * on both sides. */
struct place {
	uint32_t node;
	uint64_t weight[2];
};

/* Places whose next step is the same function. */
struct group {
	uint32_t symbol;
	size_t first, n; /* in the places that were grouped */
	uint64_t weight[2], own[2];
};

struct model {
	const struct profile *p;
	const struct browse_options *opt;
	struct function_symbols f;
	unsigned sides; /* 1, or 2 of a difference */
	/* Of the event and the samples that are not left out. */
	uint32_t event;
	struct tree tree;
	struct tree_sums sums[2];
	struct tree_order children;
	/* By symbol, and one more: its places that no other place of it has called. */
	size_t *first_place;
	uint32_t *places;
	uint32_t *slot; /* by symbol: of model_group(); all 0 in between */
};

enum direction { TO_CALLERS, TO_CALLEES };

int model_open(struct model *m, const struct profile *p, const struct browse_options *opt,
	       struct err *err);
/* Sums up again, for another event, or when m->f.symbols.omit has changed. */
int model_sum(struct model *m, struct err *err);
void model_done(struct model *m);

/* Weight of all, on a side; share of it, 0 .. 1. */
uint64_t model_all(const struct model *m, int side);
double model_share(const struct model *m, int side, uint64_t weight);

/* The places of a function. The caller frees them; NULL when out of memory. */
struct place *model_places(const struct model *m, uint32_t symbol, size_t *n);
/* Sorts what one step from these places leads to into groups, heaviest first. New places are in
 * *next, by group. Returns 0 or -1 (out of memory); the caller frees both. */
int model_group(struct model *m, const struct place *from, size_t n, enum direction to,
		struct group **groups, size_t *n_groups, struct place **next);

#endif
