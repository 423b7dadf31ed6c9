/* place.c - where a finding's function is: in code that the change touched, in the project, or in a
 * library; in which file; and in which order a reader wants to see findings. */
#include "regress/report.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "regress/code.h"

/* Is path in the folder, or the folder itself? */
static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	while (n && folder[n - 1] == '/')
		n--;
	return n && !strncmp(path, folder, n) && (!path[n] || path[n] == '/');
}

/* A relative folder may be anywhere in the path, because both sides are built in folders of their
 * own. */
static bool is_in_folder(const char *path, const char *folder)
{
	if (str_starts_with(folder, "./"))
		folder += 2;
	if (*folder == '/' || is_below(path, folder))
		return is_below(path, folder);
	for (path = strchr(path, '/'); path; path = strchr(path + 1, '/'))
		if (is_below(path + 1, folder))
			return true;
	return false;
}

/* The path of the file that has a function's code; "": not known. */
static const char *module_path(const struct regress *g, uint32_t key)
{
	size_t i;
	int s;

	for (s = SIDE_N; s--;)
		for (i = 0; i < g->code[s].ran.n; i++)
			if (g->code[s].ran.v[i].key == key)
				return g->code[s].builds.v[g->code[s].ran.v[i].build].path;
	return "";
}

static bool is_of_system(const char *path)
{
	static const char *const folders[] = {"/usr", "/lib", "/lib32", "/lib64", "/libx32"};
	size_t i;

	/* What people install there themselves is theirs. */
	if (is_below(path, "/usr/local") || is_below(path, "/usr/src"))
		return false;
	for (i = 0; i < sizeof folders / sizeof *folders; i++)
		if (is_below(path, folders[i]))
			return true;
	return false;
}

static bool is_of_project(const struct regress *g, uint32_t key)
{
	const char *const *folder = g->opt.project;
	const char *module = module_path(g, key), *file;
	uint32_t line;

	file = regress_file(g, key, &line);
	if (g->info.v[key].is_kernel || g->info.v[key].is_vdso)
		return false;
	if (!folder)
		return !is_of_system(file) && !is_of_system(module);
	for (; *folder; folder++)
		if (is_in_folder(file, *folder) || is_in_folder(module, *folder))
			return true;
	return false;
}

/* Where a function is, in the order in which readers want to see them. */
enum place { PLACE_TOUCHED, PLACE_PROJECT, PLACE_LIBRARY };

static enum place finding_place(const struct regress *g, const struct finding *f)
{
	if (f->kind == FINDING_TOTAL)
		return PLACE_TOUCHED;
	if (g->code_state && g->code_state[f->key] == CODE_CHANGED)
		return PLACE_TOUCHED;
	return is_of_project(g, f->key) ? PLACE_PROJECT : PLACE_LIBRARY;
}

/* ---- files --------------------------------------------------------------------------------------
 */

/* CI systems expect paths relative to the root of the repository, where they run commands. */
const char *finding_file(const struct regress *g, const struct finding *f, uint32_t *line)
{
	const char *file = f->kind == FINDING_TOTAL ? "" : regress_file(g, f->key, line);
	char here[PATH_MAX];
	size_t n;

	if (!getcwd(here, sizeof here))
		return file;
	n = strlen(here);
	return !strncmp(file, here, n) && file[n] == '/' ? file + n + 1 : file;
}

/* ---- order --------------------------------------------------------------------------------------
 */

struct ranked {
	const struct regress *g;
	const struct finding *f;
	int rank;
};

/* What fails the job, what may, what else changed. */
static int weight_of(enum verdict v)
{
	return verdict_is_gated(v) ? 0 : v <= VERDICT_ALLOWED ? 1 : 2;
}

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	double i = fabs(x->f->impact), k = fabs(y->f->impact);

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (i != k && !isnan(i) && !isnan(k))
		return i > k ? -1 : 1;
	return strcmp(regress_key(x->g, x->f->key), regress_key(y->g, y->f->key));
}

/* Is it noise, or of the environment, so that it is folded away? */
static bool finding_is_folded(const struct regress *g, const struct finding *f)
{
	return f->verdict == VERDICT_ENVIRONMENT || f->verdict == VERDICT_IGNORED ||
	       f->verdict == VERDICT_UNCONFIRMED ||
	       (f->verdict == VERDICT_SUSPECT && finding_place(g, f) == PLACE_LIBRARY);
}

/* The best ones, with a rank, in the order of their ranks. */
static void pick(struct ranked *v, size_t n, size_t most, size_t *n_shown)
{
	size_t i;

	/* What fails the job is never left out for what does not. */
	for (i = 0; i < n; i++)
		v[i].rank += 10 * weight_of(v[i].f->verdict);
	qsort(v, n, sizeof *v, compare_ranked);
	*n_shown = n < most ? n : most;
	for (i = 0; i < *n_shown; i++)
		v[i].rank = 10 * (v[i].rank % 10) + v[i].rank / 10;
	qsort(v, *n_shown, sizeof *v, compare_ranked);
}

const struct finding **findings_rank(const struct regress *g, size_t most, size_t *n_shown,
				     size_t *n)
{
	struct ranked *v = calloc(g->findings.n + 1, sizeof *v);
	const struct finding **ret = calloc(g->findings.n + 1, sizeof *ret);
	size_t i, end = 0, shown = 0;

	*n_shown = *n = 0;
	for (i = 0; v && i < g->findings.n; i++) {
		const struct finding *f = &g->findings.v[i];

		if (f->kind != FINDING_TOTAL && finding_is_shown(f) && !finding_is_folded(g, f))
			v[end++] = (struct ranked){g, f, (int)finding_place(g, f)};
	}
	if (v)
		pick(v, end, most, &shown);
	for (i = 0; v && ret && i < end; i++)
		ret[i] = v[i].f;
	*n = ret && v ? end : 0;
	for (i = 0; v && ret && i < g->findings.n; i++)
		if (g->findings.v[i].kind != FINDING_TOTAL &&
		    finding_is_folded(g, &g->findings.v[i]))
			ret[(*n)++] = &g->findings.v[i];
	*n_shown = *n ? shown : 0;
	free(v);
	if (!v) {
		free(ret);
		return NULL;
	}
	return ret;
}
