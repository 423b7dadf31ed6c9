/* utf8.h - checks UTF-8: names from outside may be any bytes, but readers of our output expect
 * UTF-8. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 character (Unicode 15, table 3-7) at s, 0 when there is none. */
size_t utf8_length(const char *s, size_t left);

#endif
