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

struct teller {
	const struct perf_file *f;
	void (*say)(void *arg, const char *line);
	void *arg;
	VEC(char) line; /* being put together */
};

/* Adds to the line, or ends it. */
void tell_part(struct teller *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tell(struct teller *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tell_end(struct teller *t);

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

/* Each tells one section. header_pmus.c: */
void tell_pmus(struct teller *t, struct buf *b);
void tell_cpu_caps(struct teller *t, struct buf *b);
void tell_pmu_caps(struct teller *t, struct buf *b);
/* header_events.c: */
void tell_events(struct teller *t);
void tell_groups(struct teller *t, struct buf *b);
/* simpleperf_text.c: all of its own. */
void tell_simpleperf(struct teller *t);

#endif
