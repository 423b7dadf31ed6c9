/* call_flags.h - the names of flags and numbers in arguments of system calls. Private to output/.
 */
#ifndef OUTPUT_CALL_FLAGS_H
#define OUTPUT_CALL_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

struct flag {
	uint64_t value;
	const char *name; /* NULL: the end of an array */
};

struct flag_kind {
	bool is_bits;	/* else a number, which is one of the flags */
	bool says_zero; /* bits: `zero` stands before them if the number is 0 */
	const struct flag *flags;
	const char *zero; /* what 0 is called, of bits */
	uint64_t number;  /* bits: these are a number, which one entry is */
};

/* Appends a value of the kind that a letter of struct syscall says: "O_RDONLY|O_CLOEXEC". Bits
 * without a name are a number. Returns false if the kind has no names. */
bool call_flags_add(struct text *t, char letter, uint64_t value);
void call_flags_add_kind(struct text *t, const struct flag_kind *k, uint64_t value);

#endif
