/* tool_fold.c - function names, one a line, as folded stacks spell them. */
#include <stdlib.h>

#include "profile/profile.h"

int main(void)
{
	struct text out = {0};
	char *line = NULL;
	size_t cap = 0, start;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		start = out.n;
		fold_function(&out, line, (size_t)n - (line[n - 1] == '\n'));
		fold_finish(&out, start);
		text_char(&out, '\n');
	}
	text_flush(&out, stdout);
	free(line);
	text_done(&out);
	return 0;
}
