/* match.h - does a pattern of people mean this symbol? Private to probe/. */
#ifndef PROBE_MATCH_H
#define PROBE_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "demangle/demangle.h"

/* text[0..len) with the wildcards * and ?. All other characters stand for themselves: brackets are
 * parts of names. */
bool glob_matches(const char *pattern, size_t pattern_len, const char *text, size_t len);

enum { PATTERN_STAR = 1, PATTERN_MAX = 512 };

struct pattern {
	const char *text;
	size_t len;
	bool is_wild;
	/* It is one plain word, which the symbols that it means contain, mangled or not. */
	bool is_word;
	/* Where nothing has just this name: "V<int>" is also V<int, A<int>>, as what is left out
	 * may be defaults, and "f(int)" also f(int) const. */
	bool is_lax;
	bool last_part; /* also what stands behind "ns::", "Class::", "pkg." */
	/* Its stars may be all of its name: "operator*". Meant is that, if there is one
	 * (pattern_take_literally()). */
	bool may_be_literal;
	/* The text with PATTERN_STAR for each star that is a wildcard; those in brackets belong to
	 * types. And as spelling_normal() writes it; of no length where it has no arguments. */
	char shape[PATTERN_MAX], normal[PATTERN_MAX];
	size_t normal_len;
	struct demangler demangler, shortened;
};

/* `text` must live as long as the pattern. */
void pattern_init(struct pattern *p, const char *text, size_t len);
void pattern_done(struct pattern *p);
/* From now on its stars are no wildcards, or are again. */
void pattern_take_literally(struct pattern *p, bool literally);
/* Does it mean the symbol of this name (as in the file)? */
bool pattern_matches(struct pattern *p, const char *symbol);
/* Is the symbol's name, or the whole of what people read for it, just this text? So are parts of
 * functions ("f.cold") and versions ("f@V1") named, which no shorter name means. */
bool pattern_is_literal(struct pattern *p, const char *symbol);
/* The name as people read it; valid until the pattern is used again. */
const char *pattern_display_name(struct pattern *p, const char *symbol);

/* Is it the rare half of a function ("f.cold"), a version or a stub? No call that a shorter name
 * means enters there. */
bool match_is_part(const char *symbol);

/* ---- spellings of C++ (spelling.c) ---- */

/* Writes text[0..len) to ret[0..size) so that the spellings of a list of arguments are equal:
 * "f(const char *,int)" and "f(char const*, int)"; std::string for what it stands for. Returns the
 * length, at most len, or 0 if there is no room. */
size_t spelling_normal(const char *text, size_t len, char *ret, size_t size);
/* "run" of "ns::W<int>::run<char>(int) const", of length *ret. */
const char *spelling_last_part(const char *name, size_t len, size_t *ret);

/* How far two names are apart: the number of letters to insert, remove or replace, at most `max`
 * + 1.
 */
unsigned name_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned max);

#endif
