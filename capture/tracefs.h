/* tracefs.h - private: where the kernel's tracepoints are. */
#ifndef CAPTURE_TRACEFS_H
#define CAPTURE_TRACEFS_H

#include "base/err.h"

/* The folder where tracefs is mounted ("/sys/kernel/tracing", or in debugfs). If it is not, and
 * this user may, it is mounted where only this process sees it, until that ends. NULL with *err. */
const char *tracefs_find(struct err *err);

#endif
