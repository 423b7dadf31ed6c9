/* text_encoding.c - UTF-16 (RFC 2781) to UTF-8 (RFC 3629). */
#include "input/text_encoding.h"

#include <stdbool.h>
#include <string.h>

size_t encoding_begin(struct text_encoding *e, const uint8_t *s, size_t n)
{
	static const struct {
		uint8_t mark[3];
		size_t n;
		enum encoding_kind kind;
	} rows[] = {
		{{0xef, 0xbb, 0xbf}, 3, ENCODING_UTF8},
		{{0xff, 0xfe}, 2, ENCODING_UTF16_LE},
		{{0xfe, 0xff}, 2, ENCODING_UTF16_BE},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (n >= rows[i].n && !memcmp(s, rows[i].mark, rows[i].n)) {
			e->kind = rows[i].kind;
			return rows[i].n;
		}
	e->kind = ENCODING_UTF8;
	return 0;
}

static size_t put_utf8(uint8_t *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (uint8_t)(0xc0 | c >> 6);
		to[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (uint8_t)(0xe0 | c >> 12);
		to[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		to[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (uint8_t)(0xf0 | c >> 18);
	to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	to[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	to[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t unit_at(const struct text_encoding *e, const uint8_t *s)
{
	return e->kind == ENCODING_UTF16_LE ? (uint32_t)(s[0] | s[1] << 8)
					    : (uint32_t)(s[0] << 8 | s[1]);
}

static bool is_high(uint32_t unit)
{
	return unit >> 10 == 0xd800 >> 10;
}

static bool is_low(uint32_t unit)
{
	return unit >> 10 == 0xdc00 >> 10;
}

/* Writes the characters that are complete in e->part, and leaves the rest there. */
static size_t take_part(struct text_encoding *e, uint8_t *to)
{
	uint32_t first, second;

	if (e->n_part < 2)
		return 0;
	first = unit_at(e, e->part);
	if (is_high(first) && e->n_part < 4)
		return 0;
	second = e->n_part < 4 ? 0 : unit_at(e, e->part + 2);
	if (is_high(first) && is_low(second)) {
		e->n_part = 0;
		return put_utf8(to, 0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff));
	}
	e->n_part -= 2;
	memmove(e->part, e->part + 2, e->n_part);
	return put_utf8(to, is_high(first) || is_low(first) ? 0xfffd : first);
}

size_t encoding_convert(struct text_encoding *e, const uint8_t *s, size_t n, uint8_t *to)
{
	size_t i, out = 0, got;

	if (e->kind == ENCODING_UTF8) {
		memcpy(to, s, n);
		return n;
	}
	for (i = 0; i < n; i++) {
		e->part[e->n_part++] = s[i];
		while ((got = take_part(e, to + out)))
			out += got;
	}
	return out;
}
