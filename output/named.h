/* named.h - stacks under the names that flame graphs show: command name, then functions, root
 * first. Private to output/. */
#ifndef OUTPUT_NAMED_H
#define OUTPUT_NAMED_H

#include "base/strtab.h"
#include "output/tree.h"

struct named_stacks {
	struct strtab names; /* the symbols of the tree */
	struct tree tree;
};

/* Fills a zeroed *s with the samples of the event that opt asks for. 0 or negative with *err; to be
 * released with named_done() in both cases. */
int named_stacks(struct named_stacks *s, const struct profile *p, const struct output_options *opt,
		 struct err *err);
void named_done(struct named_stacks *s);

#endif
