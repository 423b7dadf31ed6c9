/* nearest.h - the names that come near one that no function has. Private to probe/. */
#ifndef PROBE_NEAREST_H
#define PROBE_NEAREST_H

#include "functions/functions.h"
#include "probe/match.h"

enum { NEAREST_BYTES = 256 };

/* Writes up to three names of functions that may have been meant: "func_a, func_b"; of a
 * pattern with wildcards a wider one; "": none. */
void nearest_names(struct pattern *p, const struct functab *tab, char ret[NEAREST_BYTES]);

#endif
