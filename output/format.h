/* format.h - the rows of the table of formats, and what several formats need. Private to output/.
 */
#ifndef OUTPUT_FORMAT_H
#define OUTPUT_FORMAT_H

#include "output/output.h"
#include "output/text.h"

extern const struct output_format format_folded, format_script, format_pprof;

/* The one event that formats show which cannot tell events apart: as asked for, else the first that
 * has samples. 0, or ERR_NOT_FOUND when there is nothing to show. */
int format_event(const struct profile *p, const struct output_options *opt, uint32_t *ret,
		 struct err *err);

/* The lines of a location that are to be shown, innermost first. */
static inline const struct profile_line *format_lines(const struct profile *p,
						      const struct output_options *opt,
						      const struct profile_location *l, size_t *n)
{
	size_t skip = opt->no_inline && l->n_lines ? l->n_lines - 1 : 0;

	*n = l->n_lines - skip;
	return p->lines.v + l->first_line + skip;
}

/* ---- names as the flame graph tools spell them ---------------------------------------------- */

/* Adds a function name without its argument lists (and what follows the last of them), but with
 * template arguments, "(anonymous namespace)", "operator()" and Go's "(*T)" receivers. */
void fold_function(struct text *t, const char *name, size_t n);
/* Is this the mangled name of a Rust function? Its parts in parentheses are types. */
bool fold_is_rust(const char *system_name);
/* Java's "Lcom/example/Main;::run", as perf-map-agent writes it? */
bool fold_is_java(const char *name, size_t n);
/* Makes what was added since `start` a frame of a folded line: no ';', which separates frames, no
 * number after a space at the end, which would be taken for the weight, never nothing. */
void fold_finish(struct text *t, size_t start);

#endif
