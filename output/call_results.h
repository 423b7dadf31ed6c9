/* call_results.h - what calls return, in words. Private to output/. */
#ifndef OUTPUT_CALL_RESULTS_H
#define OUTPUT_CALL_RESULTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* A result by its type (profile_result_type()): the register holds more bits than those of it. */
void call_typed_add(struct text *t, const char *type, size_t n, int64_t v);
/* "-1 ENOENT (No such file or directory)", or that the kernel begins the call again. */
void call_error_add(struct text *t, int error);

#endif
