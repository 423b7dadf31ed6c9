/* jit_info.h - rules for code of a JIT compiler. Private to unwind/. */
#ifndef UNWIND_JIT_INFO_H
#define UNWIND_JIT_INFO_H

#include "unwind/rule.h"

/* The rule of an address in the function. False: its call frame information is damaged, is for more
 * than one function or a signal frame, or does not cover ip. */
bool jit_rule(const struct jit_unwind_info *info, const struct arch *arch, uint64_t ip,
	      struct rule *ret);

#endif
