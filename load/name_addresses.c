/* name_addresses.c - names for the addresses of profiles that have offsets in files, as texts of
 * heap profiles have. The files are those of now: such profiles have no build ids. */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/err.h"
#include "base/strtab.h"
#include "load/pipeline.h"
#include "modules/modules.h"
#include "profile/fill.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"

/* Both are of the profile: dsos by mapping, queries by location. */
struct addresses {
	struct dso *dsos;
	struct sym_query *queries;
	struct sym_result *results;
};

static void name_files(const struct profile *p, struct addresses *a)
{
	for (size_t i = 0; i < p->mappings.n; i++)
		a->dsos[i] = (struct dso){.id = (uint32_t)i,
					  .kind = p->mappings.v[i].kind,
					  .path = strtab_get(&p->strings, p->mappings.v[i].path),
					  .build_id = p->mappings.v[i].build_id};
}

/* Is the file another one than the one that was mapped? Without code to compare, nothing else
 * tells. */
static bool was_replaced(const struct profile_mapping *m, const char *path, int64_t written_s)
{
	struct stat st;

	if (stat(path, &st))
		return false;
	return (written_s && st.st_mtim.tv_sec > written_s) ||
	       (m->ino && major(st.st_dev) == m->maj && minor(st.st_dev) == m->min &&
		st.st_ino != m->ino);
}

/* Files of --symfs are the right ones because the user says so. */
static void check_files(struct loaded *l, const struct load_options *opt, struct addresses *a)
{
	const struct profile *p = l->profile;
	const int64_t written_s = pipeline_written_s(l->path);

	for (size_t i = 0; i < p->mappings.n; i++) {
		if (p->mappings.v[i].kind != DSO_FILE ||
		    (opt->modules.symfs && *opt->modules.symfs) ||
		    !was_replaced(&p->mappings.v[i], a->dsos[i].path, written_s))
			continue;
		a->dsos[i].kind = DSO_UNKNOWN;
		loaded_note(l,
			    "%s was replaced after the profile was made: its functions have no "
			    "names; give the one that ran by --symfs DIR",
			    a->dsos[i].path);
	}
}

static void ask(const struct profile *p, struct addresses *a)
{
	for (size_t i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];

		/* A query without a file has no answer. */
		a->queries[i] = (struct sym_query){.off = l->off, .ip = l->ip};
		if (!l->n_lines && a->dsos[l->mapping].kind == DSO_FILE)
			a->queries[i].dso = &a->dsos[l->mapping];
	}
}

static int answer(struct loaded *l, const struct load_options *opt, struct addresses *a,
		  struct err *err)
{
	struct profile *p = l->profile;
	struct modules_options mo = opt->modules;
	struct modules *modules = NULL;
	struct symbolizer *symbolizer = NULL;
	int rc;

	mo.recorded_s = pipeline_written_s(l->path);
	rc = modules_new(&modules, &mo, err);
	if (!rc)
		rc = symbolizer_new(&symbolizer, modules, NULL, &opt->symbolizer, err);
	if (!rc)
		rc = symbolizer_run(symbolizer, a->queries, p->locations.n, a->results, err);
	for (size_t i = 0; !rc && i < p->locations.n; i++)
		if (a->queries[i].dso)
			rc = profile_set_lines(p, i, &a->results[i], symbolizer_strings(symbolizer),
					       err);
	if (symbolizer)
		symbolizer_free(symbolizer);
	if (modules)
		modules_free(modules);
	return rc;
}

/* Files without names, and why, once each. */
static void tell(struct loaded *l, const struct addresses *a)
{
	const struct profile *p = l->profile;

	for (size_t m = 0; m < p->mappings.n; m++) {
		uint64_t n = 0;
		enum sym_miss miss = SYM_MISS_FOUND;

		for (size_t i = 0; i < p->locations.n; i++)
			if (a->queries[i].dso == &a->dsos[m] &&
			    a->results[i].miss != SYM_MISS_FOUND) {
				miss = a->results[i].miss;
				n++;
			}
		if (n)
			loaded_note(l, "%s: %s: %" PRIu64 " addresses have no names",
				    strtab_get(&p->strings, p->mappings.v[m].path),
				    sym_miss_text(miss), n);
	}
}

int name_addresses(struct loaded *l, const struct load_options *opt, struct err *err)
{
	const struct profile *p = l->profile;
	struct addresses a = {calloc(p->mappings.n + 1, sizeof *a.dsos),
			      calloc(p->locations.n + 1, sizeof *a.queries),
			      calloc(p->locations.n + 1, sizeof *a.results)};
	int rc = a.dsos && a.queries && a.results ? 0 : err_nomem(err);

	if (!rc) {
		listener_begin(opt, LOAD_NAMES, l->path, NULL);
		name_files(p, &a);
		check_files(l, opt, &a);
		ask(p, &a);
		rc = answer(l, opt, &a, err);
		listener_end(opt, LOAD_NAMES);
	}
	if (!rc)
		tell(l, &a);
	free(a.dsos);
	free(a.queries);
	free(a.results);
	return rc;
}
