/* tree.h - a calling-context tree over the symbols of one format. Private to output/.
 *
 * A profile's own tree is over locations: exact addresses. What a format shows is coarser (names)
 * or in another order (pprof wants the same bytes whatever the ids were), so it brings the symbols
 * of every location, root first, and gets the tree in which stacks of equal symbols are one. The
 * first level is the format's too: the command name, a set of labels. */
#ifndef OUTPUT_TREE_H
#define OUTPUT_TREE_H

#include "base/hash.h"
#include "output/output.h"

struct tree_node {
	uint32_t parent; /* smaller than the node's own id; node 0 is the root */
	uint32_t symbol;
	uint64_t count, period; /* of samples that end here */
};

struct tree_seen {
	uint32_t root; /* node of the first level; 0: not yet */
	uint32_t node;
};

struct tree {
	VEC(struct tree_node) nodes;
	struct hash_index children; /* (parent, symbol) -> node, if not parent + 1 */
	uint64_t secret;	    /* of its hashes: who writes a recording chooses the stacks */
	struct tree_seen *seen;	    /* by profile node: where it was found last */
	VEC(uint32_t) todo;
};

struct tree_symbols {
	VEC(uint32_t) first; /* by location, and one more: where its symbols begin */
	VEC(uint32_t) ids;
	VEC(uint32_t) roots; /* by sample: symbol of the first level */
};

/* Fills an empty (zeroed) tree with all samples of an event. 0 or ERR_NOMEM. */
int tree_fill(struct tree *t, const struct profile *p, uint32_t event,
	      const struct tree_symbols *symbols, struct err *err);
void tree_done(struct tree *t);
void tree_symbols_done(struct tree_symbols *s);

/* Children of each node in an order of the caller's. */
struct tree_order {
	uint32_t *first; /* by node, and one more */
	uint32_t *ids;
};

/* rank: by symbol, < n_ranks; NULL: the symbol itself. 0 or ERR_NOMEM. */
int tree_order_make(struct tree_order *o, const struct tree *t, const uint32_t *rank,
		    size_t n_ranks, struct err *err);
void tree_order_done(struct tree_order *o);

/* Sorts ids by key[id] < n_keys, keeping the order of equal ones. 0 or ERR_NOMEM. */
int order_by_key(uint32_t *ids, size_t n, const uint32_t *key, size_t n_keys, struct err *err);

#endif
