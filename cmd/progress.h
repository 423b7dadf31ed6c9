/* progress.h - one line on a terminal that says what takes long, and goes when it is done. */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Between these two it is shown, from the second second of the program on; nothing unless standard
 * error is a terminal. what: "reading", whose: a file or format, both until progress_end(); count:
 * NULL, or something that grows, in `units`. One at a time; not from several threads. */
void progress_begin(const char *what, const char *whose, const uint64_t *count, const char *units);
/* The line has gone when this returns. Fine without a begin. */
void progress_end(void);
/* No more of it (-q). */
void progress_off(void);

#endif
