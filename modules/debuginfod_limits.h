/* debuginfod_limits.h - how long is waited, and how much is taken. Private to modules/debuginfod*.
 */
#ifndef MODULES_DEBUGINFOD_LIMITS_H
#define MODULES_DEBUGINFOD_LIMITS_H

#include "modules/modules.h"

/* Puts numbers in the place of zeroes: the user's by the library's variables, or our own. */
void limits_settle(struct fetch_options *o);
/* Of one file: DEBUGINFOD_MAXSIZE, or our own. The library tells it to the servers, who may not
 * care. */
uint64_t limits_bytes(void);
/* That, or less: no file may take more than nine tenths of what is free. */
uint64_t limits_room(const char *dir, uint64_t max_bytes);

#endif
