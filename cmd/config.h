/* config.h - settings for all runs, from the environment or a file. The command line overrides
 * both.
 *
 * UNSPOOL_DEBUGINFOD has one of the values of --debuginfod=. If it is not set, the file
 * $XDG_CONFIG_HOME/unspool/config, or ~/.config/unspool/config, is used: lines `name = value`, and
 * comments that begin with #. DEBUGINFOD_URLS alone is not consent: distributions set it for all
 * users. */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "base/err.h"
#include "cmd/fetch.h"

struct config {
	enum fetch_mode fetch; /* debuginfod = off|auto|sym|line|full */
};

/* Fills *c; the file may be missing. Returns negative with *err if a line or the variable is
 * invalid. */
int config_read(struct config *c, struct err *err);

#endif
