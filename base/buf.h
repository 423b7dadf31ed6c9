/* buf.h - bounded cursor over bytes that the caller owns. All file parsing goes through it.
 *
 * Reading past the end sets `bad` (sticky), returns 0 and leaves the cursor at the end, so a run of
 * reads is checked once at the end with buf_ok(). `base_off` is where data[0] lies in the file, for
 * messages: buf_off() is the file offset of the next byte. Loads are unaligned-safe and swap when
 * `swap` is set (data of the other byte order).
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Stack copies, images and caches are read as they lie in memory. Recordings of big-endian machines
 * are read, too, but not on them. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "unspool runs on little-endian processors only: x86-64, arm64, riscv64, i386, armhf .."
#endif

struct buf {
	const uint8_t *data; /* first byte */
	const uint8_t *p;    /* next byte; data <= p <= end */
	const uint8_t *end;
	uint64_t base_off;
	bool swap;
	bool bad;
};

static inline struct buf buf_make(const void *data, size_t size, uint64_t base_off, bool swap)
{
	const uint8_t *d = data;

	return (struct buf){d, d, d ? d + size : d, base_off, swap, false};
}

static inline bool buf_ok(const struct buf *b)
{
	return !b->bad;
}

static inline size_t buf_left(const struct buf *b)
{
	return (size_t)(b->end - b->p);
}

static inline uint64_t buf_off(const struct buf *b)
{
	return b->base_off + (uint64_t)(b->p - b->data);
}

/* Takes n bytes: pointer to them, or NULL (and bad) when fewer are left. n == 0 gives non-NULL p
 * unless the buffer itself is NULL. */
static inline const uint8_t *buf_take(struct buf *b, uint64_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > buf_left(b)) {
		b->bad = true;
		b->p = b->end;
		return NULL;
	}
	b->p = n ? p + n : p;
	return p;
}

static inline void buf_skip(struct buf *b, uint64_t n)
{
	(void)buf_take(b, n);
}

/* Cursor over the next n bytes, which are consumed here. Bad when they are not all there. */
static inline struct buf buf_sub(struct buf *b, uint64_t n)
{
	uint64_t off = buf_off(b);
	const uint8_t *p = buf_take(b, n);
	struct buf s = buf_make(p, p ? (size_t)n : 0, off, b->swap);

	s.bad = !p;
	return s;
}

/* Absolute seek from data[0]. */
static inline void buf_seek(struct buf *b, uint64_t pos)
{
	if (pos > (uint64_t)(b->end - b->data)) {
		b->bad = true;
		b->p = b->end;
		return;
	}
	b->p = pos ? b->data + pos : b->data; /* nothing is added to a null pointer, not even 0 */
}

static inline uint8_t buf_u8(struct buf *b)
{
	const uint8_t *p = buf_take(b, 1);

	return p ? *p : 0;
}

static inline uint16_t buf_u16(struct buf *b)
{
	const uint8_t *p = buf_take(b, 2);
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return b->swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t buf_u32(struct buf *b)
{
	const uint8_t *p = buf_take(b, 4);
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return b->swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t buf_u64(struct buf *b)
{
	const uint8_t *p = buf_take(b, 8);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof v);
	return b->swap ? __builtin_bswap64(v) : v;
}

/* The word at pos from data[0], wherever the cursor is; 0 when it is not all there. */
static inline uint64_t buf_u64_at(const struct buf *b, uint64_t pos)
{
	const uint64_t size = (uint64_t)(b->end - b->data);
	uint64_t v = 0;

	if (size >= sizeof v && pos <= size - sizeof v)
		memcpy(&v, b->data + pos, sizeof v);
	return b->swap ? __builtin_bswap64(v) : v;
}

/* Limit on the encoded length, more than any padding that tools write: numbers that are read again
 * and again, because many entries refer to them, would otherwise cost a pass over the file each
 * time. */
#define LEB_BYTES_MAX 32

/* LEB128 (DWARF5 7.6). Bits beyond 64 are dropped; the encoding must end within the buffer and
 * LEB_BYTES_MAX. */
static inline uint64_t buf_uleb(struct buf *b)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (b->p < b->end && !b->bad) {
		uint8_t c = *b->p++;

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		else if (shift >= LEB_BYTES_MAX * 7)
			break;
		shift += 7;
		if (!(c & 0x80))
			return v;
	}
	b->bad = true;
	return 0;
}

static inline int64_t buf_sleb(struct buf *b)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (b->p < b->end && !b->bad) {
		uint8_t c = *b->p++;

		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		else if (shift >= LEB_BYTES_MAX * 7)
			break;
		shift += 7;
		if (!(c & 0x80)) {
			if (shift < 64 && (c & 0x40))
				v |= ~(uint64_t)0 << shift;
			return (int64_t)v;
		}
	}
	b->bad = true;
	return 0;
}

/* NUL-terminated string inside the buffer; NULL (and bad) when no NUL is left. */
static inline const char *buf_cstr(struct buf *b)
{
	const uint8_t *p = b->p;
	const uint8_t *nul = b->bad || p == b->end ? NULL : memchr(p, 0, buf_left(b));

	if (!nul) {
		b->bad = true;
		b->p = b->end;
		return NULL;
	}
	b->p = nul + 1;
	return (const char *)p;
}

#endif
