/* match.h - does a pattern of people mean this symbol? Private to probe/. */
#ifndef PROBE_MATCH_H
#define PROBE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "demangle/demangle.h"

/* text[0..len) with the wildcards * and ?. All other characters stand for themselves: brackets are
 * parts of names. */
bool glob_matches(const char *pattern, size_t pattern_len, const char *text, size_t len);

struct pattern {
	const char *text;
	size_t len;
	bool is_wild;
	bool last_part; /* also what stands behind "ns::", "Class::", "pkg." */
	struct demangler demangler, shortened;
};

/* `text` must live as long as the pattern. */
void pattern_init(struct pattern *p, const char *text, size_t len);
void pattern_done(struct pattern *p);
/* Does it mean the symbol of this name (as in the file)? */
bool pattern_matches(struct pattern *p, const char *symbol);
/* Is the symbol's name, or the whole of what people read for it, just this text? So are parts of
 * functions ("f.cold") and versions ("f@V1") named, which no shorter name means. */
bool pattern_is_literal(struct pattern *p, const char *symbol);
/* The name as people read it; valid until the pattern is used again. */
const char *pattern_display_name(struct pattern *p, const char *symbol);

/* How far two names are apart: the number of letters to insert, remove or replace, at most `max`
 * + 1.
 */
unsigned name_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned max);

#endif
