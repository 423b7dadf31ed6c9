/* advice.h - what would make the next recording better. */
#ifndef CMD_ADVICE_H
#define CMD_ADVICE_H

#include <stdio.h>

#include "cmd/pipeline.h"

/* One line each, with the input's name: stacks that were cut, and the size of the copies that would have
 * been enough; few roots; a module without names that much runs in; no call chains. Whether anything
 * was to be said. out: NULL: nothing is. */
bool advise(const struct pipeline *p, const char *input, FILE *out);

#endif
