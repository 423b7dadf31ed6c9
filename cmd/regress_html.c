/* regress_html.c - makes a profile of two sides from the runs, and verdicts on its functions from
 * the findings. */
#include "cmd/regress_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "cmd/write_file.h"

enum { DETAILS_BYTES = 160, SUMMARY_BYTES = 320 };

int regress_page_start(struct regress_page *page, struct err *err)
{
	*page = (struct regress_page){.opt = {.generator = "unspool " UNSPOOL_VERSION}};
	page->both = profile_new(PROFILE_KEEP_TIDS);
	return page->both ? 0 : err_nomem(err);
}

int regress_page_add(struct regress_page *page, const struct profile *run, enum side side,
		     const char *event, struct err *err)
{
	struct event_set events;
	int rc = event_set_make(&events, run, event, err);

	if (!rc)
		rc = output_add_run(&page->opt.diff, page->both, run, &events, side == SIDE_NEW,
				    err);
	event_set_done(&events);
	return rc;
}

struct verdicts {
	struct diff_verdict *v;
	char (*details)[DETAILS_BYTES];
};

static void judge(const struct regress_page *page, const struct regress *g, struct verdicts *to)
{
	const struct profile *p = page->both;
	size_t i;

	for (i = 0; i < p->functions.n; i++) {
		uint32_t name = p->functions.v[i].name;
		const struct finding *f = regress_finding_of(
			g, strtab_get(&p->strings, name), strtab_len(&p->strings, name),
			strtab_get(&p->strings, p->functions.v[i].file));

		if (!f || f->verdict == VERDICT_EXPLAINED)
			continue;
		regress_details(f, to->details[i], DETAILS_BYTES);
		to->v[i] = (struct diff_verdict){
			.text = verdict_text(f->verdict),
			.details = to->details[i],
			.is_significant = f->verdict != VERDICT_SUSPECT &&
					  f->verdict != VERDICT_UNCONFIRMED &&
					  f->verdict != VERDICT_ENVIRONMENT &&
					  f->verdict != VERDICT_IGNORED,
		};
	}
}

static int write_page(void *what, FILE *out, struct err *err)
{
	const struct regress_page *page = what;

	return output_write(output_format_find("html"), page->both, &page->opt, out, err);
}

/* Appends the chance that a job without a change fails. */
static void add_false_alarm(const struct regress *g, char *line, size_t size)
{
	const double chance = regress_design(g)->false_alarm;
	size_t n = strlen(line);

	if (chance > 0)
		snprintf(line + n, size - n, "; without any change red in at most %.2g %% of jobs",
			 100 * chance);
}

int regress_page_write(struct regress_page *page, const struct regress *g, const char *path,
		       struct err *err)
{
	size_t n = page->both->functions.n;
	struct verdicts to = {calloc(n + 1, sizeof *to.v), calloc(n + 1, sizeof *to.details)};
	char summary[SUMMARY_BYTES];
	int rc = to.v && to.details ? 0 : err_nomem(err);

	if (!rc) {
		judge(page, g, &to);
		regress_summary(g, summary, sizeof summary);
		add_false_alarm(g, summary, sizeof summary);
		page->opt.diff.verdicts = to.v;
		page->opt.diff.summary = summary;
		rc = write_file(path, PACK_NONE, write_page, page, err);
	}
	free(to.v);
	free(to.details);
	return rc;
}

void regress_page_done(struct regress_page *page)
{
	profile_free(page->both);
}
