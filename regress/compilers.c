/* compilers.c - modules that are made by another compiler on the other side. It makes other code of
 * every function, and which instructions belong to which of those that it compiled into one another
 * is up to it, so some take more time and others less where the whole takes as long. */
#include <string.h>

#include "base/strtab.h"
#include "base/text.h"
#include "regress/judge.h"

/* One module, as each side has it. */
struct pair {
	const struct build *side[SIDE_N];
};

static bool is_of(const struct regress *g, const struct pair *p, uint32_t dso)
{
	int s;

	for (s = 0; s < SIDE_N; s++)
		if (p->side[s]->short_name == dso ||
		    !strcmp(base_name(p->side[s]->path), strtab_get(&g->names, dso)))
			return true;
	return false;
}

/* Known to be by other compilers? Programs are a pair also by other names. */
static bool is_made_otherwise(const struct pair *p)
{
	const struct build *a = p->side[SIDE_BASE], *b = p->side[SIDE_NEW];

	return (a->short_name == b->short_name || (a->is_program && b->is_program)) &&
	       *a->compiler && *b->compiler && strcmp(a->compiler, b->compiler) != 0;
}

/* Finds the module with a name (id), if it is made by other compilers. */
static bool find_made_otherwise(const struct regress *g, uint32_t dso, struct pair *p)
{
	const struct side_code *x = &g->code[SIDE_BASE], *y = &g->code[SIDE_NEW];
	size_t i, k;

	for (i = 0; i < x->builds.n; i++)
		for (k = 0; k < y->builds.n; k++) {
			*p = (struct pair){{&x->builds.v[i], &y->builds.v[k]}};
			if (is_made_otherwise(p) && is_of(g, p, dso))
				return true;
		}
	return false;
}

/* Sums the functions of a module by run. Returns the one beside key that lost most; NONE. */
static uint32_t sum_module(const struct judge *j, const struct pair *p, uint32_t key,
			   double *counts)
{
	const struct regress *g = j->g;
	uint32_t k, most = NONE;
	size_t r;

	memset(counts, 0, g->runs.n * sizeof *counts);
	for (k = 0; k < g->self.n; k++) {
		if (!g->info.v[k].is_of_file || !is_of(g, p, g->info.v[k].dso))
			continue;
		for (r = 0; r < g->runs.n; r++)
			counts[r] += g->self.counts[k * g->runs.n + r];
		if (k != key && change(j, &g->self.v[k]) < 0 &&
		    (most == NONE || change(j, &g->self.v[k]) < change(j, &g->self.v[most])))
			most = k;
	}
	return most;
}

/* It fails only with its module. */
static void judge_with_module(struct judge *j, const struct pair *p, struct finding *f)
{
	const struct regress *g = j->g;
	struct tested all = {.margin = g->opt.margin};
	double counts[RUNS_MAX];
	uint32_t most = sum_module(j, p, f->key, counts);

	family_test_one(&g->self, counts, j->size, &all);
	if (most == NONE || !all.is_tested || all.p_up <= g->opt.q)
		return;
	f->verdict = VERDICT_MOVED;
	f->how = MOVED_COMPILER;
	f->related = most;
	j->flagged[f->key] = false;
	j->moved[f->key] = (struct move){most, MOVED_COMPILER};
}

void judge_compilers(struct judge *j)
{
	struct regress *g = j->g;
	struct pair p;
	size_t i;

	for (i = 0; i < g->findings.n; i++) {
		struct finding *f = &g->findings.v[i];

		if (f->kind == FINDING_SELF &&
		    (f->verdict == VERDICT_REGRESSED || f->verdict == VERDICT_NEW ||
		     f->verdict == VERDICT_SUSPECT) &&
		    f->new > f->base &&
		    g->info.v[f->key].is_of_file &&find_made_otherwise(g, g->info.v[f->key].dso,
								       &p))
			judge_with_module(j, &p, f);
	}
}
