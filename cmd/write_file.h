/* write_file.h - writes a temporary file that replaces the output when it is complete
 * (base/outfile.h). */
#ifndef CMD_WRITE_FILE_H
#define CMD_WRITE_FILE_H

#include <stdio.h>

#include "base/err.h"
#include "base/packed_stream.h"

#define STDOUT_NAME "standard output"

/* Writes all of `what`. Returns 0, or negative with *err; errors of the stream are found by the
 * caller. */
typedef int write_fn(void *what, FILE *out, struct err *err);

/* A failure never destroys an existing file. Returns 0, or negative with *err. */
int write_file(const char *path, enum pack pack, write_fn *write, void *what, struct err *err);
/* The same at the end of a file, which need not exist; in place. */
int append_to_file(const char *path, write_fn *write, void *what, struct err *err);
/* Removes the file that write_file() has not finished. Async-signal-safe. */
void write_abort(void);

#endif
