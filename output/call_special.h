/* call_special.h - arguments of system calls whose meaning other arguments decide. Private to
 * output/. */
#ifndef OUTPUT_CALL_SPECIAL_H
#define OUTPUT_CALL_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/syscalls.h"
#include "base/text.h"

/* Appends all arguments of a call that has a form of its own. Returns false if it has none, as the
 * next ones do for one argument, and for the result. */
bool call_special_args(struct text *t, const struct syscall *call, const uint64_t *args,
		       bool is_x86_64);
bool call_special_arg(struct text *t, const struct syscall *call, const uint64_t *args, size_t i);
bool call_special_result(struct text *t, const struct syscall *call, const uint64_t *args,
			 int64_t v);
void call_prctl(struct text *t, const uint64_t *args);
/* Is there such an argument, given those before it? */
bool call_special_is_used(const struct syscall *call, const uint64_t *args, size_t i);

#endif
