/* probed_function.h - which of the functions at a probe's address is meant. Private to output/. */
#ifndef OUTPUT_PROBED_FUNCTION_H
#define OUTPUT_PROBED_FUNCTION_H

#include "output/formats.h"

/* The function that an event's name has, where an inlined copy of it begins: *name is its name, and
 * returned its level as of profile_values(). Else 0: the function itself; then *name is 0. */
size_t probed_level(const struct profile *p, const struct profile_log_entry *e, uint32_t *name);

#endif
