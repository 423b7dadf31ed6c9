/* report.h - functions that the reports share. Private to regress/. */
#ifndef REGRESS_REPORT_H
#define REGRESS_REPORT_H

#include "regress/inside.h"

/* "+12.3 %", in a buffer of the caller; "new" if the base has none. */
struct shown {
	char s[32];
};
struct shown show_growth(const struct finding *f);
/* ---- headline.c */
/* Appends the result in one line. */
void report_summary(const struct regress *g, struct text *t);
/* The same, and behind it what a green result may have missed, and what it takes to see it. */
void report_headline(const struct regress *g, struct text *t);
/* Appends a line on the power: what growth would have been found, or what would be needed. */
void report_power(const struct regress *g, struct text *t);
/* Appends which growth would be found in functions that are not small. */
void report_found(const struct regress *g, struct text *t);

/* A line about the programs that were built anew but are the same; "". */
const char *report_code(const struct regress *g);
/* Appends to a row about a finding which other function it has to do with, and how. */
void report_related(const struct regress *g, const struct finding *f, struct text *t);
/* The name of a finding's function, or "all on-CPU time". */
const char *finding_name(const struct regress *g, const struct finding *f);
/* Is it shown in lists for users? Findings that others explain are not. */
bool finding_is_shown(const struct finding *f);
void report_flush(struct text *t, FILE *out);

#endif
