/* written.h - what a format writes, in memory. */
#ifndef TESTS_OUTPUT_WRITTEN_H
#define TESTS_OUTPUT_WRITTEN_H

#include <stdio.h>
#include <stdlib.h>

#include "output/output.h"

/* What a format writes, as a NUL-terminated string to be freed; NULL (and *err) when it fails. */
static inline char *synthetic_write(const struct profile *p, const char *format,
				    const struct output_options *opt, size_t *size, struct err *err)
{
	const struct output_format *f = output_format_find(format);
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int rc = output_write(f, p, opt, out, err);

	fclose(out);
	if (rc < 0) {
		free(text);
		text = NULL;
	}
	return text;
}

#endif
