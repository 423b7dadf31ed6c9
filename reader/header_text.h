/* header_text.h - what the header says, a line at a time, in the words of `perf report
 * --header-only`, which leaves the layout of the machine to its option -I. Private to reader/.
 *
 * Sources: of the sections' layout tools/perf/Documentation/perf.data-file-format.txt; of what it
 * does not have, and of the words: tools/perf/util/header.c. A section that ends early gives the
 * lines that it still holds. */
#ifndef READER_HEADER_TEXT_H
#define READER_HEADER_TEXT_H

#include <inttypes.h>

#include "base/buf.h"
#include "base/vec.h"
#include "reader/file.h"

struct header_printer {
	const struct perf_file *f;
	void (*say)(void *arg, const char *line);
	void *arg;
	VEC(char) line; /* being put together */
};

/* Adds to the line, or ends it. */
void print_part(struct header_printer *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void put_line(struct header_printer *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void print_end(struct header_printer *t);

/* A string of a section, for "%.*s": TEXT() of a variable. */
struct header_string {
	int n;
	const char *s;
};
#define TEXT(text) text.n, text.s

/* A perf_header_string: u32 length, bytes with a NUL inside. "" when it is not all there. */
struct header_string take_text(struct buf *b);
/* Lists come with their number, which is cut to what fits into the section. */
uint32_t take_count(struct buf *b, size_t least_bytes_each);

/* Each prints one section. header_pmus.c: */
void print_pmus(struct header_printer *t, struct buf *b);
void print_cpu_caps(struct header_printer *t, struct buf *b);
void print_pmu_caps(struct header_printer *t, struct buf *b);
/* header_events.c: */
void print_events(struct header_printer *t);
void print_groups(struct header_printer *t, struct buf *b);
/* simpleperf_text.c: all of its own. */
void print_simpleperf(struct header_printer *t);

#endif
