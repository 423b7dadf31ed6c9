/* advice.h - what would make the next recording better. */
#ifndef CMD_ADVICE_H
#define CMD_ADVICE_H

#include <stdio.h>

#include "cmd/pipeline.h"

/* Says when many stacks were cut, and the size of the copies that would have been enough. */
void advise_stack_size(const struct pipeline *p, FILE *out);

#endif
