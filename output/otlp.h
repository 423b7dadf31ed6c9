/* otlp.h - the dictionary of -f otlp, and samples by their places in it. Private to fmt_otlp.c and
 * otlp_dictionary.c. */
#ifndef OUTPUT_OTLP_H
#define OUTPUT_OTLP_H

#include "base/protobuf.h"
#include "output/pprof.h"

/* The sum of equal samples. */
struct otlp_cell {
	uint32_t stack, labels; /* index in the table of stacks; rank of the set of labels */
	uint64_t count, period;
};

struct otlp_cells {
	struct otlp_cell *v;
	size_t n, cap;
}; /* a VEC() */

struct otlp {
	struct pprof pp;
	/* Tables in the order of first use; attributes by their encoded form. */
	struct strtab strings, attributes;
	struct text label_lists; /* of all sets of labels, encoded */
	size_t *first_label;	 /* by rank of labels, and one more: where it begins */
	struct tree tree;	 /* the stacks: symbols are ranks of locations */
	uint32_t *stack_of;	 /* by node of the tree: index in the table of stacks; 0: none */
	uint32_t *stacks;	 /* the other way round */
	uint32_t n_stacks;	 /* with the empty one, 0 */
	uint32_t *nameless;	 /* by rank of mapping: the function for code without a name; 0 */
	struct text scope;	 /* the profiles */
	struct text msg, part, sub, value, name, entry;
	bool failed; /* memory ran out */
};

/* Index of a string in the dictionary; ill-formed UTF-8 is replaced. */
uint32_t otlp_string(struct otlp *o, const char *s, size_t n);
/* Index of an attribute whose value is a text. */
uint32_t otlp_text_attribute(struct otlp *o, const char *key, const char *s);
/* Finds the stacks of all events, in an order that depends only on what they are. 0 or -1. */
int otlp_number_stacks(struct otlp *o);
/* Sums up the samples of an event, by stack and labels. 0 or -1. */
int otlp_cells(struct otlp *o, uint32_t event, struct otlp_cells *ret);
/* Returns how many bytes the dictionary has; writes it unless `out` is NULL. The first call must be
 * without. */
uint64_t otlp_dictionary(struct otlp *o, FILE *out);
void otlp_done(struct otlp *o);

#endif
