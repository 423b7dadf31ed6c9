/* fit.h - text that fits into the columns of a terminal. */
#ifndef BASE_FIT_H
#define BASE_FIT_H

#include "base/text.h"

/* Columns of valid UTF-8 text on a terminal. */
size_t fit_width(const char *s, size_t n);
/* Appends at most so many columns of a name. Removes the middle of one that is too long: its
 * beginning shows the namespace, its end the function. */
void fit_add(struct text *out, const char *s, size_t n, size_t columns);

#endif
