/* fit.c - text that fits into the columns of a terminal. */
#include "base/fit.h"

#include <stdint.h>

/* Columns of a character on a terminal (Unicode Standard Annex 11, simplified). */
static unsigned columns_of(uint32_t c)
{
	static const struct {
		uint32_t first, last;
		unsigned columns;
	} ranges[] = {
		{0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},
		{0x2e80, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
		{0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},
		{0x1f300, 0x1faff, 2}, {0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

/* How many bytes fit into `columns`, and how many columns these take. Names are valid UTF-8. */
static size_t bytes_of_columns(const char *s, size_t n, size_t columns, size_t *used)
{
	size_t i, end = 0;
	uint32_t c = 0;

	*used = 0;
	for (i = 0; i < n; i++) {
		uint8_t b = (uint8_t)s[i];

		c = b < 0x80   ? b
		    : b < 0xc0 ? c << 6 | (b & 0x3f)
			       : b & (b < 0xe0	 ? 0x1f
				      : b < 0xf0 ? 0xf
						 : 7);
		if (i + 1 < n && ((uint8_t)s[i + 1] & 0xc0) == 0x80)
			continue;
		if (columns_of(c) > columns - *used)
			break;
		*used += columns_of(c);
		end = i + 1;
	}
	return end;
}

size_t fit_width(const char *s, size_t n)
{
	size_t used;

	bytes_of_columns(s, n, SIZE_MAX, &used);
	return used;
}

void fit_add(struct text *out, const char *s, size_t n, size_t columns)
{
	size_t width = fit_width(s, n), used, head, tail;

	if (width <= columns) {
		text_add(out, s, n);
		return;
	}
	head = bytes_of_columns(s, n, columns / 2, &used);
	tail = bytes_of_columns(s, n, width - (columns - used - 1), &used);
	text_add(out, s, head);
	text_str(out, "…");
	text_add(out, s + tail, n - tail);
}
