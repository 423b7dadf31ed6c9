/* native_image.h - the code information of GraalVM's native-image. Private to functions/.
 *
 * index: for each 256 bytes of code, a u32: the offset in the encodings of the entry for its first
 * byte. encodings: entries, each u8 flags, u8 distance to the next one in bytes of code, and the
 * fields that the flags say, of which only the first is read: the frame size. */
#ifndef FUNCTIONS_NATIVE_IMAGE_H
#define FUNCTIONS_NATIVE_IMAGE_H

#include "functions/functions.h"

enum { NATIVE_CHUNK_BYTES = 256 };

/* An entry of the encodings. */
struct native_entry {
	uint64_t code_off; /* from the first chunk */
	uint32_t off, end; /* in the encodings */
	unsigned next;	   /* bytes of code to the next entry */
	bool has_frame, begins_method, has_references;
	int32_t frame_bytes; /* if has_frame */
};

uint32_t native_u32(const uint8_t *at);
/* The entry at ret->off, for ret->code_off. Returns false if it does not end before `end`. */
bool native_entry_read(const struct native_image *t, uint32_t end, struct native_entry *ret);
/* The first entry of a chunk, and the end of its entries. */
bool native_chunk_first(const struct native_image *t, uint64_t chunk, struct native_entry *ret,
			uint32_t *end);
/* Changes *e to the next entry of its chunk. Returns false if it is the last. */
bool native_entry_next(const struct native_image *t, uint32_t end, struct native_entry *e);

#endif
