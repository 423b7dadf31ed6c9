/* format.h - the rows of the table of formats, and what several formats need. Private to output/.
 */
#ifndef OUTPUT_FORMAT_H
#define OUTPUT_FORMAT_H

#include "output/output.h"
#include "output/text.h"

extern const struct output_format format_folded, format_script, format_pprof, format_top,
	format_jsonl, format_speedscope;

/* Writers collect this much text between writes. */
#define FLUSH_BYTES 65536

/* The one event that formats show which cannot tell events apart: as asked for, else the first that
 * has samples. 0, or ERR_NOT_FOUND when there is nothing to show. */
int format_event(const struct profile *p, const struct output_options *opt, uint32_t *ret,
		 struct err *err);

/* The *n lines of a location that are to be shown, innermost first; NULL when there are none. */
static inline const struct profile_line *format_lines(const struct profile *p,
						      const struct output_options *opt,
						      const struct profile_location *l, size_t *n)
{
	size_t skip = opt->no_inline && l->n_lines ? l->n_lines - 1 : 0;

	*n = l->n_lines - skip;
	return *n ? p->lines.v + l->first_line + skip : NULL;
}

/* What has no period (some hostile or very old files) counts once per sample, as in other tools. */
static inline uint64_t format_weight(const struct output_options *opt, uint64_t count,
				     uint64_t period)
{
	return opt->count_samples || !period ? count : period;
}

static inline void text_string(struct text *t, const struct profile *p, uint32_t id)
{
	text_clean(t, strtab_get(&p->strings, id), strtab_len(&p->strings, id));
}

/* A string of the profile as a JSON string. */
static inline void text_json_string(struct text *t, const struct profile *p, uint32_t id)
{
	text_json(t, strtab_get(&p->strings, id), strtab_len(&p->strings, id));
}

static inline void text_build_id(struct text *t, const struct build_id *id)
{
	size_t i;

	for (i = 0; i < id->size && i < BUILD_ID_MAX; i++)
		text_hex_digits(t, id->bytes[i], 2);
}

/* Were callers of this stack taken from another sample (FRAME_STITCHED)? They are the outermost. */
bool format_is_stitched(const struct profile *p, uint32_t node);
/* Which share of an event's weight such stacks have: 0 .. 1. */
double format_stitched_share(const struct profile *p, const struct output_options *opt,
			     uint32_t event);

/* Are the event's periods nanoseconds? */
bool format_is_clock(const struct profile_event *e);

/* Name of the function that a location's machine code belongs to, as a string id; 0: unknown. */
static inline uint32_t format_symbol(const struct profile *p, const struct profile_location *l)
{
	if (l->symbol || !l->n_lines)
		return l->symbol;
	return p->functions.v[p->lines.v[l->first_line + l->n_lines - 1].function].name;
}

/* ---- names as the flame graph tools spell them ---------------------------------------------- */

/* Adds a function name without its argument lists (and what follows the last of them), but with
 * template arguments, "(anonymous namespace)", "operator()" and Go's "(*T)" receivers. */
void fold_function(struct text *t, const char *name, size_t n);
/* Is this the mangled name of a Rust function? Its parts in parentheses are types. */
bool fold_is_rust(const char *system_name);
/* Java's "Lcom/example/Main;::run", as perf-map-agent writes it? */
bool fold_is_java(const char *name, size_t n);
/* What is put behind the name of a frame that is FRAME_STITCHED, when that is asked for. */
#define FOLD_STITCHED "_[s]"
/* Makes what was added since `start` a frame of a folded line: no ';', which separates frames, no
 * number after a space at the end, which would be taken for the weight, never nothing. */
void fold_finish(struct text *t, size_t start);

#endif
