/* rooted.h - opens files whose names come from a recording or another process: nothing but a regular file,
 * and below /proc/PID/root nothing outside of it. */
#ifndef BASE_ROOTED_H
#define BASE_ROOTED_H

#include <stdbool.h>

/* For reading. What has the name is looked at before it is opened, so that no device or FIFO ever is: -1 and
 * ENODEV. In a path that begins with /proc/PID/root links lead to where they lead for that process. A link at
 * the end that is not to be followed: ELOOP. A descriptor, or -1 and errno. */
int rooted_open(const char *path, bool follow);

#endif
