/* config.h - what the user has settled once for all runs: by environment, or in a file. The command
 * line overrides both.
 *
 * UNSPOOL_DEBUGINFOD holds one of the values of --debuginfod=. Without it counts the file
 * $XDG_CONFIG_HOME/unspool/config, or ~/.config/unspool/config: lines `name = value`; those that
 * begin with # are comments. DEBUGINFOD_URLS alone is no consent: distributions set it for
 * all users. */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "base/err.h"
#include "cmd/fetch.h"

struct config {
	enum fetch_mode fetch; /* debuginfod = off|auto|sym|line|full */
};

/* Fills *c; a missing file is fine. Negative: *err says which line is wrong. */
int config_read(struct config *c, struct err *err);

#endif
