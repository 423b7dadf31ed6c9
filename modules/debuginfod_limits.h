/* debuginfod_limits.h - how long is waited, and how much is taken. Private to modules/debuginfod*.
 */
#ifndef MODULES_DEBUGINFOD_LIMITS_H
#define MODULES_DEBUGINFOD_LIMITS_H

#include "modules/debuginfod.h"

/* Puts numbers in the place of zeroes: the user's by the library's variables, or our own. */
void limits_settle(struct fetch_options *o);
/* Of one answer: what such a file or section can have at most for a binary of that size, and no
 * more than DEBUGINFOD_MAXSIZE, which the library tells to the servers, who may not care. */
uint64_t limits_of_query(const struct debuginfod_query *q);
/* That, or less: no file may take more than nine tenths of what is free. */
uint64_t limits_room(const char *dir, uint64_t max_bytes);

#endif
