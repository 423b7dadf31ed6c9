/* hits.c - hits of probes by function. */
#include "report/hits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"

enum { ROWS_MAX = 40 };

struct hits {
	uint32_t function; /* string id; 0: no name is known */
	uint64_t n;
};

struct table {
	VEC(struct hits) v;
	struct hash_table by_function; /* -> index */
};

/* Not the ends of calls. */
static bool is_probe(const char *event)
{
	static const char *const begins[] = {
		"uprobe:", "u:", "uretprobe:", "ur:", "call:", "kprobe:", "kretprobe:"};

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (str_starts_with(event, begins[i]))
			return true;
	return false;
}

static uint64_t hits_of(const struct profile *p, const struct profile_sample *s)
{
	const struct perf_attr *a = &p->events.v[s->event].attr;

	return s->count * (a->flags & PERF_ATTR_FREQ || !a->sample_period ? 1 : a->sample_period);
}

static int add(struct table *t, const struct profile *p, const struct profile_sample *s)
{
	uint32_t function, at;

	profile_probed_level(p, s->event, s->node, &function);
	if (!function && s->node)
		function = profile_symbol(p, &p->locations.v[p->nodes.v[s->node].location]);
	at = hash_get(&t->by_function, function);
	if (at == HASH_NONE) {
		at = (uint32_t)t->v.n;
		if (vec_push(&t->v, ((struct hits){function, 0})) ||
		    hash_put(&t->by_function, function, at))
			return -1;
	}
	t->v.v[at].n += hits_of(p, s);
	return 0;
}

static int by_hits(const void *a, const void *b)
{
	const struct hits *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

static void print(const struct table *t, const struct profile *p, FILE *out)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->v.n; i++)
		sum += t->v.v[i].n;
	fprintf(out, "hits of probes: %" PRIu64 ", by function:\n", sum);
	for (size_t i = 0; i < t->v.n && i < ROWS_MAX; i++) {
		struct text name = {0};
		const uint32_t id = t->v.v[i].function;

		text_clean(&name, id ? strtab_get(&p->strings, id) : "[unknown]",
			   id ? strtab_len(&p->strings, id) : strlen("[unknown]"));
		fprintf(out, "  %10" PRIu64 "  %.*s\n", t->v.v[i].n, (int)name.n,
			name.s ? name.s : "");
		text_done(&name);
	}
	if (t->v.n > ROWS_MAX)
		fprintf(out, "  ... and %zu more functions\n", t->v.n - ROWS_MAX);
}

void report_hits(const struct profile *p, FILE *out)
{
	struct table t = {0};

	for (size_t i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];

		if (is_probe(strtab_get(&p->strings, p->events.v[s->event].name)) && add(&t, p, s))
			break;
	}
	if (t.v.n) {
		qsort(t.v.v, t.v.n, sizeof *t.v.v, by_hits);
		print(&t, p, out);
	}
	vec_done(&t.v);
	hash_done(&t.by_function);
}
