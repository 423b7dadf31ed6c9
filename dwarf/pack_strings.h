/* pack_strings.h - strings of which each can be read by itself, in a quarter of their size. Private
 * to dwarf/.
 *
 * Linkage names of C++ and Rust are long and made of pieces of others. A string that has much that
 * is new goes into the text as it is. Others become records: how long they are, in 3 bytes, and
 * then steps until that is reached. Each is 5 bytes (enum pack_string_step) and up to 31 new bytes,
 * which come before those that it copies from the text: few to read, and all alike, so that a
 * processor guesses right what comes next. */
#ifndef DWARF_PACK_STRINGS_H
#define DWARF_PACK_STRINGS_H

#include "base/hash.h"
#include "dwarf/pack.h"

/* Bits of a step. */
enum pack_string_step {
	STEP_NEW_BITS = 5,
	STEP_COPY_BITS = 11,
	STEP_OFF_BITS = 24, /* in the text; what stands behind is not copied */
	STEP_BYTES = 5,
	STEP_LEN_BYTES = 3
};

struct pack_string_writer {
	struct pack_bytes text, records;
	/* private */
	uint32_t *near, *far; /* where in the text short and long pieces begin, by their hash */
	struct hash_table known;
	VEC(const char *) strings;
	VEC(uint32_t) refs; /* of the strings */
};

/* A reference to the string, from now on; 0 for NULL. 0; 1 when it is too long, or they are too
 * many; -ERR_NOMEM. The string must stay. */
int pack_string_add(struct pack_string_writer *w, const char *s, uint32_t *ref);
void pack_string_writer_done(struct pack_string_writer *w);

/* The string, in the file or its arena; NULL for 0, and when it is damaged or there is no memory
 * for it (then the file is taken as damaged). */
const char *pack_string_read(struct pack_file *f, uint32_t ref);

#endif
