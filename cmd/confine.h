/* confine.h - the sandbox (base/sandbox.h) of the commands that read what strangers wrote. */
#ifndef CMD_CONFINE_H
#define CMD_CONFINE_H

#include "cmd/regress_options.h"
#include "cmd/resolve_options.h"

/* Once options are read, before any file is. Nothing with --no-sandbox. With --verbose a line says
 * what the kernel does not have. Returns 0, or negative with *err. */
int confine_resolve(const struct resolve *r, struct err *err);
/* The same when nothing is to be recorded any more. */
int confine_regress(const struct regress_command *c, struct err *err);

#endif
