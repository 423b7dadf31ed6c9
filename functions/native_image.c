/* native_image.c - methods and frame sizes from the code information of native-image. */
#include "functions/native_image.h"

#include <string.h>

/* How far before an address its method may start. The largest of two programs have 80 KB. */
#define METHOD_BYTES_MAX (256u << 10)

/* Bits of the flags. Each of the other fields has two, too. */
enum { FRAME_SHIFT, EXCEPTION_SHIFT = 2, REFERENCES_SHIFT = 4, INFO_SHIFT = 6, FIELD_MASK = 3 };

/* The low bits of a frame size. */
enum { SIZE_BEGINS_METHOD = 1, SIZE_FLAGS = 7 };

uint32_t native_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return v;
}

static uint32_t entry_bytes(uint8_t flags)
{
	static const uint8_t frame[] = {0, 1, 2, 4}, references[] = {0, 0, 2, 4};
	static const uint8_t info[] = {0, 5, 4, 4}; /* 5: of an entry for deoptimization */

	return 2u + frame[flags & FIELD_MASK] + frame[flags >> EXCEPTION_SHIFT & FIELD_MASK] +
	       references[flags >> REFERENCES_SHIFT & FIELD_MASK] + info[flags >> INFO_SHIFT];
}

static int32_t frame_field(const uint8_t *at, unsigned width)
{
	int16_t v;

	if (width == 1)
		return (int8_t)*at;
	if (width == 3)
		return (int32_t)native_u32(at);
	memcpy(&v, at, sizeof v);
	return v;
}

bool native_entry_read(const struct native_image *t, uint32_t end, struct native_entry *ret)
{
	const uint8_t *at = t->encodings + ret->off;
	int32_t size;

	if (ret->off >= end || end - ret->off < 2 || end - ret->off < entry_bytes(at[0]))
		return false;
	ret->end = ret->off + entry_bytes(at[0]);
	ret->next = at[1];
	ret->has_references = at[0] >> REFERENCES_SHIFT & FIELD_MASK;
	ret->has_frame = at[0] & FIELD_MASK;
	size = ret->has_frame ? frame_field(at + 2, at[0] & FIELD_MASK) : 0;
	ret->begins_method = size & SIZE_BEGINS_METHOD;
	ret->frame_bytes = size & ~SIZE_FLAGS;
	return true;
}

bool native_chunk_first(const struct native_image *t, uint64_t chunk, struct native_entry *ret,
			uint32_t *end)
{
	*ret = (struct native_entry){.code_off = chunk * NATIVE_CHUNK_BYTES,
				     .off = native_u32(t->index + 4 * chunk)};
	*end = native_u32(t->index + 4 * chunk + 4);
	return native_entry_read(t, *end, ret);
}

bool native_entry_next(const struct native_image *t, uint32_t end, struct native_entry *e)
{
	e->code_off += e->next;
	e->off = e->end;
	return e->next && native_entry_read(t, end, e);
}

/* The last entry of a chunk that begins a method at `last` or before. */
static bool last_start(const struct native_image *t, uint64_t chunk, uint64_t last,
		       struct native_entry *ret)
{
	struct native_entry e;
	bool found = false;
	uint32_t end;

	if (!native_chunk_first(t, chunk, &e, &end))
		return false;
	do {
		if (e.begins_method && e.code_off <= last) {
			*ret = e;
			found = true;
		}
	} while (native_entry_next(t, end, &e));
	return found;
}

/* Where the first method after `off` begins, or the code ends, or where no method is so large. */
static uint64_t next_start(const struct native_image *t, uint64_t off)
{
	uint64_t chunk = off / NATIVE_CHUNK_BYTES;
	const uint64_t last = chunk + METHOD_BYTES_MAX / NATIVE_CHUNK_BYTES + 1;
	struct native_entry e;
	uint32_t end;

	for (; chunk < t->n_chunks && chunk <= last; chunk++) {
		if (!native_chunk_first(t, chunk, &e, &end))
			continue;
		do {
			if (e.begins_method && e.code_off > off)
				return e.code_off;
		} while (native_entry_next(t, end, &e));
	}
	return chunk * NATIVE_CHUNK_BYTES;
}

bool native_image_method(const struct native_image *t, uint64_t vaddr, struct native_method *ret)
{
	const uint64_t off = vaddr - t->code_vaddr;
	uint64_t chunk = off / NATIVE_CHUNK_BYTES, n = METHOD_BYTES_MAX / NATIVE_CHUNK_BYTES;
	struct native_entry e;

	if (chunk >= t->n_chunks)
		return false;
	while (!last_start(t, chunk, off, &e))
		if (!chunk-- || !n--)
			return false;
	*ret = (struct native_method){t->code_vaddr + e.code_off,
				      t->code_vaddr + next_start(t, e.code_off), e.frame_bytes};
	return vaddr < ret->end && ret->end - ret->start <= METHOD_BYTES_MAX;
}

bool native_image_has_references(const struct native_image *t, uint64_t vaddr)
{
	const uint64_t off = vaddr - t->code_vaddr, chunk = off / NATIVE_CHUNK_BYTES;
	struct native_entry e;
	uint32_t end;

	if (chunk >= t->n_chunks || !native_chunk_first(t, chunk, &e, &end))
		return false;
	while (e.code_off < off && native_entry_next(t, end, &e))
		;
	return e.code_off == off && e.off < end && e.has_references;
}
