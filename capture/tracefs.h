/* tracefs.h - private: where the kernel's tracepoints are. */
#ifndef CAPTURE_TRACEFS_H
#define CAPTURE_TRACEFS_H

#include "base/err.h"

/* The folder of tracefs. If this user may, it is mounted where only this process sees it, until
 * that ends; else it is where it is mounted already ("/sys/kernel/tracing", or in debugfs). NULL
 * with *err. */
const char *tracefs_find(struct err *err);

#endif
