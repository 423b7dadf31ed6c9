/* habits.h - answers to what users of perf type first. */
#ifndef CMD_HABITS_H
#define CMD_HABITS_H

#include "base/err.h"

/* Is `word` a subcommand of perf, and no file (or command) here? Then -ERR_USAGE, with what to type
 * instead; else 0. command: ours. */
int habit_subcommand(const char *command, const char *word, struct err *err);
/* The same of an option's value that perf takes and we do not: "capture -g fp". */
int habit_call_graph(const char *word, struct err *err);

#endif
