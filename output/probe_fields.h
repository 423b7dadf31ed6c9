/* probe_fields.h - what capture --args and --strings read, in the text of a tracepoint's fields.
 * Private to output/. */
#ifndef OUTPUT_PROBE_FIELDS_H
#define OUTPUT_PROBE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Is what stands in the quotes a text that was read, and all of it printable? */
bool probe_text_is_plain(const char *s, size_t n);
/* Appends the fields, s0, s1 .. only where they are such, and without what ends them. */
void probe_fields_add(struct text *t, const char *fields);

#endif
