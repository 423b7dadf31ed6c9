/* hits.h - private: which of the probed functions were hit how often. */
#ifndef REPORT_HITS_H
#define REPORT_HITS_H

#include <stdio.h>

#include "profile/profile.h"

/* A line for each function, those that were hit most first; nothing if there are no probes. Without
 * memory it says less. */
void report_hits(const struct profile *p, FILE *out);

#endif
