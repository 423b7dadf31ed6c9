/* files.h - private: which dsos are one file. */
#ifndef CUT_FILES_H
#define CUT_FILES_H

#include "cut/cut.h"

/* Appends; -1: out of memory. */
int cut_addrs_add(struct cut_addrs *to, const struct cut_addrs *from);
/* Adds the hits of dsos with one build id together, at the one whose file has the most symbols: by
 * the id it is found for all of them. Where their code differs they are twins instead. Only those
 * that `wanted` takes. Returns 0 or -1 (no memory). */
int cut_one_per_file(struct modules *ms, struct cut_hits *hits,
		     bool (*wanted)(const struct cut_dso *d));

#endif
