/* call_structs.h - structures that arguments of system calls point to. Private to output/. */
#ifndef OUTPUT_CALL_STRUCTS_H
#define OUTPUT_CALL_STRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Is it the letter of a structure (struct syscall)? */
bool call_struct_is(char letter);
/* Appends the structure of `size` bytes whose first bytes are the text that capture wrote, n
 * characters. Returns false, and appends nothing, if that has less than is to be shown. */
bool call_struct_add(struct text *t, char letter, const char *quoted, size_t n, size_t size);

#endif
