/* explain.h - --explain ADDR: everything that led to the name of one address, or to its lack. */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include <stdint.h>
#include <stdio.h>

#include "cmd/pipeline.h"

/* Explains every location of the profile (made with PROFILE_KEEP_IPS) that `script` shows as this
 * address: which mapping, which files were tried and used, which symbol and lines. Returns how
 * many. */
size_t explain_address(const struct pipeline *p, uint64_t ip, FILE *out);

#endif
