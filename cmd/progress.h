/* progress.h - a line on the terminal that shows what takes long, and disappears when it is done.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Shows the line until progress_end(), once the program has run for more than a second, and only if
 * standard error is a terminal. what: "reading"; whose: a file or format; both must live until
 * progress_end(). count: NULL, or a growing number, in `units`. One line at a time; not from
 * several threads. */
void progress_begin(const char *what, const char *whose, const uint64_t *count, const char *units);
/* Removes the line before it returns. Allowed without progress_begin(). */
void progress_end(void);
/* No more of it (-q). */
void progress_off(void);

#endif
