/* trace_text.c - the texts that probes read, with escapes for what is none. */
#include "reader/trace_text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { CUT_MIN = 256 }; /* shorter texts are not cut by the kernel for want of room */

/* Does a character begin there that only lacks its end, as where a text was cut? */
static bool is_cut_character(const char *s, size_t left)
{
	const unsigned char lead = (unsigned char)*s;

	if (lead < 0xc2 || lead > 0xf4 || left > 3)
		return false;
	for (size_t i = 1; i < left; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

static size_t escape_byte(unsigned char c, char *to)
{
	static const char plain[] = "\"\\\t\n\r", letters[] = "\"\\tnr";
	const char *at = c ? strchr(plain, c) : NULL;

	if (at) {
		to[0] = '\\';
		to[1] = letters[at - plain];
		return 2;
	}
	if (c >= ' ' && c < 0x7f) {
		to[0] = (char)c;
		return 1;
	}
	return (size_t)snprintf(to, TRACE_TEXT_ESCAPED + 1, "\\%03o", c);
}

size_t trace_text_escape(const char *s, size_t n, char *to)
{
	size_t len = 0;

	for (size_t i = 0, bytes; i < n; i += bytes) {
		bytes = utf8_length(s + i, n - i);
		/* U+0080 to U+009F are control characters. */
		if (bytes > 1 &&
		    !(bytes == 2 && s[i] == '\xc2' && (unsigned char)s[i + 1] < 0xa0)) {
			memcpy(to + len, s + i, bytes);
			len += bytes;
		} else if (!bytes && n >= CUT_MIN && is_cut_character(s + i, n - i)) {
			break;
		} else {
			bytes = 1;
			len += escape_byte((unsigned char)s[i], to + len);
		}
	}
	return len;
}
