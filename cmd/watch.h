/* watch.h - what a user sees while an input is loaded: a line on the terminal, and what is fetched.
 */
#ifndef CMD_WATCH_H
#define CMD_WATCH_H

#include "cmd/fetch.h"
#include "load/load.h"

/* Makes *opt show its progress, and use the network if opt->fetch says so. `w` must outlive the
 * transfers. */
void watch_loading(struct load_options *opt, struct fetch_watch *w);

#endif
