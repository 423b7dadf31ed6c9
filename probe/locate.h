/* locate.h - which file a person means. Private to probe/. */
#ifndef PROBE_LOCATE_H
#define PROBE_LOCATE_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* As probe_find() says. Returns 0, or a negative value with *err. */
int locate_file(const char *name, size_t len, pid_t pid, char ret[PATH_MAX], struct err *err);

#endif
