/* text_encoding.h - makes UTF-8 without a byte order mark of UTF-16 and of UTF-8. Private to
 * input/.
 *
 * Windows' shells write UTF-16 into files. Without a mark a text is taken for UTF-8. */
#ifndef INPUT_TEXT_ENCODING_H
#define INPUT_TEXT_ENCODING_H

#include <stddef.h>
#include <stdint.h>

enum encoding_kind { ENCODING_UNKNOWN, ENCODING_UTF8, ENCODING_UTF16_LE, ENCODING_UTF16_BE };

struct text_encoding {
	enum encoding_kind kind;
	/* UTF-16: the bytes of a character that is not complete yet. */
	uint8_t part[4];
	size_t n_part;
};

/* Room for the result of n bytes: two of them become up to three. */
#define ENCODING_ROOM(n) ((n) / 2 * 3 + 8)

/* Finds the kind by the first bytes of a text. Returns the length of the mark, which is no text. */
size_t encoding_begin(struct text_encoding *e, const uint8_t *s, size_t n);
/* Converts the next n bytes into `to`, which has ENCODING_ROOM(n) bytes (of UTF-8: n). Returns how
 * many it has written. Halves of surrogate pairs without the other half become U+FFFD. */
size_t encoding_convert(struct text_encoding *e, const uint8_t *s, size_t n, uint8_t *to);

#endif
