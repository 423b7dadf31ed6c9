/* unpack.h - one row per packer: gzip, xz, zstd; files may hold several packed members one after
 * the other. */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct piece {
	const uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
};

/* What a step came to. At the end of a member another may follow. */
enum unpack_step { STEP_ON, STEP_END, STEP_DAMAGED, STEP_NOMEM };

#define UNPACK_MAGIC_BYTES 6

struct unpacker {
	uint8_t magic[UNPACK_MAGIC_BYTES];
	uint8_t n_magic;
	/* NULL when out of memory. */
	void *(*begin)(void);
	/* Uses input and fills output; both advance. last: there is no more input than this. */
	enum unpack_step (*step)(void *state, struct piece *p, bool last);
	void (*end)(void *state);
};

/* By how a file begins; NULL: it is not packed. */
const struct unpacker *unpacker_find(const uint8_t *head, size_t n);

#endif
