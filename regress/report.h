/* report.h - functions that the reports share. Private to regress/. */
#ifndef REGRESS_REPORT_H
#define REGRESS_REPORT_H

#include "regress/inside.h"

/* "+12.3 %", in a buffer of the caller; "new" if the base has none. */
struct shown {
	char s[32];
};
/* "+4.1 %", "x 12", "new", "gone". */
struct shown show_change(double growth, bool is_gone);
struct shown show_growth(const struct finding *f);
/* ---- headline.c */
/* Appends the result in one line, and behind it what a green result may have missed, and what it
 * takes to see it. */
void report_headline(const struct regress *g, struct text *t);
/* Do the runs differ so much that a growth of all on-CPU time may be missed? */
bool report_total_is_vague(const struct regress *g);
/* Appends a line on the power: what growth would have been found, or what would be needed. */
void report_power(const struct regress *g, struct text *t);
/* Appends which growth would be found in functions that are not small. */
void report_found(const struct regress *g, struct text *t);

/* Appends how many functions were not judged by themselves, because another compiler made their
 * module, and before it, if there are any, `before`. */
void report_compilers(const struct regress *g, struct text *t, const char *before);
/* A line about the programs that were built anew but are the same; "". */
const char *report_code(const struct regress *g);
/* "", or a line that says that inlined functions are not known. */
const char *report_inlines(const struct regress *g);
/* "all on-CPU time", or of what event all. */
const char *report_whole(const struct regress *g);
/* The name of a finding's function, or "all on-CPU time". */
const char *finding_name(const struct regress *g, const struct finding *f);
/* Takes it less time, and nothing else took most of that over? Or is its time elsewhere, or from
 * there? */
bool finding_is_less(const struct regress *g, const struct finding *f);
bool finding_is_elsewhere(const struct regress *g, const struct finding *f);
/* Appends "+12.3 %", or of a broken limit what it has of the whole, and the limit. */
void report_growth(struct text *t, const struct finding *f);
/* Is it shown in lists for users? Findings that others explain are not. */
bool finding_is_shown(const struct finding *f);

/* ---- place.c */
/* The source file, below the working directory without it; "": not known. */
const char *finding_file(const struct regress *g, const struct finding *f, uint32_t *line);
/* All functions' findings that are for users: the first n_shown, at most `most`, are those to show,
 * in their order; the rest and what is folded away follow. The caller frees the array; NULL: out of
 * memory. */
const struct finding **findings_rank(const struct regress *g, size_t most, size_t *n_shown,
				     size_t *n);
/* ---- comment.c */
/* Appends a name as a code span of Markdown, in at most `most` bytes of the name: no name may end
 * the span or the cell of a table, or become a link or a mention. */
void report_code_span(struct text *t, const char *s, size_t most);
/* GitHub limits comments to 65,536 bytes. */
enum { COMMENT_MAX = 6000, LONG_MAX_BYTES = 60000, ROWS = 10 }; /* of Markdown */
/* Appends title, totals and table of one benchmark among several, in about `most` bytes. */
void report_section(struct text *t, const struct regress *g, const char *heading, size_t most);
void report_only_title(struct text *t, const struct regress *g);
/* Appends what was compared and how sure that is, in one line. */
void report_compared(struct text *t, const struct regress *g);
/* ---- title.c */
/* Appends what counts, in one line; v, shown, n: of findings_rank(). */
void report_title(const struct regress *g, const struct finding *const *v, size_t shown, size_t n,
		  struct text *t);
void report_flush(struct text *t, FILE *out);

#endif
