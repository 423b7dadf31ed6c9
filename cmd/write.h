/* write.h - writes the profile to the output file, or to standard output. */
#ifndef CMD_WRITE_H
#define CMD_WRITE_H

#include "cmd/resolve_options.h"
#include "cmd/write_file.h"

/* A failure never destroys an existing file. Returns 0, or negative with *err. */
int write_result(const struct resolve *r, const struct profile *p, struct err *err);

#endif
