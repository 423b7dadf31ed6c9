/* text.h - growing text buffer that writers fill and flush.
 *
 * A zeroed struct text is empty. When memory runs out, `failed` is set and the bytes that did not
 * fit are dropped; a writer checks it once, at the end. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct text {
	char *s; /* n bytes, not NUL-terminated */
	size_t n, cap;
	bool failed;
};

/* Room for n more bytes; false (and failed) when there is none. */
bool text_reserve(struct text *t, size_t n);
void text_done(struct text *t);
/* Writes the whole buffer to `out` and empties it. */
void text_flush(struct text *t, FILE *out);

static inline void text_add(struct text *t, const void *s, size_t n)
{
	if (t->cap - t->n < n && !text_reserve(t, n))
		return;
	if (n)
		memcpy(t->s + t->n, s, n);
	t->n += n;
}

static inline void text_char(struct text *t, char c)
{
	text_add(t, &c, 1);
}

static inline void text_str(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

/* As printf's %*lu and %*lx. */
void text_dec(struct text *t, uint64_t v, unsigned width);
void text_hex(struct text *t, uint64_t v, unsigned width);
/* As printf's %*ld. */
void text_int(struct text *t, int64_t v, unsigned width);
/* At least n digits, as printf's %0*lu and %0*lx. */
void text_digits(struct text *t, uint64_t v, unsigned n);
void text_hex_digits(struct text *t, uint64_t v, unsigned n);
/* Spaces up to a width for something n bytes long. */
void text_pad(struct text *t, size_t n, size_t width);

/* Appends a name from outside so that it harms no reader: ill-formed UTF-8 becomes U+FFFD, control
 * characters become '_' (a newline or U+2028 would end the line, an escape sequence would reach the
 * terminal, U+202E would reverse the text after it). */
void text_clean(struct text *t, const char *s, size_t n);
/* Appends bytes as a string of C, in quotes, with \n, \r, \t and octal numbers of three digits;
 * shortest: as strace(1), also with \v and \f, and numbers as short as what follows lets them be.
 */
void text_quoted(struct text *t, const uint8_t *s, size_t n, bool shortest);
/* As text_clean(), and escapes the characters that HTML and XML reserve (&amp; &lt; &gt; &quot;).
 */
void text_xml(struct text *t, const char *s, size_t n);
/* As a JSON string with its quotes (RFC 8259, section 7): ill-formed UTF-8 becomes U+FFFD, the
 * control characters of text_clean() become \uXXXX. */
void text_json(struct text *t, const char *s, size_t n);

static inline bool str_starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

static inline bool str_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), n_end = strlen(end);

	return n >= n_end && !strcmp(s + n - n_end, end);
}

/* The part after the last slash, or the whole path if there is no slash. Points into the path. */
const char *base_name(const char *path);

/* Edit distance: how many letters must be inserted, removed or replaced to make one word of the
 * other. SIZE_MAX if one has more than 31 letters. */
size_t str_distance(const char *a, const char *b);

#endif
