/* bytes.h - private: a growing buffer that is filled field by field. */
#ifndef CAPTURE_BYTES_H
#define CAPTURE_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* A zeroed one is empty. When memory runs out `failed` is set; check it once, at the end. */
struct bytes {
	VEC(uint8_t) vec;
	bool failed;
};

/* Room for n bytes behind those that are there; NULL when out of memory. */
static inline uint8_t *bytes_room(struct bytes *b, size_t n)
{
	b->failed |= vec_reserve(&b->vec, b->vec.n + n) != 0;
	return b->failed ? NULL : b->vec.v + b->vec.n;
}

static inline void bytes_put(struct bytes *b, const void *p, size_t n)
{
	if (b->failed || vec_reserve(&b->vec, b->vec.n + n)) {
		b->failed = true;
		return;
	}
	if (n)
		memcpy(b->vec.v + b->vec.n, p, n);
	b->vec.n += n;
}

static inline void bytes_u32(struct bytes *b, uint32_t v)
{
	bytes_put(b, &v, sizeof v);
}

static inline void bytes_u64(struct bytes *b, uint64_t v)
{
	bytes_put(b, &v, sizeof v);
}

static inline void bytes_zeros(struct bytes *b, size_t n)
{
	static const uint8_t zeros[64];

	for (; n > sizeof zeros; n -= sizeof zeros)
		bytes_put(b, zeros, sizeof zeros);
	bytes_put(b, zeros, n);
}

static inline void bytes_done(struct bytes *b)
{
	vec_done(&b->vec);
}

#endif
