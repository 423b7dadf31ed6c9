/* hints.h - what would make the next recording better. */
#ifndef CMD_HINTS_H
#define CMD_HINTS_H

#include <stdio.h>

#include "cmd/pipeline.h"

/* One line each, with the input's name: stacks that were cut, and the size of the copies that would have
 * been enough; few roots; a module without names that much runs in; no call chains. Whether anything
 * was to be said. out: NULL: nothing is. */
bool print_hints(const struct pipeline *p, const char *input, FILE *out);

#endif
