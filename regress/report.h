/* report.h - what reports share. Private to regress/. */
#ifndef REGRESS_REPORT_H
#define REGRESS_REPORT_H

#include "regress/inside.h"

/* "+12.3 %", in a buffer of the caller; "new" where there is no base. */
struct shown {
	char s[32];
};
struct shown show_growth(const struct finding *f);
/* One line that says what came out. */
void report_summary(const struct regress *g, struct text *t);
/* Another one: what growth would be found, or what it takes. */
void report_power(const struct regress *g, struct text *t);
/* A finding's function, or "all on-CPU time". */
const char *finding_name(const struct regress *g, const struct finding *f);
/* Is it shown in lists for people? What is explained by others is not. */
bool finding_is_shown(const struct finding *f);
void report_flush(struct text *t, FILE *out);

#endif
