/* order_log.c - samples of waits are known when the wait, or one that they stand for, is over. */
#include <stdlib.h>

#include "base/err.h"
#include "profile/profile.h"

struct moment {
	uint64_t time_ns;
	size_t entry;
};

static int compare(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Recordings of perf may have samples that come late, too: these stay as perf shows them. */
static bool is_in_order(const struct profile *p)
{
	bool has_waits = false, any = false;

	for (size_t i = 0; i < p->log.n; i++) {
		has_waits |= p->log.v[i].is_wait;
		any |= i && p->log.v[i].time_ns < p->log.v[i - 1].time_ns;
	}
	return !has_waits || !any;
}

int profile_order_log(struct profile *p, struct err *err)
{
	const size_t n = p->log.n;
	struct profile_log_entry *sorted;
	struct moment *order;

	if (is_in_order(p))
		return 0;
	sorted = malloc(n * sizeof *sorted);
	order = malloc(n * sizeof *order);
	if (!sorted || !order) {
		free(sorted);
		free(order);
		return err_nomem(err);
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (struct moment){p->log.v[i].time_ns, i};
	qsort(order, n, sizeof *order, compare);
	for (size_t i = 0; i < n; i++)
		sorted[i] = p->log.v[order[i].entry];
	free(order);
	free(p->log.v);
	p->log.v = sorted;
	p->log.cap = n;
	return 0;
}
