/* reader.c - the public functions: opening, batches, access to what was read. */
#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/file.h"
#include "reader/record_stream.h"
#include "reader/tracing.h"

/* A program that never asks for the texts of tracepoints does not load a library for them: capture,
 * which is linked statically, too. The others ask the linker for them (Makefile). */
#pragma weak tracepoints_new
#pragma weak tracepoints_free
#pragma weak tracepoints_print

#define WINDOW_BYTES (48u << 20)

/* As perf does (open_file_read(), tools/perf/util/data.c): a recording names files that will be
 * opened, and root can open any file. A user who became root by sudo(8) may still read the
 * recordings that the user owned before. */
static int check_owner(struct perf_file *f)
{
	const char *sudo = getenv("SUDO_UID");
	const struct byte_source *s = &f->source;

	if (geteuid() || s->is_stdin || !s->uid || (sudo && strtoul(sudo, NULL, 10) == s->uid))
		return 0;
	return err_set(&f->err, ERR_PERMISSION, s->name,
		       "it is the recording of another user, and you are root (--force reads it)");
}

int perf_file_open(struct perf_file **ret, const char *path, const struct perf_file_options *opt,
		   struct err *err)
{
	struct perf_file *f = calloc(1, sizeof *f);
	const char *data_path;
	int rc;

	if (!f)
		return err_nomem(err);
	f->source.fd = -1;
	f->map = opt && opt->map;
	f->alone = opt && opt->alone;
	prefault_init(&f->prefault);
	block_store_init(&f->blocks, opt && opt->window_bytes ? opt->window_bytes : WINDOW_BYTES);
	for (unsigned i = 0; i < BATCHES; i++)
		f->batches[i].index = i;
	f->features = calloc(1, sizeof *f->features);
	f->info.path = arena_strndup(&f->arena, path, strlen(path));
	data_path = f->info.path ? directory_data_path(f, f->info.path) : NULL;
	if (!f->features || !data_path || machine_new(&f->machine))
		rc = err_nomem(&f->err);
	else
		rc = f->is_directory ? byte_source_open_file(&f->source, data_path, true, &f->err)
				     : byte_source_open(&f->source, data_path, &f->err);
	if (!rc && opt && opt->only_trusted)
		rc = check_owner(f);
	if (rc == -ERR_NOT_FOUND && data_path != f->info.path)
		rc = err_set(&f->err, ERR_NOT_FOUND, path,
			     "a directory without a recording: it has no file `data`");
	f->stop = opt ? opt->stop : NULL;
	f->part_of = opt ? opt->part_of : NULL;
	f->part_of_arg = opt ? opt->part_of_arg : NULL;
	f->wants_trace = f->wants_task_ends = opt && opt->trace_fields;
	f->switches.wanted = opt && (opt->off_cpu || opt->wall);
	f->switches.wall = opt && opt->wall;
	f->heap.as_recorded = opt && opt->heap_calls;
	f->switches.least_ns = opt ? opt->off_cpu_least_ns : 0;
	f->source.stop = f->stop;
	f->info.file_mtime_ns = f->source.mtime_ns;
	rc = rc ? rc : container_open(f);
	if (rc) {
		if (err)
			*err = f->err;
		perf_file_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void perf_file_close(struct perf_file *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < BATCHES; i++)
		batch_done(&f->batches[i], &f->blocks);
	for (size_t i = 0; i < f->streams.n; i++)
		record_stream_free(f, f->streams.v[i]);
	vec_done(&f->streams);
	prefault_done(&f->prefault);
	order_done(&f->order);
	deferred_samples_done(&f->deferred_samples);
	switches_done(&f->switches);
	growth_done(&f->growth);
	simpleperf_done(&f->simpleperf);
	block_store_done(&f->blocks);
	hash_done(&f->counters);
	vec_done(&f->counter_values);
	hash_done(&f->cgroup_ids);
	vec_done(&f->cgroups);
	events_done(&f->events);
	if (f->features)
		features_done(f->features);
	free(f->features);
	if (f->tracepoints)
		tracepoints_free(f->tracepoints);
	return_probes_done(&f->return_probes);
	machine_free(f->machine);
	byte_source_close(&f->source);
	vec_done(&f->notes);
	vec_done(&f->code);
	vec_done(&f->task_ends);
	arena_done(&f->arena);
	free(f);
}

/* The oldest epoch that a held batch may refer to. */
static uint64_t oldest_epoch(struct perf_file *f, uint64_t now)
{
	for (unsigned i = 0; i < BATCHES; i++)
		if (f->batches[i].held && f->batches[i].epoch < now)
			now = f->batches[i].epoch;
	if (f->deferred_samples.oldest && f->deferred_samples.oldest->epoch < now)
		now = f->deferred_samples.oldest->epoch;
	return switches_oldest_epoch(f, now);
}

static struct batch *batch_begin(struct perf_file *f)
{
	struct batch *b = f->batches;

	while (b < f->batches + BATCHES && b->held)
		b++;
	if (b == f->batches + BATCHES) {
		err_set(&f->err, ERR_USAGE, NULL, "more than %d batches are held", BATCHES);
		return NULL;
	}
	b->epoch = machine_next_epoch(f->machine);
	b->held = true;
	machine_reclaim(f->machine, oldest_epoch(f, b->epoch));
	return b;
}

static void batch_end(struct perf_file *f, struct batch *b)
{
	batch_empty(b, &f->blocks);
	b->held = false;
}

/* Reads more of the current stream. */
static int read_on(struct perf_file *f)
{
	int rc = record_stream_pump(f, f->streams.v[f->stream]);

	if (rc)
		return rc < 0 ? rc : 0;
	f->stream++;
	if (f->stream < f->streams.n)
		return 0;
	f->ended = true;
	return order_round(&f->order, true, &f->err);
}

static int batch_fill(struct perf_file *f, struct batch *b)
{
	int rc = 0;

	f->filling = b;
	while (!rc && !(batch_is_full(b) && b->samples.n)) {
		/* The batch is full of bytes of records that were skipped or still wait: they are
		 * not needed. */
		if (batch_is_full(b))
			batch_empty(b, &f->blocks);
		if (order_ready(&f->order))
			rc = deliver_ready(f);
		else if (f->ended && ((rc = switches_end_some(f)) || (rc = heap_end_some(f))))
			rc = rc < 0 ? rc : 0;
		else if (f->ended)
			return deliver_all_held(f);
		else
			rc = read_on(f);
	}
	return rc;
}

/* Called before a batch with samples of tracepoints is handed out: by then the description of the
 * tracepoints has been read. */
static int tracing_settle(struct perf_file *f)
{
	struct tracing_loss loss;
	const uint8_t *p;
	size_t size;

	if (f->return_probes.is_settled && (!f->wants_trace || !tracepoints_new))
		return 0;
	p = features_get(f->features, FEATURE_TRACING_DATA, &size);
	if (return_probes_settle(&f->return_probes, p, size))
		return err_nomem(&f->err);
	if (!p || !f->wants_trace || !tracepoints_new)
		return 0;
	f->wants_trace = false;
	f->tracepoints = tracepoints_new(p, size, &loss);
	f->stats.tracepoints_lost = loss.n;
	f->stats.no_traceevent = loss.no_library && loss.n;
	f->stats.damaged |= loss.n > 0;
	if (loss.no_library && loss.n)
		file_note(f, NOTE_TRACING,
			  "the fields of %zu tracepoints are left out: libtraceevent is not "
			  "installed",
			  loss.n);
	else if (loss.n)
		file_note(f, NOTE_TRACING, "tracepoints whose description is not used, %s%s: %zu",
			  loss.error ? "because no child process can try it: "
				     : "because libtraceevent would not survive it",
			  loss.error ? strerror(loss.error) : "", loss.n);
	return 0;
}

bool perf_file_trace_text(const struct perf_file *f, const struct perf_sample *s, struct text *out)
{
	return event_is_tracepoint(s->event->attr.type) && f->tracepoints && s->extra->raw_size &&
	       tracepoints_print(f->tracepoints, s, &f->namer, out);
}

void perf_file_name_functions(struct perf_file *f, perf_function_namer *namer, void *arg)
{
	f->namer = (struct function_namer){namer, arg};
}

static void note_times(struct perf_file *f, const struct batch *b)
{
	const uint64_t first = b->samples.v[0].time_ns;
	const uint64_t last = b->samples.v[b->samples.n - 1].time_ns;

	if (!f->first_ns)
		f->first_ns = first;
	if (last > f->last_ns)
		f->last_ns = last;
}

int perf_file_read(struct perf_file *f, struct perf_batch **ret, struct err *err)
{
	struct batch *b = f->failed ? NULL : batch_begin(f);

	if (!b) {
		if (err)
			*err = f->err;
		return -(int)f->err.code;
	}
	if (f->stop && *f->stop && f->source.seekable) {
		batch_end(f, b);
		return 0;
	}
	f->failed = batch_fill(f, b);
	if (b->samples.n) {
		/* The samples before an error are handed out first. */
		machine_take_ended(f->machine, &b->ended);
		if (tracing_settle(f)) {
			f->failed = -ERR_NOMEM;
			batch_end(f, b);
			if (err)
				*err = f->err;
			return f->failed;
		}
		note_times(f, b);
		b->pub = (struct perf_batch){b->samples.v, b->samples.n, b->ended.v, b->ended.n};
		*ret = &b->pub;
		return 1;
	}
	batch_end(f, b);
	if (f->failed && err)
		*err = f->err;
	if (!f->failed)
		file_note_totals(f);
	return f->failed;
}

bool perf_file_ahead(struct perf_file *f, const void **p, size_t *n)
{
	return prefault_take(&f->prefault, p, n);
}

void perf_batch_release(struct perf_file *f, struct perf_batch *pub)
{
	batch_end(f, (struct batch *)pub);
}

size_t perf_file_event_count(const struct perf_file *f)
{
	return f->events.v.n;
}

const struct perf_event *perf_file_event(const struct perf_file *f, size_t i)
{
	return &f->events.v.v[i]->pub;
}

size_t perf_file_dso_count(const struct perf_file *f)
{
	return machine_dso_count(f->machine);
}

const struct dso *perf_file_dso(const struct perf_file *f, size_t i)
{
	return machine_dso(f->machine, i);
}

size_t perf_file_map_count(const struct perf_file *f)
{
	return machine_map_count(f->machine);
}

uint64_t perf_file_kernel_end(const struct perf_file *f)
{
	return machine_kernel_end(f->machine);
}

const struct map *perf_file_map(const struct perf_file *f, size_t i)
{
	return machine_map(f->machine, i);
}

const struct perf_file_info *perf_file_info(const struct perf_file *f)
{
	return &f->info;
}

const uint8_t *perf_file_feature(const struct perf_file *f, unsigned bit, size_t *size)
{
	return features_get(f->features, bit, size);
}

const struct perf_file_stats *perf_file_stats(const struct perf_file *f)
{
	return &f->stats;
}

const char *perf_skip_text(enum perf_skip s)
{
	static const char *const texts[] = {
#define X(name, text) text,
		PERF_SKIPS(X)
#undef X
	};

	return texts[s];
}

size_t perf_file_note_count(const struct perf_file *f)
{
	return f->notes.n;
}

const char *perf_file_note(const struct perf_file *f, size_t i)
{
	return f->notes.v[i];
}
