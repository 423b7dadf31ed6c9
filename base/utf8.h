/* utf8.h - names from outside are bytes; what reads our output wants UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 character (Unicode 15, table 3-7) at s, 0 when there is none. */
size_t utf8_length(const char *s, size_t left);

#endif
