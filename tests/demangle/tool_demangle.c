/* tool_demangle.c - demangle.h from the command line: one name per line, from and to.
 *
 *	tool_demangle [-d full|simple|none] [-t DEPTH] [-c] [-r] < names
 *
 * -c folds clone suffixes, -t cuts template arguments, -r takes the names for readable ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demangle/demangle.h"

int main(int argc, char **argv)
{
	struct name_style style = {0};
	struct demangler d = {0};
	bool readable = false;
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int c;

	while ((c = getopt(argc, argv, "d:t:cr")) != -1) {
		if (c == 'd')
			style.demangle = *optarg == 'f'	  ? SYM_DEMANGLE_FULL
					 : *optarg == 's' ? SYM_DEMANGLE_SIMPLE
							  : SYM_DEMANGLE_NONE;
		style.fold_clones |= c == 'c';
		readable |= c == 'r';
		if (c == 't') {
			style.cut_templates = true;
			style.template_depth = (unsigned)atoi(optarg);
		}
	}
	while ((n = getline(&line, &cap, stdin)) > 0) {
		line[n - (line[n - 1] == '\n')] = 0;
		puts(readable ? restyle(&d, line, &style) : demangle(&d, line, &style));
	}
	free(line);
	demangler_done(&d);
	return 0;
}
