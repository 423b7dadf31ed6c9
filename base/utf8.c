/* utf8.c - is it UTF-8? */
#include "base/utf8.h"

#include <stdint.h>

size_t utf8_length(const char *text, size_t left)
{
	/* First bytes, and what the second byte may be after them; further ones are 80..bf. */
	static const struct {
		uint8_t first, last, low, high, length;
	} forms[] = {
		{0x00, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	const uint8_t *s = (const uint8_t *)text;
	size_t i, k;

	for (i = 0; left && i < sizeof forms / sizeof *forms; i++) {
		if (s[0] < forms[i].first || s[0] > forms[i].last)
			continue;
		if (forms[i].length == 1)
			return 1;
		if (left < forms[i].length || s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (k = 2; k < forms[i].length; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}
