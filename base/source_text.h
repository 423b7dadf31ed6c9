/* source_text.h - lines of source files that the debug information names.
 *
 * A recording is from anywhere, and so are the names in it: only regular files are read, of at most
 * SOURCE_BYTES, and by root only those that every user may read, so that a profile cannot show what
 * is in /etc/shadow. */
#ifndef BASE_SOURCE_TEXT_H
#define BASE_SOURCE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_BYTES (16u << 20)

/* One file at a time; zeroed: none yet. */
struct source_text {
	const char *root; /* paths are below it (--symfs); NULL: / */
	const char *dir;  /* where files are looked for first (--source-dir); NULL: none */
	char *path;	  /* as asked for */
	char *s;	  /* its contents; NULL: it cannot be read */
	size_t n;
	uint32_t line; /* that begins at `at` */
	size_t at;
	bool failed; /* memory ran out: a line may be missing */
};

/* Line `line` (from 1) of the file with this path, without the white space around it; NULL:
 * unknown. Below the folder all endings of the path are tried, the longest first. Lives until the
 * next call. */
const char *source_line(struct source_text *t, const char *path, uint32_t line, size_t *n);
void source_text_done(struct source_text *t);

#endif
