/* pipeline.c - the two loops: unwind all samples; symbolize the distinct addresses. */
#include "load/pipeline.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/pages.h"
#include "base/threads.h"
#include "base/vec.h"
#include "bundle/bundle.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "reader/reader.h"
#include "symbolize/symbolize.h"

unsigned pipeline_threads(const struct load_options *opt)
{
	return opt->n_threads ? opt->n_threads : threads_available();
}

int64_t pipeline_written_s(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) ? st.st_mtim.tv_sec : 0;
}

bool pipeline_part_of(void *loaded, const struct map_source *src, struct map_part *ret)
{
	struct loaded *p = loaded;

	return p->modules && modules_part(p->modules, src, ret);
}

int pipeline_open(struct loaded *p, const struct load_options *opt, struct err *err)
{
	struct perf_file_options fo = {
		.map = true,
		.alone = pipeline_threads(opt) == 1,
		.only_trusted = !opt->symbolizer.foreign_jit_maps,
		.stop = opt->stop,
		.part_of = pipeline_part_of,
		.part_of_arg = p,
		.trace_fields = opt->keep & PROFILE_KEEP_TRACE,
		.off_cpu = opt->off_cpu,
		.wall = opt->wall,
		.off_cpu_least_ns = opt->off_cpu_least_ns,
	};

	pages_survive_cuts();
	return perf_file_open(&p->file, p->path, &fo, err);
}

/* In a pipe, events may be described later. */
static bool may_have_tracepoints(const struct perf_file *f)
{
	for (size_t i = 0; i < perf_file_event_count(f); i++)
		if (event_is_tracepoint(perf_file_event(f, i)->attr.type))
			return true;
	return perf_file_info(f)->is_pipe;
}

static int give_code(struct loaded *p, const uint8_t *section, size_t n, struct err *err)
{
	struct err bad;
	int rc = section ? jit_codes_give(p->jit, section, n, &bad) : 0;

	if (rc == -ERR_NOMEM)
		return err_nomem(err);
	if (rc)
		loaded_note(p, "%s: %s: code of runtimes may have no names", bad.source, bad.what);
	p->code_damaged |= rc == -ERR_DAMAGED;
	return 0;
}

/* The code of runtimes that the recording holds: what was written while it ran, and at its end.
 * Damage is noted: the rest has names all the same. */
static int give_runtime_code(struct loaded *p, struct err *err)
{
	const uint8_t *code;
	size_t n;
	int rc = perf_file_recorded_code(p->file, &code, &n, err);

	if (!rc)
		rc = give_code(p, code, n, err);
	if (rc || perf_file_info(p->file)->is_pipe)
		return rc;
	code = perf_file_feature(p->file, RUNTIME_CODE_FEATURE, &n);
	return give_code(p, code, n, err);
}

int pipeline_load(struct loaded *p, const struct load_options *opt, struct err *err)
{
	double start = clock_seconds();
	struct modules_options mo = opt->modules;
	int rc;

	p->filter = opt->filter;
	rc = sample_filter_resolve(&p->filter, perf_file_info(p->file), err);
	if (rc)
		return rc;
	p->profile = profile_new(opt->keep);
	if (!p->profile)
		return err_nomem(err);
	p->keeps_calls = opt->keep & PROFILE_KEEP_LOG && opt->keep & PROFILE_KEEP_TRACE;
	p->filter.with_ends = p->keeps_calls;
	mo.os_release = perf_file_info(p->file)->os_release;
	mo.arch = perf_file_info(p->file)->arch;
	mo.recorded_s = pipeline_written_s(p->path);
	rc = carried_open(p, err);
	mo.bundle = p->bundle;
	if (!rc)
		rc = modules_new(&p->modules, &mo, err);
	if (!rc && mo.fetch) {
		listener_begin(opt, LOAD_LOOKS_FOR_BINARIES, p->path, NULL);
		rc = prefetch_binaries(p, opt, err);
		listener_end(opt, LOAD_LOOKS_FOR_BINARIES);
	}
	if (!rc)
		rc = heap_weigh(p, opt, err);
	if (!rc)
		rc = jit_codes_new(&p->jit, mo.symfs, opt->symbolizer.foreign_jit_maps, err);
	if (!rc) {
		jit_codes_use_bundle(p->jit, p->bundle);
		rc = give_runtime_code(p, err);
	}
	if (!rc && opt->strip_stacks) {
		p->chains = cut_chains_new(p->file);
		rc = p->chains ? 0 : err_nomem(err);
	}
	if (!rc && opt->keep & PROFILE_KEEP_TRACE && may_have_tracepoints(p->file)) {
		p->trace_names = trace_names_new(p, opt);
		rc = p->trace_names ? 0 : err_nomem(err);
	}
	if (!rc) {
		listener_begin(opt, LOAD_READS, p->path, &perf_file_stats(p->file)->records);
		rc = scheduler_run(p, opt, err);
		listener_end(opt, LOAD_READS);
	}
	p->seconds_load = clock_seconds() - start;
	return rc;
}

static int symbolize_locations(struct loaded *p, struct err *err)
{
	size_t n = p->profile->locations.n, i;
	struct sym_query *queries = calloc(n ? n : 1, sizeof *queries);
	struct sym_result *results = calloc(n ? n : 1, sizeof *results);
	int rc = 0;

	if (!queries || !results)
		rc = err_nomem(err);
	for (i = 0; !rc && i < n; i++)
		queries[i] = profile_query(p->profile, i);
	if (!rc)
		rc = symbolizer_run(p->symbolizer, queries, n, results, err);
	for (i = 0; !rc && i < n; i++)
		rc = profile_set_lines(p->profile, i, &results[i],
				       symbolizer_strings(p->symbolizer), err);
	free(queries);
	free(results);
	return rc;
}

int pipeline_symbolize(struct loaded *p, const struct load_options *opt, struct err *err)
{
	double start = clock_seconds();
	struct symbolizer_options so = opt->symbolizer;
	int rc;

	p->no_inline = so.no_inline;
	so.file = p->file;
	so.jit = p->jit;
	so.kallsyms_data = perf_file_kallsyms(p->file, &so.kallsyms_size);
	rc = symbolizer_new(&p->symbolizer, p->modules, perf_file_info(p->file), &so, err);

	if (!rc)
		rc = check_code(p, err);
	if (!rc) {
		listener_begin(opt, LOAD_NAMES, p->path, NULL);
		rc = symbolize_locations(p, err);
		listener_end(opt, LOAD_NAMES);
	}
	p->seconds_symbolize = clock_seconds() - start;
	return rc;
}

void pipeline_close(struct loaded *p)
{
	vec_done(&p->thread_seconds);
	stack_depths_free(p->depths);
	trace_names_free(p->trace_names);
	if (p->symbolizer)
		symbolizer_free(p->symbolizer);
	jit_codes_free(p->jit);
	if (p->modules)
		modules_free(p->modules);
	perf_file_close(p->file);
	perf_file_close(p->counted);
	perf_file_close(p->again);
	processes_free(p->processes);
	cut_chains_free(p->chains);
	heap_weights_done(&p->heap);
	bundle_free(p->bundle);
	p->depths = NULL;
	p->trace_names = NULL;
	p->symbolizer = NULL;
	p->jit = NULL;
	p->modules = NULL;
	p->file = p->counted = p->again = NULL;
	p->bundle = NULL;
	p->processes = NULL;
	p->chains = NULL;
}
