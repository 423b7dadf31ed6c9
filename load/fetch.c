/* fetch.c - which modules' files are fetched from debuginfod servers.
 *
 * Inlined frames need a whole debug file, which is fetched for modules where much time is spent;
 * for others names are enough. */
#include <stdlib.h>

#include "base/err.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "reader/reader.h"

#define FULL_FROM_PERCENT 5.0

static enum fetch_tier tier_for(enum fetch_mode mode, bool no_inline, double share)
{
	switch (mode) {
	case FETCH_MODE_SYM:
		return FETCH_TIER_SYM;
	case FETCH_MODE_LINE:
		return FETCH_TIER_LINE;
	case FETCH_MODE_FULL:
		return FETCH_TIER_FULL;
	default:
		return share >= FULL_FROM_PERCENT && !no_inline ? FETCH_TIER_FULL : FETCH_TIER_SYM;
	}
}

/* Names of the kernel and its vDSO have other sources, and a vmlinux with debug information has
 * about a gigabyte: only in mode "full". */
bool fetch_is_worth_it(const struct dso *dso, enum fetch_mode mode)
{
	return mode == FETCH_MODE_FULL || (dso->kind != DSO_KERNEL && dso->kind != DSO_VDSO);
}

int fetch_for_profile(struct loaded *p, const struct load_options *opt, struct err *err)
{
	uint64_t total = loaded_samples(p);
	size_t n, n_wants = 0, i;
	struct dso_weight *v = weigh_dsos(p, &n);
	struct fetch_want *wants = calloc(n + 1, sizeof *wants);
	int rc = v && wants ? 0 : err_nomem(err);

	for (i = 0; !rc && i < n; i++)
		if (fetch_is_worth_it(v[i].dso, opt->fetch))
			wants[n_wants++] = (struct fetch_want){
				v[i].dso, tier_for(opt->fetch, opt->symbolizer.no_inline,
						   percent(v[i].samples, total))};
	if (!rc) {
		listener_begin(opt, LOAD_FETCHES, p->path, NULL);
		rc = modules_fetch(p->modules, wants, n_wants, err);
		listener_end(opt, LOAD_FETCHES);
	}
	free(wants);
	free(v);
	return rc;
}
