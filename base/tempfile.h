/* tempfile.h - a file without a name, for data that is too large for memory. */
#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

#include <stddef.h>

#include "base/err.h"

/* In $TMPDIR, else /var/tmp, else /tmp; in a sandbox it comes from the helper (base/helper.h). The
 * caller closes it, which frees its space. Returns a descriptor, or negative with *err. */
int tempfile_open(struct err *err);
/* The same, tried directly: -1 with errno. */
int tempfile_open_here(void);
/* Returns 0, or negative with *err. */
int tempfile_append(int fd, const void *p, size_t n, struct err *err);

#endif
