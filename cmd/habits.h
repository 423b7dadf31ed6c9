/* habits.h - answers to what users of perf type first. */
#ifndef CMD_HABITS_H
#define CMD_HABITS_H

#include "base/err.h"

/* Is `word` a subcommand of perf, and not a file (or command) here? Then returns -ERR_USAGE with
 * what to type instead, else 0. command: the name of our command. */
int habit_subcommand(const char *command, char *const *argv, struct err *err);
/* The same for option values that perf accepts and we do not: "capture -g fp". */
int habit_call_graph(const char *word, struct err *err);
/* Of a command to run: is there none of this name? Then returns -ERR_USAGE with what was perhaps
 * meant, else 0. */
int habit_command(char *const *argv, struct err *err);

#endif
