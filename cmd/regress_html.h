/* regress_html.h - writes the differential page of a comparison, in which only significant changes
 * are coloured. */
#ifndef CMD_REGRESS_HTML_H
#define CMD_REGRESS_HTML_H

#include "output/output.h"
#include "regress/regress.h"

struct regress_page {
	struct profile *both; /* NULL: no page is wanted */
	struct output_options opt;
};

/* Begins a page; the caller releases it in all cases. Returns 0 or negative. */
int regress_page_start(struct regress_page *page, struct err *err);
/* Adds a run of a side; `event` as in struct regress_options. */
int regress_page_add(struct regress_page *page, const struct profile *run, enum side side,
		     const char *event, struct err *err);
/* Writes the page with the verdicts. */
int regress_page_write(struct regress_page *page, const struct regress *g, const char *path,
		       struct err *err);
void regress_page_done(struct regress_page *page);

#endif
