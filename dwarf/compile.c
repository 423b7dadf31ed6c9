/* compile.c - compiles units, each on its own, on several threads. */
#include "dwarf/compile.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/threads.h"
#include "dwarf/line_orphans.h"
#include "dwarf/names.h"
#include "dwarf/unit_encode.h"

/* Normally each line table belongs to one unit. Units that share tables may together read this
 * many times the bytes of .debug_line; the units after that get no rows. */
enum { LINE_SHARES_MAX = 4 };

struct unit_job {
	uint32_t unit;
	bool rows;
	struct dwarf_compiled_unit *part;
	int rc;
};

struct run {
	const struct dwarf_file *file;
	const struct dwarf_filter *filter;
	struct dwarf_splits *splits;
	struct unit_job *jobs; /* sorted, longest unit first */
	size_t n;
};

static int name_funcs(struct dwarf_code *c, const struct dwarf_cu *cu)
{
	struct dwarf_namer namer;
	size_t i;
	int rc = 0;

	dwarf_namer_init(&namer, cu, c->scopes, &c->part->strings);
	for (i = 1; !rc && i < c->part->funcs.n; i++) {
		struct dwarf_func *f = &c->part->funcs.v[i];

		rc = dwarf_namer_run(&namer, c->keys.v[i], f);
		if (rc || !f->name || f->linkage_name || dwarf_language_is_flat(cu->language))
			continue;
		f->entry = dwarf_code_entry(c, cu, c->keys.v[i]);
		if (!f->entry || dwarf_name_has_lambda(f->name))
			rc = dwarf_namer_sign(&namer, c->keys.v[i], f);
	}
	return rc;
}

/* `cu` has the DIEs, `main` the line table; they differ for split units. Returns 0 or -ERR_NOMEM.
 */
static int compile_unit(struct dwarf_compiled_unit *part, const struct dwarf_filter *filter,
			bool rows, const struct dwarf_cu *main, const struct dwarf_cu *cu)
{
	struct dwarf_scopes scopes = {0};
	struct dwarf_code code = {.part = part, .filter = filter, .scopes = &scopes};
	struct dwarf_lines lines = {0};
	int rc = 0;

	if (cu->abbrevs)
		rc = dwarf_code_read(&code, cu);
	else
		part->bytes += cu->unit->end - cu->unit->off;
	if (!rc)
		rc = dwarf_lines_read(&lines, main, filter,
				      rows ? DWARF_ROWS_CHANGES : DWARF_ROWS_NONE);
	if (!rc)
		rc = dwarf_compiled_unit_merge(part, &code.ranges, code.n_groups, &lines, filter);
	if (!rc && cu->abbrevs)
		rc = dwarf_code_prune(&code);
	if (!rc && cu->abbrevs)
		rc = name_funcs(&code, cu);
	part->damaged |= lines.damaged;
	dwarf_lines_done(&lines);
	dwarf_code_done(&code);
	vec_done(&scopes.v);
	return rc ? rc : dwarf_unit_encode(part);
}

/* Copies a name that is in the section itself. These are mostly short names, for which a reference
 * would be as long. */
static int own_name(const struct dwarf_slice *section, const char **name, struct arena *to)
{
	const uint8_t *p = (const uint8_t *)*name;

	if (!p || p < section->data || p >= section->data + section->size)
		return 0;
	*name = arena_strndup(to, *name, strlen(*name));
	return *name ? 0 : -ERR_NOMEM;
}

static int own_names(struct dwarf_compiled_unit *p, const struct dwarf_slice *section)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->funcs.n; i++) {
		rc = own_name(section, &p->funcs.v[i].linkage_name, &p->strings);
		if (!rc)
			rc = own_name(section, &p->funcs.v[i].name, &p->strings);
	}
	return rc;
}

void dwarf_compiled_unit_free(struct dwarf_compiled_unit *part)
{
	if (part)
		dwarf_compiled_unit_done(part);
	free(part);
}

struct dwarf_compiled_unit *dwarf_compile_alone(const struct dwarf_filter *filter,
						const struct dwarf_cu *cu)
{
	struct dwarf_compiled_unit *part = calloc(1, sizeof *part);

	if (part && !compile_unit(part, filter, true, cu, cu) && !*cu->file->looked_beyond &&
	    !own_names(part, &cu->file->sec[DWARF_INFO]))
		return part;
	dwarf_compiled_unit_free(part);
	return NULL;
}

static int run_job(const struct run *run, const struct unit_job *job)
{
	struct dwarf_cu main, split;
	int rc = dwarf_unit_open(&main, run->file, job->unit);

	if (rc)
		return rc < 0 ? rc : 0;
	if (!main.dwo_name)
		return compile_unit(job->part, run->filter, job->rows, &main, &main);
	rc = dwarf_splits_cu(run->splits, &main, &split, &job->part->split_differs);
	if (rc < 0)
		return rc;
	if (rc)
		job->part->missing_split = main.dwo_name;
	/* Without its split unit, a skeleton still has lines, and with clang's
	 * -fsplit-dwarf-inlining also functions. */
	return compile_unit(job->part, run->filter, job->rows, &main, rc ? &main : &split);
}

static void run_item(void *arg, size_t i, unsigned worker)
{
	struct run *run = arg;

	(void)worker;
	run->jobs[i].rc = run_job(run, &run->jobs[i]);
}

/* Chooses the units that get rows: here, in order, so that the result does not depend on threads.
 */
static int share_lines(const struct run *run)
{
	uint64_t budget = run->file->sec[DWARF_LINE].size * LINE_SHARES_MAX;
	size_t i;

	for (i = 0; i < run->n; i++) {
		struct dwarf_cu cu;
		uint64_t size;
		int rc = dwarf_unit_open(&cu, run->file, run->jobs[i].unit);

		if (rc < 0)
			return rc;
		size = rc ? 0 : dwarf_lines_size(&cu);
		run->jobs[i].rows = size <= budget;
		budget -= run->jobs[i].rows ? size : 0;
	}
	return 0;
}

static int order_cmp(const void *a, const void *b, void *file)
{
	const struct dwarf_file *f = file;
	const struct unit_job *x = a, *y = b;
	const struct dwarf_unit *x_unit = dwarf_unit_number(f, x->unit);
	const struct dwarf_unit *y_unit = dwarf_unit_number(f, y->unit);
	uint64_t x_size = x_unit->end - x_unit->off;
	uint64_t y_size = y_unit->end - y_unit->off;

	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* Takes the units that were compiled while streaming; the other jobs are kept. */
static void take_streamed(struct run *run, struct dwarf_streaming *streaming)
{
	size_t i, kept = 0;

	for (i = 0; i < run->n; i++) {
		struct unit_job *j = &run->jobs[i];

		if (!j->rows || j->unit >= run->file->n_units ||
		    !dwarf_streaming_take(streaming, &run->file->units[j->unit], run->filter,
					  j->part))
			run->jobs[kept++] = *j;
	}
	run->n = kept;
}

static bool needs_info(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->n; i++)
		if (run->jobs[i].unit < run->file->n_units)
			return true;
	return false;
}

int dwarf_compile_units(struct dwarf_file *f, const struct dwarf_filter *filter,
			struct dwarf_splits *splits, struct dwarf_streaming *streaming,
			const struct dwarf_jobs *units, struct dwarf_compiled_unit *parts,
			unsigned n_threads)
{
	struct run run = {f, filter, splits, calloc(units->n + 1, sizeof *run.jobs), units->n};
	size_t i;
	int rc = run.jobs ? 0 : -ERR_NOMEM;

	for (i = 0; !rc && i < units->n; i++)
		run.jobs[i] = (struct unit_job){.unit = units->v[i], .part = &parts[i]};
	if (!rc)
		rc = share_lines(&run);
	if (!rc && streaming)
		take_streamed(&run, streaming);
	if (!rc && needs_info(&run) && dwarf_streaming_let_go_bytes(streaming))
		rc = dwarf_file_reload_info(f);
	if (!rc) {
		for (i = 0; i < units->n; i++)
			parts[i].unit = units->v[i];
		qsort_r(run.jobs, run.n, sizeof *run.jobs, order_cmp, f);
		threads_for(n_threads, run.n, run_item, &run);
	}
	for (i = 0; !rc && i < run.n; i++)
		rc = run.jobs[i].rc;
	free(run.jobs);
	return rc;
}
