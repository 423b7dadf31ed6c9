/* secrets.h - private: arguments and environment of a process, which lie at the end of the stack of
 * its first thread, are not for everyone who gets the recording. */
#ifndef CAPTURE_SECRETS_H
#define CAPTURE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct secrets {
	size_t at;     /* where they begin */
	bool is_whole; /* all of them are in the copy */
};

/* The strings of arguments and environment in n bytes copied from the address sp on, which are all
 * that lies behind the auxiliary vector; at is n if the copy does not reach that far. Words of 8
 * bytes, or of 4 in 32-bit tasks.
 *
 * The vector is known by its own words: it tells the page size, and where behind it 16 random bytes
 * lie (Linux, fs/binfmt_elf.c, create_elf_tables()); copies of it elsewhere are not followed by
 * these. */
struct secrets secrets_find(const uint8_t *stack, size_t n, uint64_t sp, unsigned word_bytes);
/* Writes zeros over them. Returns how many bytes became zeros. */
size_t secrets_clear(uint8_t *stack, size_t n, uint64_t sp, unsigned word_bytes);

#endif
