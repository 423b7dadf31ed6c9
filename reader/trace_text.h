/* trace_text.h - private to reader/. */
#ifndef READER_TRACE_TEXT_H
#define READER_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { TRACE_TEXT_ESCAPED = 4 };

/* Writes n bytes as C spells them in quotes: \", \\, \t, \n, \r, and \NNN for those that are no
 * printable UTF-8. At most n * TRACE_TEXT_ESCAPED bytes and one more. Returns how many. */
size_t trace_text_escape(const char *s, size_t n, char *to);

#endif
