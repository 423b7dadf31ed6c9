/* namesakes.c - says which rows stand for several functions of one name. */
#include <stdio.h>

#include "regress/judge.h"

enum { NAMESAKES_MAX = 2 };

/* Is a name of several functions in the report, or would it be if they were told apart? */
static bool is_shown_namesake(const struct regress *g, uint32_t key)
{
	const struct key_info *info = &g->info.v[key];
	size_t i;

	for (i = 0; info->has_namesakes && !info->is_asked && i < g->findings.n; i++)
		if (g->findings.v[i].key == key && g->findings.v[i].kind == FINDING_SELF &&
		    g->findings.v[i].verdict < VERDICT_ENVIRONMENT)
			return true;
	return info->has_namesakes && info->is_asked;
}

int tell_namesakes(struct regress *g, struct err *err)
{
	size_t n = 0;
	char line[256];
	uint32_t k;
	int rc = 0;

	for (k = 0; !rc && k < g->info.n && n < NAMESAKES_MAX; k++) {
		if (!is_shown_namesake(g, k))
			continue;
		n++;
		snprintf(line, sizeof line,
			 "several functions are named %.120s: they are counted as one",
			 regress_name(g, k));
		rc = regress_warn(g, line, err);
	}
	return rc;
}
