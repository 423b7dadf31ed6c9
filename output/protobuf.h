/* protobuf.h - appends protobuf messages (protobuf.dev/programming-guides/encoding) to a text.
 * Private to output/. Scalar fields that are 0 are left out, as in proto3. */
#ifndef OUTPUT_PROTOBUF_H
#define OUTPUT_PROTOBUF_H

#include "base/text.h"

enum { PB_VARINT = 0, PB_LENGTH = 2 };

static inline void pb_varint(struct text *t, uint64_t v)
{
	char bytes[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		bytes[n++] = (char)(v | 0x80);
	bytes[n++] = (char)v;
	text_add(t, bytes, n);
}

static inline void pb_uint(struct text *t, unsigned field, uint64_t v)
{
	if (!v)
		return;
	pb_varint(t, field << 3 | PB_VARINT);
	pb_varint(t, v);
}

/* Appends a string, or an encoded message or list of packed numbers. */
static inline void pb_bytes(struct text *t, unsigned field, const void *s, size_t n)
{
	pb_varint(t, field << 3 | PB_LENGTH);
	pb_varint(t, n);
	text_add(t, s, n);
}

/* Appends `part` as a field and empties it. */
static inline void pb_message(struct text *t, unsigned field, struct text *part)
{
	pb_bytes(t, field, part->s, part->n);
	t->failed |= part->failed;
	part->n = 0;
}

#endif
