/* bundle_write.c - reads the recording and packs what its stacks went through. */
#include "capture/bundle_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/threads.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "capture/session.h"
#include "dwarf/dwarf.h"
#include "modules/modules.h"
#include "reader/reader.h"

/* Of zstd: 6 takes twice as long, and more memory, for 6 % less. `resolve --bundle` packs closer.
 */
enum { ZSTD_LEVEL = 3, CACHE_MIN_BYTES = 4096, CACHE_WHOLE_BYTES = 8 << 20 };

static int collect_kernel(struct cut_hits *hits, struct cut_addrs *ips)
{
	size_t i, k;

	for (i = 0; i < cut_hits_count(hits); i++) {
		const struct cut_dso *d = cut_hits_at(hits, i);

		if (d->dso->kind != DSO_KERNEL && d->dso->kind != DSO_KERNEL_MODULE)
			continue;
		for (k = 0; k < d->code.n; k++)
			if (vec_push(ips, d->code.v[k]))
				return -1;
	}
	cut_addrs_sort(ips);
	return 0;
}

static int make(struct perf_file *f, struct modules *ms, const struct bundle_job *j,
		struct bundle_blob *section, struct cut_report *report, struct err *err)
{
	const struct dwarf_cache cache = {j->opt->cache.dir, j->opt->cache.max_bytes,
					  CACHE_MIN_BYTES, CACHE_WHOLE_BYTES};
	struct cut_options co = {
		.level = j->opt->bundle - CAPTURE_BUNDLE_IDS + CUT_IDS,
		.max_bytes = j->opt->bundle_max,
		.n_threads = threads_available(),
		.zstd_level = ZSTD_LEVEL,
		.cache = cache.dir ? &cache : NULL,
		.read_file = pins_read,
		.arg = j->pins,
		.processes = j->processes->lines.failed ? NULL : j->processes->lines.s,
	};
	struct kernel_functions kernel = {0};
	struct cut_addrs ips = {0};
	struct cut_hits *hits;
	int rc = cut_collect(&hits, f, ms, err);

	if (!rc && (collect_kernel(hits, &ips) || kernel_functions_find(&kernel, &ips)))
		rc = err_nomem(err);
	co.kernel = kernel.v.v;
	co.n_kernel = kernel.v.n;
	if (!rc)
		rc = cut_bundle(section, f, ms, hits, &co, report, err);
	vec_done(&ips);
	kernel_functions_done(&kernel);
	cut_hits_free(hits);
	return rc;
}

static bool part_found(void *modules, const struct map_source *src, struct map_part *ret)
{
	struct modules **ms = modules;

	return *ms && modules_part(*ms, src, ret);
}

/* Says in *report what is in it. */
static int read_and_pack(const struct bundle_job *j, struct bundle_blob *section,
			 struct cut_report *report, struct err *err)
{
	struct modules_options mo = {.pinned = pins_find, .pinned_arg = j->pins};
	struct perf_file *f = NULL;
	struct modules *ms = NULL;
	const struct perf_file_options fo = {
		.alone = true, .part_of = part_found, .part_of_arg = &ms};
	int rc = perf_file_open(&f, j->file->path, &fo, err);

	*report = (struct cut_report){0};
	if (!rc) {
		mo.os_release = perf_file_info(f)->os_release;
		rc = modules_new(&ms, &mo, err);
	}
	if (!rc)
		rc = make(f, ms, j, section, report, err);
	modules_free(ms);
	perf_file_close(f);
	return rc;
}

static void note_lacks(const struct bundle_job *j, const struct cut_report *report)
{
	const size_t n = report->missing + report->dropped;

	if (report->lacks)
		capture_note(j->result, "%zu file%s not in the bundle%s %.*s", n,
			     n == 1 ? " is" : "s are", n == 1 ? ":" : ", for one",
			     (int)strcspn(report->lacks, "\n"), report->lacks);
	if (j->pins->left_out)
		capture_note(j->result,
			     "%zu files were not kept open for the bundle: raise `ulimit -n`",
			     j->pins->left_out);
	if (j->processes->left_out)
		capture_note(j->result,
			     "%zu processes have no cgroup and program in the recording: more were "
			     "sampled than it keeps",
			     j->processes->left_out);
	if (j->pins->too_much)
		capture_note(j->result,
			     "%zu files of file systems that may be unmounted were let go when "
			     "their processes had ended: there is too much to keep copies of all",
			     j->pins->too_much);
}

static void measure(const struct bundle_job *j, size_t n_modules, double start)
{
	j->result->bundle_bytes = j->facts->n_bundle;
	j->result->bundle_modules = n_modules;
	j->result->bundle_seconds = clock_seconds() - start;
	j->result->bytes_written = perfdata_size(j->file, j->facts->data_bytes);
}

/* What is half written would be no bundle, and could end what was there before: nothing may end the
 * process meanwhile, and what is said when something does thereafter is that the bundle is there.
 */
static int put_into_file(const struct bundle_job *j, size_t n_modules, double start,
			 struct err *err)
{
	volatile int *bundling = j->opt->bundling;
	int rc;

	if (bundling)
		*bundling = -*bundling;
	rc = j->finish(j->arg, err);
	if (!rc) {
		measure(j, n_modules, start);
	} else {
		/* The sections that were there have been cut off for it. */
		j->facts->n_bundle = 0;
		(void)j->finish(j->arg, &(struct err){0});
	}
	if (bundling && *bundling)
		j->opt->complete(j->opt->progress_arg, j->result);
	return rc;
}

void bundle_add(const struct bundle_job *j)
{
	const double start = clock_seconds();
	struct bundle_blob section = {0};
	struct cut_report report = {0};
	struct err err = {0};
	int rc;

	if (!j->opt->bundle || !j->file->is_regular || !j->result->samples)
		return;
	text_char(&j->processes->lines, 0);
	rc = read_and_pack(j, &section, &report, &err);
	if (j->processes->lines.n) /* more may come, for the next file */
		j->processes->lines.n--;
	j->facts->bundle = section.v;
	j->facts->n_bundle = rc ? 0 : section.n;
	if (!rc)
		rc = put_into_file(j, report.modules, start, &err);
	if (rc)
		capture_note(j->result, "no bundle: %s", err.what);
	note_lacks(j, &report);
	j->result->bundle_seconds = clock_seconds() - start;
	j->facts->bundle = NULL;
	free(report.lacks);
	vec_done(&section);
}

void bundle_may_be_left_out(const struct capture_options *opt, const struct perfdata *file,
			    struct capture_result *result, pid_t command)
{
	if (!opt->bundling || !opt->bundle || !file->is_regular)
		return;
	if (opt->complete)
		opt->complete(opt->progress_arg, result);
	*opt->bundling = command ? (int)command : 1;
}
