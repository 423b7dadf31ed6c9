/* prefetch_binaries.c - the first of two passes over a recording whose binaries may have to be
 * fetched.
 *
 * Unwinding asks for binaries one by one, in the order in which it needs them. With a network it is
 * better to fetch the hottest first and several at a time, and for that the samples must be counted
 * before. */
#include "base/err.h"
#include "base/vec.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "reader/reader.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Samples by the dso that they were in: by its id. */
struct counts {
	VEC(uint64_t) by_dso;
};

static int count_batch(struct counts *c, const struct sample_filter *filter,
		       const struct perf_batch *b, struct err *err)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct perf_sample *s = &b->samples[i];
		const struct map *map = address_space_find(s->space, s->ip);

		if (!map || !sample_filter_match(filter, s))
			continue;
		if (vec_reserve(&c->by_dso, map->dso->id + 1))
			return err_nomem(err);
		while (c->by_dso.n <= map->dso->id)
			c->by_dso.v[c->by_dso.n++] = 0;
		c->by_dso.v[map->dso->id]++;
	}
	return 0;
}

static int count_samples(struct counts *c, const struct loaded *p, const struct load_options *opt,
			 struct err *err)
{
	struct perf_file *f = p->counted;
	struct perf_batch *b;
	int rc;

	while ((rc = perf_file_read(f, &b, err)) > 0) {
		rc = count_batch(c, &p->filter, b, err);
		perf_batch_release(f, b);
		if (rc || (opt->stop && *opt->stop))
			break;
	}
	return rc < 0 ? rc : 0;
}

static int fetch_counted(struct loaded *p, const struct counts *c, struct err *err)
{
	struct dso_weight *v = calloc(c->by_dso.n + 1, sizeof *v);
	struct fetch_want *wants = calloc(c->by_dso.n + 1, sizeof *wants);
	size_t n = 0, i;
	int rc = v && wants ? 0 : err_nomem(err);

	for (i = 0; !rc && i < c->by_dso.n; i++)
		if (c->by_dso.v[i])
			v[n++] = (struct dso_weight){perf_file_dso(p->counted, i), c->by_dso.v[i]};
	if (!rc)
		dso_weights_sort(v, n);
	for (i = 0; !rc && i < n; i++)
		wants[i] = (struct fetch_want){v[i].dso, FETCH_TIER_BINARY};
	if (!rc)
		rc = modules_fetch(p->modules, wants, n, err);
	free(wants);
	free(v);
	return rc;
}

int prefetch_binaries(struct loaded *p, const struct load_options *opt, struct err *err)
{
	struct perf_file_options fo = {.part_of = pipeline_part_of, .part_of_arg = p};
	struct counts counts = {0};
	struct stat st;
	int rc;

	if (stat(p->path, &st) || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	fo.only_trusted = !opt->symbolizer.foreign_jit_maps;
	rc = perf_file_open(&p->counted, p->path, &fo, err);
	if (!rc)
		rc = count_samples(&counts, p, opt, err);
	if (!rc)
		rc = fetch_counted(p, &counts, err);
	vec_done(&counts.by_dso);
	return rc;
}
