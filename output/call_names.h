/* call_names.h - names of flags and numbers that one system call has for itself. Private to
 * output/. */
#ifndef OUTPUT_CALL_NAMES_H
#define OUTPUT_CALL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Appends argument i of a call. Returns false if there are no names for it. */
bool call_names_add(struct text *t, const char *call, size_t i, uint64_t v);

#endif
