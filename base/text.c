/* text.c - growing text, numbers, and names made harmless. */
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool text_reserve(struct text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : 256;
	char *s;

	if (n > SIZE_MAX / 4 - t->n) {
		t->failed = true;
		return false;
	}
	while (cap - t->n < n)
		cap *= 2;
	if (cap == t->cap)
		return true;
	s = realloc(t->s, cap);
	if (!s) {
		t->failed = true;
		return false;
	}
	t->s = s;
	t->cap = cap;
	return true;
}

void text_done(struct text *t)
{
	free(t->s);
	*t = (struct text){0};
}

void text_flush(struct text *t, FILE *out)
{
	if (t->n)
		fwrite(t->s, 1, t->n, out);
	t->n = 0;
}

void text_pad(struct text *t, size_t n, size_t width)
{
	for (; n < width; n++)
		text_char(t, ' ');
}

/* Right-aligned, filled up to the width with `fill`. */
static void add_number(struct text *t, uint64_t v, unsigned base, unsigned width, char fill)
{
	char digits[20], *end = digits + sizeof digits, *p = end;

	do
		*--p = "0123456789abcdef"[v % base];
	while (v /= base);
	for (; (size_t)(end - p) < width; width--)
		text_char(t, fill);
	text_add(t, p, (size_t)(end - p));
}

void text_dec(struct text *t, uint64_t v, unsigned width)
{
	add_number(t, v, 10, width, ' ');
}

void text_int(struct text *t, int64_t v, unsigned width)
{
	char buf[32];

	if (v >= 0)
		text_dec(t, (uint64_t)v, width);
	else
		text_add(t, buf, (size_t)snprintf(buf, sizeof buf, "%*" PRId64, (int)width, v));
}

void text_hex(struct text *t, uint64_t v, unsigned width)
{
	add_number(t, v, 16, width, ' ');
}

void text_digits(struct text *t, uint64_t v, unsigned n)
{
	add_number(t, v, 10, n, '0');
}

void text_hex_digits(struct text *t, uint64_t v, unsigned n)
{
	add_number(t, v, 16, n, '0');
}

/* The code point of a well-formed character of the Basic Multilingual Plane, else 0xffff. */
static uint16_t code_point(const char *s, size_t len)
{
	const uint8_t *b = (const uint8_t *)s;

	switch (len) {
	case 1:
		return b[0];
	case 2:
		return (uint16_t)((b[0] & 0x1f) << 6 | (b[1] & 0x3f));
	case 3:
		return (uint16_t)((b[0] & 0xf) << 12 | (b[1] & 0x3f) << 6 | (b[2] & 0x3f));
	default:
		return 0xffff;
	}
}

/* C0, DEL and C1 controls; the Unicode characters that end a line (Zl, Zp); and those that
 * invisibly change the order of the text around them or make two names look alike (Cf, except the
 * joiners U+200C and U+200D, which words of some languages need). */
static bool is_control(uint16_t c)
{
	static const struct {
		uint16_t first, last;
	} ranges[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},
		{0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
		{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
	};
	size_t i;

	for (i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i].first; i++)
		if (c <= ranges[i].last)
			return true;
	return false;
}

void text_clean(struct text *t, const char *s, size_t n)
{
	size_t i, len;

	for (i = 0; i < n; i += len ? len : 1) {
		len = utf8_length(s + i, n - i);
		if (!len)
			text_str(t, "\xef\xbf\xbd");
		else if (is_control(code_point(s + i, len)))
			text_char(t, '_');
		else
			text_add(t, s + i, len);
	}
}

void text_json(struct text *t, const char *s, size_t n)
{
	size_t i, len;

	text_char(t, '"');
	for (i = 0; i < n; i += len ? len : 1) {
		len = utf8_length(s + i, n - i);
		if (!len) {
			text_str(t, "\xef\xbf\xbd");
		} else if (is_control(code_point(s + i, len))) {
			text_str(t, "\\u");
			text_hex_digits(t, code_point(s + i, len), 4);
		} else {
			if (s[i] == '"' || s[i] == '\\')
				text_char(t, '\\');
			text_add(t, s + i, len);
		}
	}
	text_char(t, '"');
}

void text_xml(struct text *t, const char *s, size_t n)
{
	struct text clean = {0};
	size_t i;

	text_clean(&clean, s, n);
	for (i = 0; i < clean.n; i++)
		switch (clean.s[i]) {
		case '&':
			text_str(t, "&amp;");
			break;
		case '<':
			text_str(t, "&lt;");
			break;
		case '>':
			text_str(t, "&gt;");
			break;
		case '"':
			text_str(t, "&quot;");
			break;
		default:
			/* U+FFFE and U+FFFF are no characters of XML 1.0 (2.2). */
			if (clean.n - i > 2 && !memcmp(clean.s + i, "\xef\xbf", 2) &&
			    (uint8_t)clean.s[i + 2] >= 0xbe) {
				text_char(t, '?');
				i += 2;
			} else {
				text_char(t, clean.s[i]);
			}
		}
	t->failed |= clean.failed;
	text_done(&clean);
}

size_t str_distance(const char *a, const char *b)
{
	enum { WORD_MAX = 31 };
	size_t n = strlen(a), m = strlen(b), row[WORD_MAX + 1];

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0]; /* of the row before, one to the left */

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
		}
	}
	return row[m];
}

void text_quoted(struct text *t, const uint8_t *s, size_t n, bool shortest)
{
	static const char named[] = "\nn\tt\rr\"\"\\\\\vv\ff";
	const size_t n_named = shortest ? sizeof named - 1 : sizeof named - 1 - 4;
	char octal[8];

	text_char(t, '"');
	for (size_t i = 0; i < n; i++) {
		const char *as = memchr(named, s[i], n_named);
		const bool digit_follows = i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '7';

		if (as && (as - named) % 2 == 0) {
			text_char(t, '\\');
			text_char(t, as[1]);
		} else if (s[i] >= ' ' && s[i] < 0x7f) {
			text_char(t, (char)s[i]);
		} else {
			snprintf(octal, sizeof octal,
				 shortest && !digit_follows ? "\\%o" : "\\%03o", s[i]);
			text_str(t, octal);
		}
	}
	text_char(t, '"');
}
