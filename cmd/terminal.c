/* terminal.c - see terminal.h. */
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned terminal_lines(void)
{
	enum { PROMPT = 2, SUPPOSED = 24 };
	struct winsize w;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_row <= PROMPT)
		return SUPPOSED - PROMPT;
	return w.ws_row - PROMPT;
}

unsigned terminal_columns(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_col : 0;
}

bool terminal_has_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}
