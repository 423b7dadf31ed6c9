/* write.h - writes the profile to the output file, or to standard output. */
#ifndef CMD_WRITE_H
#define CMD_WRITE_H

#include "cmd/resolve_options.h"

#define STDOUT_NAME "standard output"

/* A failure never destroys an existing file. Returns 0, or negative with *err. */
int write_result(const struct resolve *r, const struct profile *p, struct err *err);
/* Removes the file that write_result() has not finished. Async-signal-safe. */
void write_abort(void);

#endif
