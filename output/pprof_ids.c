/* pprof_ids.c - selects what of a profile goes into a pprof file, in an order that depends only on
 * contents. */
#include "base/err.h"
#include "base/strtab.h"
#include "base/sum.h"
#include "base/vec.h"
#include "output/pprof.h"
#include "reader/reader.h"
#include "unwind/unwind.h"

/* ---- events --------------------------------------------------------------------------------- */

size_t pprof_bare_name(const struct profile_event *e, const char *name)
{
	const char *colon = strchr(name, ':');

	if (!colon || event_is_tracepoint(e->attr.type) ||
	    colon[1 + strspn(colon + 1, "ukhGHpPSDWIeb")])
		return strlen(name);
	return (size_t)(colon - name);
}

uint64_t pprof_period(const struct profile_event *e)
{
	bool is_frequency = e->attr.flags & PERF_ATTR_FREQ;

	if (!is_frequency)
		return e->attr.sample_period;
	/* A counter sampled at a frequency has no fixed period. */
	return profile_event_is_clock(e) && e->attr.sample_period
		       ? 1000000000 / e->attr.sample_period
		       : 0;
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static int ranks_init(struct pprof_ranks *r, size_t n)
{
	size_t i;

	r->of = malloc(n * sizeof *r->of + 1);
	r->ids = malloc(n * sizeof *r->ids + 1);
	for (i = 0; r->of && i < n; i++)
		r->of[i] = PPROF_UNUSED;
	return r->of && r->ids ? 0 : -1;
}

/* Marks an id as used. */
static void ranks_use(struct pprof_ranks *r, uint32_t id)
{
	if (r->of[id] == PPROF_UNUSED) {
		r->of[id] = 0;
		r->ids[r->n++] = id;
	}
}

typedef int compare_fn(const struct pprof *pp, uint32_t a, uint32_t b);

struct comparison {
	const struct pprof *pp;
	compare_fn *compare;
};

static int compare_ids(const void *a, const void *b, void *arg)
{
	const struct comparison *c = arg;

	return c->compare(c->pp, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* Sorts the used ids; equal ones get one rank. */
static void ranks_sort(struct pprof_ranks *r, const struct pprof *pp, compare_fn *compare)
{
	struct comparison c = {pp, compare};
	size_t i, n = 0;

	qsort_r(r->ids, r->n, sizeof *r->ids, compare_ids, &c);
	for (i = 0; i < r->n; i++) {
		if (!n || compare(pp, r->ids[n - 1], r->ids[i]))
			r->ids[n++] = r->ids[i];
		r->of[r->ids[i]] = (uint32_t)n - 1;
	}
	r->n = n;
}

/* ---- orders --------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_strings(const struct profile *p, uint32_t a, uint32_t b)
{
	return a == b ? 0 : strcmp(strtab_get(&p->strings, a), strtab_get(&p->strings, b));
}

static int compare_functions(const struct pprof *pp, uint32_t a, uint32_t b)
{
	const struct profile_function *fa = &pp->p->functions.v[a], *fb = &pp->p->functions.v[b];
	int rc = compare_strings(pp->p, fa->name, fb->name);

	if (!rc)
		rc = compare_strings(pp->p, fa->system_name, fb->system_name);
	if (!rc)
		rc = compare_strings(pp->p, fa->file, fb->file);
	return rc ? rc : compare_numbers(fa->start_line, fb->start_line);
}

static int compare_mappings(const struct pprof *pp, uint32_t a, uint32_t b)
{
	const struct profile_mapping *ma = &pp->p->mappings.v[a], *mb = &pp->p->mappings.v[b];
	const struct map *va = &ma->map, *vb = &mb->map;
	const struct build_id *ia = &ma->build_id, *ib = &mb->build_id;
	int rc = compare_strings(pp->p, ma->name, mb->name);

	if (!rc)
		rc = compare_numbers(ia->size, ib->size);
	if (!rc)
		rc = memcmp(ia->bytes, ib->bytes, ia->size);
	if (!rc)
		rc = compare_numbers(va->start, vb->start);
	if (!rc)
		rc = compare_numbers(va->end, vb->end);
	return rc ? rc : compare_numbers(va->pgoff, vb->pgoff);
}

static int compare_lines(const struct pprof *pp, const struct profile_location *a,
			 const struct profile_location *b)
{
	size_t i, na, nb;
	const struct profile_line *la = profile_lines(pp->p, a, pp->opt->style.no_inline, &na);
	const struct profile_line *lb = profile_lines(pp->p, b, pp->opt->style.no_inline, &nb);
	int rc = compare_numbers(na, nb);

	for (i = 0; !rc && i < na; i++) {
		rc = compare_numbers(pp->functions.of[la[i].function],
				     pp->functions.of[lb[i].function]);
		if (!rc)
			rc = compare_numbers(la[i].line, lb[i].line);
	}
	return rc;
}

static int compare_locations(const struct pprof *pp, uint32_t a, uint32_t b)
{
	const struct profile_location *la = &pp->p->locations.v[a], *lb = &pp->p->locations.v[b];
	int rc = compare_numbers(pp->mappings.of[la->mapping], pp->mappings.of[lb->mapping]);

	if (!rc)
		rc = compare_numbers(pprof_address(la), pprof_address(lb));
	return rc ? rc : compare_lines(pp, la, lb);
}

/* Sets are strings with bytes 0. */
static int compare_label_sets(const struct profile *p, uint32_t a, uint32_t b)
{
	size_t na = a ? strtab_len(&p->strings, a) : 0, nb = b ? strtab_len(&p->strings, b) : 0;
	size_t n = na < nb ? na : nb;
	int rc = n ? memcmp(strtab_get(&p->strings, a), strtab_get(&p->strings, b), n) : 0;

	return rc ? rc : compare_numbers(na, nb);
}

static int compare_labels(const struct pprof *pp, uint32_t a, uint32_t b)
{
	const struct profile_sample *sa = &pp->p->samples.v[a], *sb = &pp->p->samples.v[b];
	int rc = pp->stack_label[a] - pp->stack_label[b];

	if (!rc)
		rc = pprof_stop(sa) - pprof_stop(sb);
	if (!rc)
		rc = compare_strings(pp->p, sa->comm, sb->comm);
	if (!rc && (sa->labels || sb->labels))
		rc = compare_label_sets(pp->p, sa->labels, sb->labels);
	if (!rc && pp->opt->style.with_cpu)
		rc = compare_numbers(sa->cpu, sb->cpu);
	if (!rc && (pp->opt->style.with_pid || pp->opt->style.with_tid))
		rc = compare_numbers(sa->pid, sb->pid);
	return rc || !pp->opt->style.with_tid ? rc : compare_numbers(sa->tid, sb->tid);
}

/* ---- what is used --------------------------------------------------------------------------- */

static void use_location(struct pprof *pp, uint32_t id)
{
	const struct profile_location *l = &pp->p->locations.v[id];
	size_t i, n;
	const struct profile_line *lines = profile_lines(pp->p, l, pp->opt->style.no_inline, &n);

	ranks_use(&pp->locations, id);
	ranks_use(&pp->mappings, l->mapping);
	for (i = 0; i < n; i++)
		ranks_use(&pp->functions, lines[i].function);
}

static enum stack_label label_of(const struct profile *p, const struct profile_sample *s)
{
	if (profile_is_stitched(p, s->node))
		return STACK_STITCHED;
	return unwind_stop_is_cut(s->stop) ? STACK_CUT : STACK_WHOLE;
}

static void add_count(uint64_t *to, uint64_t n)
{
	*to = add_saturated(*to, n);
}

/* counts: by node, all 0; set to the number of the events' samples at or below each, at least 1 if
 * there are any: a pprof file can hold samples that stand for none, or for 2^64. */
static void use_samples(struct pprof *pp, uint64_t *counts)
{
	const struct profile *p = pp->p;
	size_t i;

	for (i = 0; i < p->samples.n; i++)
		if (pp->events->has[p->samples.v[i].event]) {
			ranks_use(&pp->labels, (uint32_t)i);
			pp->stack_label[i] = label_of(p, &p->samples.v[i]);
			add_count(&counts[p->samples.v[i].node],
				  p->samples.v[i].count + !p->samples.v[i].count);
		}
	for (i = p->nodes.n; i-- > 1;)
		if (counts[i]) {
			use_location(pp, p->nodes.v[i].location);
			add_count(&counts[p->nodes.v[i].parent], counts[i]);
		}
}

/* ---- the main binary ------------------------------------------------------------------------ */

static bool can_be_main(const struct profile *p, const struct profile_mapping *m)
{
	return m->kind == DSO_FILE && !strstr(strtab_get(&p->strings, m->short_name), ".so");
}

/* Readers take the first mapping for the main binary: put the program first that has most frames.
 */
static int put_main_first(struct pprof *pp, const uint64_t *counts)
{
	const struct profile *p = pp->p;
	struct pprof_ranks *r = &pp->mappings;
	uint64_t *frames = calloc(r->n + 1, sizeof *frames), most = 0;
	size_t i, best = 0;
	uint32_t id;

	if (!frames)
		return -1;
	for (i = 1; i < p->nodes.n; i++)
		if (counts[i])
			add_count(&frames[r->of[p->locations.v[p->nodes.v[i].location].mapping]],
				  counts[i]);
	for (i = 0; i < r->n; i++)
		if (frames[i] > most && can_be_main(p, &p->mappings.v[r->ids[i]])) {
			most = frames[i];
			best = i;
		}
	free(frames);
	if (!best)
		return 0;
	id = r->ids[best];
	memmove(r->ids + 1, r->ids, best * sizeof *r->ids);
	r->ids[0] = id;
	for (i = 0; i < p->mappings.n; i++)
		if (r->of[i] == best)
			r->of[i] = 0;
		else if (r->of[i] < best)
			r->of[i]++;
	return 0;
}

/* ---- the tree ------------------------------------------------------------------------------- */

int pprof_tree(struct tree *t, struct pprof *pp, uint32_t event, struct err *err)
{
	struct tree_symbols s = {0};
	size_t i;
	int rc = -1;

	for (i = 0; i <= pp->p->locations.n; i++)
		if (vec_push(&s.first, (uint32_t)i))
			goto out;
	for (i = 0; i < pp->p->locations.n; i++)
		if (vec_push(&s.ids, pp->locations.of[i]))
			goto out;
	for (i = 0; i < pp->p->samples.n; i++)
		if (vec_push(&s.roots, pp->labels.of[i]))
			goto out;
	event_set_pick(pp->events, event);
	rc = tree_fill(t, pp->p, pp->events->has, &s, NULL);
out:
	tree_symbols_done(&s);
	return rc ? err_nomem(err) : 0;
}

int pprof_rank(struct pprof *pp, struct err *err)
{
	const struct profile *p = pp->p;
	uint64_t *counts = calloc(p->nodes.n, sizeof *counts);

	pp->stack_label = calloc(p->samples.n + 1, sizeof *pp->stack_label);
	if (!counts || !pp->stack_label || ranks_init(&pp->functions, p->functions.n) ||
	    ranks_init(&pp->mappings, p->mappings.n) ||
	    ranks_init(&pp->locations, p->locations.n) || ranks_init(&pp->labels, p->samples.n)) {
		free(counts);
		return err_nomem(err);
	}
	use_samples(pp, counts);
	ranks_sort(&pp->functions, pp, compare_functions);
	ranks_sort(&pp->mappings, pp, compare_mappings);
	if (put_main_first(pp, counts)) {
		free(counts);
		return err_nomem(err);
	}
	free(counts);
	ranks_sort(&pp->locations, pp, compare_locations);
	ranks_sort(&pp->labels, pp, compare_labels);
	return 0;
}

static void ranks_done(struct pprof_ranks *r)
{
	free(r->of);
	free(r->ids);
}

void pprof_done(struct pprof *pp)
{
	ranks_done(&pp->functions);
	ranks_done(&pp->mappings);
	ranks_done(&pp->locations);
	ranks_done(&pp->labels);
	free(pp->stack_label);
}
