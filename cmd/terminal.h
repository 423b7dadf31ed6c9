/* terminal.h - the terminal that standard output is. */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

#include <stdbool.h>

/* Lines for a table, below which there is the prompt; 0: not a terminal. */
unsigned terminal_lines(void);
/* Width in columns; 0: not a terminal, or unknown. */
unsigned terminal_columns(void);
/* False for what is no terminal, with $NO_COLOR (no-color.org), and where $TERM has none. */
bool terminal_has_colours(void);

#endif
