/* call_flags.h - the names of flags and numbers in arguments of system calls. Private to output/.
 */
#ifndef OUTPUT_CALL_FLAGS_H
#define OUTPUT_CALL_FLAGS_H

#include "base/text.h"

/* Appends a value of the kind that a letter of struct syscall says: "O_RDONLY|O_CLOEXEC". Bits
 * without a name are a number. Returns false if the kind has no names. */
bool call_flags_add(struct text *t, char letter, uint64_t value);

#endif
