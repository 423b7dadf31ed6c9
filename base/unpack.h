/* unpack.h - streaming decompressors: one row each for gzip, xz and zstd. A file may consist of
 * several compressed members in a row. */
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

/* Result of a step. After STEP_END another member may follow. */
enum unpack_step { STEP_ON, STEP_END, STEP_DAMAGED, STEP_NOMEM };

#define UNPACK_MAGIC_BYTES 6

struct unpacker {
	uint8_t magic[UNPACK_MAGIC_BYTES];
	uint8_t n_magic;
	/* NULL when out of memory. */
	void *(*begin)(void);
	/* Consumes input, fills output and advances both. last: no more input follows this. */
	enum unpack_step (*step)(void *state, struct piece *p, bool last);
	void (*end)(void *state);
};

/* Finds the row by the first bytes of a file; NULL if it is not compressed. */
const struct unpacker *unpacker_find(const uint8_t *head, size_t n);

#endif
