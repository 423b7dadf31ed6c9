/* runtime_env.h - the environment in which runtimes name their code for recorders (--runtimes). */
#ifndef CMD_RUNTIME_ENV_H
#define CMD_RUNTIME_ENV_H

#include "base/err.h"

/* Changes this process's environment, which a command then has. What is set already stays, and is
 * added to where a variable is a list of options. Returns 0 or -ERR_NOMEM with *err. */
int runtime_env_set(struct err *err);

#endif
