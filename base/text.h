/* text.h - growing text that writers fill and flush.
 *
 * A zeroed struct text is empty. Running out of memory sets `failed` and drops what did not fit; a
 * writer looks at it once, at the end. */
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
/* Writes everything out and starts over. */
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
/* As printf's %*d: ids of tasks, where -1 is one that is exiting. */
void text_int(struct text *t, int32_t v, unsigned width);
/* At least n digits, as printf's %0*lu and %0*lx. */
void text_digits(struct text *t, uint64_t v, unsigned n);
void text_hex_digits(struct text *t, uint64_t v, unsigned n);
/* Spaces up to a width for something n bytes long. */
void text_pad(struct text *t, size_t n, size_t width);

/* Adds names from outside so that no reader trips over them: ill-formed UTF-8 becomes U+FFFD,
 * control characters become '_' (a newline or U+2028 would end a line, an escape sequence would
 * reach the terminal, U+202E would turn what follows around). */
void text_clean(struct text *t, const char *s, size_t n);
/* The same with &amp; &lt; &gt; &quot; for what HTML and XML take for something else. */
void text_xml(struct text *t, const char *s, size_t n);
/* The same as a JSON string, with its quotes (RFC 8259, section 7). */
void text_json(struct text *t, const char *s, size_t n);

/* What stands behind the last slash; all of it when nothing does. Points into the path. */
const char *base_name(const char *path);

#endif
