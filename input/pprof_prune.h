/* pprof_prune.h - drop_frames and keep_frames of a pprof profile. Private to input/.
 *
 * The producer names functions that nobody wants to see (malloc's own, in a profile of a heap). A
 * frame that drop_frames fits and keep_frames does not is removed with all that it has called, as
 * profile.Prune() of github.com/google/pprof does. */
#ifndef INPUT_PPROF_PRUNE_H
#define INPUT_PPROF_PRUNE_H

#include <regex.h>

#include "input/input.h"

struct pruner {
	regex_t drop, keep;
	bool has_drop, has_keep;
};

/* What is done to a location. */
enum prune { PRUNE_NOT, PRUNE_ALL, PRUNE_BELOW };

/* Compiles both patterns ("": none). False: they have what is not supported, and nothing is
 * dropped. Call pruner_done() in both cases. */
bool pruner_begin(struct pruner *p, const char *drop, const char *keep);
void pruner_done(struct pruner *p);
/* Is a function of this name dropped? */
bool pruner_drops(const struct pruner *p, const char *name);
/* The length that stays of a stack, leaf first, of n locations: *first is the innermost one. */
size_t pruned_first(const uint8_t *prunes, size_t n);

#endif
