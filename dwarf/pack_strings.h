/* pack_strings.h - stores strings in a quarter of their size; each can be read by itself. Private
 * to dwarf/.
 *
 * Linkage names of C++ and Rust are long and consist of pieces of other names. A string that is
 * mostly new is appended to the text as it is. Others become records: the length of the string, in
 * 3 bytes, then steps until that many bytes are made. A step is 5 bytes (enum pack_string_step) and
 * up to 31 new bytes, which come before the bytes that it copies from the text. So steps are few
 * and all of the same form, and the processor predicts their branches well. */
#ifndef DWARF_PACK_STRINGS_H
#define DWARF_PACK_STRINGS_H

#include "base/hash.h"
#include "dwarf/pack.h"

/* Bits of the fields of a step, and sizes in bytes. */
enum pack_string_step {
	STEP_NEW_BITS = 5,
	STEP_COPY_BITS = 11,
	STEP_OFF_BITS = 24, /* offset in the text; text beyond it is not copied */
	STEP_BYTES = 5,
	STEP_LEN_BYTES = 3
};

struct pack_string_writer {
	struct pack_bytes text, records;
	/* private */
	uint32_t *near, *far; /* offsets in the text of short and long pieces, by their hash */
	struct hash_table known;
	VEC(const char *) strings;
	VEC(uint32_t) refs; /* the reference of each string */
};

/* Adds a string, unless it is known, and sets *ref to its reference; 0 for NULL. `s` must stay
 * valid. Returns 0; 1 if the string is too long, or all strings together are; -ERR_NOMEM. */
int pack_string_add(struct pack_string_writer *w, const char *s, uint32_t *ref);
void pack_string_writer_done(struct pack_string_writer *w);

/* Returns the string, in the file or in its chunks; NULL for reference 0, and if it is damaged or
 * there is no memory for it (then f->damaged is set). */
const char *pack_string_read(struct pack_file *f, uint32_t ref);

#endif
