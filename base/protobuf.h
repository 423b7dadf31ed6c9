/* protobuf.h - protobuf messages (protobuf.dev/programming-guides/encoding): the fields of one, and
 * the bytes of one that is written. */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include "base/buf.h"
#include "base/text.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_LENGTH = 2, PB_FIXED32 = 5 };

struct pb_field {
	unsigned number; /* not 0 */
	enum pb_type type;
	uint64_t value;	  /* of a varint; of others 0 */
	struct buf bytes; /* of a string, message or packed numbers; of others empty */
};

/* Takes the next field. False at the end, and, with b->bad set, if the rest is not valid. Numbers
 * of fixed size, which no message that is read here has, are skipped. */
static inline bool pb_next(struct buf *b, struct pb_field *f)
{
	uint64_t key;

	if (!buf_left(b))
		return false;
	key = buf_uleb(b);
	*f = (struct pb_field){.number = (unsigned)(key >> 3), .type = (enum pb_type)(key & 7)};
	if (!f->number || key >> 32)
		b->bad = true;
	switch (f->type) {
	case PB_VARINT:
		f->value = buf_uleb(b);
		break;
	case PB_LENGTH:
		f->bytes = buf_sub(b, buf_uleb(b));
		break;
	case PB_FIXED64:
		buf_skip(b, 8);
		break;
	case PB_FIXED32:
		buf_skip(b, 4);
		break;
	default:
		b->bad = true;
	}
	return buf_ok(b);
}

/* Reads the numbers of a message into v[field number], which is below n. False: damaged. */
static inline bool pb_numbers(struct buf b, uint64_t v[], size_t n)
{
	struct pb_field f;

	memset(v, 0, n * sizeof *v);
	while (pb_next(&b, &f))
		if (f.number < n)
			v[f.number] = f.value;
	return buf_ok(&b);
}

/* ---- writing: scalar fields that are 0 are left out, as in proto3 -------------------------- */

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
