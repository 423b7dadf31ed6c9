/* together.c - were the runs of both sides recorded in turn on one machine? */
#include <stdlib.h>
#include <string.h>

#include "regress/inside.h"

struct moment {
	uint64_t began_ns;
	enum side side;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->began_ns != y->began_ns)
		return x->began_ns < y->began_ns ? -1 : 1;
	return (int)x->side - (int)y->side;
}

/* In turn: by time the side changes at least as often as the side with fewer runs has some. In
 * rounds of any order it does; of sides recorded one after the other it changes once. */
enum together runs_together(const struct regress *g)
{
	struct moment all[RUNS_MAX];
	size_t n = g->runs.n, i, changes = 0;
	const char *host = "";

	for (i = 0; i < n; i++) {
		const struct run_facts *f = &g->runs.v[i].facts;

		if (*host && *f->host && strcmp(host, f->host))
			return TOGETHER_NO;
		host = *f->host ? f->host : host;
	}
	for (i = 0; i < n; i++) {
		all[i] = (struct moment){g->runs.v[i].facts.began_ns, g->runs.v[i].side};
		if (!all[i].began_ns)
			return TOGETHER_UNKNOWN;
	}
	qsort(all, n, sizeof *all, compare_moments);
	for (i = 1; i < n; i++)
		changes += all[i].side != all[i - 1].side;
	return changes >= g->design.runs[SIDE_BASE] || changes >= g->design.runs[SIDE_NEW]
		       ? TOGETHER_YES
		       : TOGETHER_NO;
}
