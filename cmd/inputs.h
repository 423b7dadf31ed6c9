/* inputs.h - reads the inputs of `resolve`: one, the sum of several, or the two sides of a
 * difference. */
#ifndef CMD_INPUTS_H
#define CMD_INPUTS_H

#include "cmd/resolve_options.h"

/* Fills *ret, which the caller releases with loaded_done() in any case. Of several inputs it has
 * the profile only. What there is to say about each is printed, and r->damaged, r->interrupted and
 * r->output are set. Returns 0, or negative with *err. */
int inputs_load(struct resolve *r, struct loaded *ret, struct err *err);
/* Prints what would make the next recording better; sets r->is_poor. For the one input, when the
 * output is written; for several, inputs_load() does it. */
void input_hints(struct resolve *r, const struct loaded *in);

#endif
