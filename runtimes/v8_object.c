/* v8_object.c - objects and strings of V8.
 *
 * Sources of truth: objects/tagged-impl.h (the low two bits of a pointer are 01, the low 32 of a
 * small integer 0), objects/map.tq (instance_type at byte 12), objects/instance-type.h and
 * objects/string.tq (kinds of strings). These have been the same from release 9 to 13 with pointers
 * of 64 bits; what is read is checked. */
#include <stdlib.h>
#include <string.h>

#include "runtimes/v8.h"

enum { TAG = 1, TAG_MASK = 3, MAP_TYPE_AT = 12 };

/* instance-type.h: what is below is a string. */
enum { STRING_TYPES = 0x80, KIND_MASK = 7, ONE_BYTE = 8, UNCACHED = 16 };
enum kind { KIND_FLAT, KIND_CONS, KIND_EXTERNAL, KIND_SLICED, KIND_THIN = 5 };

/* string.tq */
enum { LENGTH_AT = 12, CHARS_AT = 16, FIRST_AT = 16, SECOND_AT = 24, DATA_AT = 24 };

enum { DEPTH_MAX = 16, SOURCE_CHARS_MAX = 16 << 20 };

/* User space, above the page of NULL. */
bool v8_is_object(uint64_t tagged)
{
	return (tagged & TAG_MASK) == TAG && tagged >> 47 == 0 && tagged >= 65536;
}

bool v8_word(struct v8 *v, uint64_t object, int32_t off, uint64_t *ret)
{
	*ret = 0;
	return v8_is_object(object) && remote_u64(&v->mem, object - TAG + (uint32_t)off, ret);
}

bool v8_type(struct v8 *v, uint64_t object, uint16_t *ret)
{
	uint64_t map;

	return v8_word(v, object, 0, &map) && v8_is_object(map) &&
	       remote_u16(&v->mem, map - TAG + MAP_TYPE_AT, ret);
}

bool v8_is(struct v8 *v, uint64_t object, enum v8_number type)
{
	uint16_t is;

	return v8_has(v, type) && v8_type(v, object, &is) && is == v->k[type];
}

bool v8_field(struct v8 *v, uint64_t object, int32_t off, enum v8_number type, uint64_t *ret)
{
	return v8_word(v, object, off, ret) && v8_is(v, *ret, type);
}

bool v8_smi(struct v8 *v, uint64_t object, int32_t off, int32_t *ret)
{
	uint64_t word;

	if (!v8_word(v, object, off, &word) || (uint32_t)word)
		return false;
	*ret = (int32_t)(word >> 32);
	return true;
}

/* ---- strings ------------------------------------------------------------------------------ */

/* Some characters of a string, as UTF-16. */
struct chars {
	uint16_t *v;
	uint32_t n;
};

static bool read_chars(struct v8 *v, uint64_t at, bool one_byte, struct chars to)
{
	uint8_t *bytes = (uint8_t *)to.v;

	if (!one_byte)
		return remote_read(&v->mem, at, bytes, 2ull * to.n);
	/* Into the second half, and from there to its place. */
	if (!remote_read(&v->mem, at, bytes + to.n, to.n))
		return false;
	for (uint32_t i = 0; i < to.n; i++)
		to.v[i] = bytes[to.n + i];
	return true;
}

static bool length_of(struct v8 *v, uint64_t string, uint32_t *ret)
{
	uint16_t type;

	return v8_type(v, string, &type) && type < STRING_TYPES &&
	       remote_u32(&v->mem, string - TAG + LENGTH_AT, ret) && *ret <= SOURCE_CHARS_MAX;
}

/* The characters from `from` on of a string. */
static bool string_read(struct v8 *v, uint64_t string, uint32_t from, struct chars to, int depth)
{
	uint64_t first, second;
	uint32_t length, n;
	int32_t off;
	uint16_t type;
	bool one;

	if (!depth || !v8_type(v, string, &type) || !length_of(v, string, &length) ||
	    from > length || to.n > length - from)
		return false;
	one = type & ONE_BYTE;
	switch ((enum kind)(type & KIND_MASK)) {
	case KIND_FLAT:
		return read_chars(v, string - TAG + CHARS_AT + (from << !one), one, to);
	case KIND_THIN:
		return v8_word(v, string, FIRST_AT, &first) &&
		       string_read(v, first, from, to, depth - 1);
	case KIND_SLICED:
		return v8_word(v, string, FIRST_AT, &first) && v8_smi(v, string, SECOND_AT, &off) &&
		       off >= 0 && string_read(v, first, from + (uint32_t)off, to, depth - 1);
	case KIND_EXTERNAL: /* the program's own memory */
		return !(type & UNCACHED) && v8_word(v, string, DATA_AT, &first) &&
		       read_chars(v, first + (from << !one), one, to);
	case KIND_CONS:
		if (!v8_word(v, string, FIRST_AT, &first) ||
		    !v8_word(v, string, SECOND_AT, &second) || !length_of(v, first, &n) ||
		    n > length)
			return false;
		if (from < n) {
			const uint32_t part = to.n < n - from ? to.n : n - from;

			if (!string_read(v, first, from, (struct chars){to.v, part}, depth - 1))
				return false;
			to = (struct chars){to.v + part, to.n - part};
			from = n;
		}
		return !to.n || string_read(v, second, from - n, to, depth - 1);
	default:
		return false;
	}
}

/* Appends a code point; what cannot be shown becomes a question mark. */
static size_t put_utf8(uint32_t c, char *to)
{
	size_t n = 0;

	if (c < ' ' || c == 0x7f || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		to[n++] = (char)c;
		return n;
	}
	if (c >= 0x10000)
		to[n++] = (char)(0xf0 | c >> 18);
	if (c >= 0x800)
		to[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 63) : 0xe0 | c >> 12);
	to[n++] = (char)(c >= 0x800 ? 0x80 | (c >> 6 & 63) : 0xc0 | c >> 6);
	to[n++] = (char)(0x80 | (c & 63));
	return n;
}

bool v8_text(struct v8 *v, uint64_t string, char *to, size_t size)
{
	uint16_t chars[V8_TEXT_MAX];
	uint32_t n;
	size_t len = 0;

	*to = 0;
	if (!length_of(v, string, &n) || n >= V8_TEXT_MAX ||
	    !string_read(v, string, 0, (struct chars){chars, n}, DEPTH_MAX))
		return false;
	for (uint32_t i = 0; i < n && len + 5 <= size; i++) {
		uint32_t c = chars[i];

		if (c >= 0xd800 && c < 0xdc00 && i + 1 < n && chars[i + 1] >= 0xdc00 &&
		    chars[i + 1] < 0xe000)
			c = 0x10000 + ((c - 0xd800) << 10) + (chars[++i] - 0xdc00u);
		len += put_utf8(c, to + len);
	}
	to[len] = 0;
	return true;
}

bool v8_line_ends(struct v8 *v, uint64_t string, uint32_t **ret, uint32_t *n, uint32_t *chars,
		  bool *nomem)
{
	VEC(uint32_t) ends = {0};
	uint16_t *text;
	bool ok;

	*ret = NULL;
	if (!length_of(v, string, chars)) {
		*chars = 0; /* it was too large */
		return false;
	}
	text = malloc(2ull * *chars + 2);
	*nomem |= !text;
	ok = text && string_read(v, string, 0, (struct chars){text, *chars}, DEPTH_MAX);
	for (uint32_t i = 0; ok && i <= *chars; i++) {
		/* ECMA-262, line terminators; CR LF is one. */
		const bool is_end = i == *chars || text[i] == '\n' || text[i] == 0x2028 ||
				    text[i] == 0x2029 ||
				    (text[i] == '\r' && (i + 1 == *chars || text[i + 1] != '\n'));

		if (is_end && vec_push(&ends, i)) {
			*nomem = true;
			ok = false;
		}
	}
	free(text);
	if (!ok) {
		vec_done(&ends);
		return false;
	}
	*ret = ends.v;
	*n = (uint32_t)ends.n;
	return true;
}
