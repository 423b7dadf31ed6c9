/* stacks_file.c - the file of --stacks and --every: how it is begun and ended. */
#include <errno.h>
#include <linux/perf_event.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "capture/account.h"
#include "capture/attr.h"
#include "capture/bundle_write.h"
#include "capture/capture.h"
#include "capture/stacks.h"
#include "reader/format.h"

#define COMPRESS_LEVEL 1
#define QUEUE_BYTES    ((size_t)64 << 20)

/* Of a clock each sample stands for the time between two rounds; else for one thread. */
static void fill_attr(struct stacks *s)
{
	struct perf_event_attr *a = &s->attr;

	a->size = ATTR_SIZE;
	a->type = PERF_TYPE_SOFTWARE;
	a->config = s->opt->every_ms ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
	a->sample_period = s->opt->every_ms ? s->opt->every_ms * 1000000ull : 1;
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			 PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
			 PERF_SAMPLE_STACK_USER;
	a->read_format = PERF_FORMAT_ID;
	a->sample_id_all = 1;
	a->exclude_callchain_user = 1;
	a->sample_regs_user = attr_user_regs();
	a->sample_stack_user = (uint32_t)s->thread.room;
	a->use_clockid = 1;
	a->clockid = ATTR_CLOCK;
}

int stacks_begin_file(struct stacks *s, struct err *err)
{
	struct record_writer_options w = {.queue_bytes = QUEUE_BYTES};
	int rc;

	fill_attr(s);
	s->ids[0] = STACKS_SAMPLE_ID;
	s->event = (struct perfdata_event){
		.name = s->opt->every_ms ? WALL_CLOCK_EVENT : STACKS_EVENT,
		.attr = &s->attr,
		.ids = s->ids,
		.n_ids = 1,
	};
	s->facts.events = &s->event;
	s->facts.n_events = 1;
	s->facts.argv = s->opt->recorder_argv;
	s->facts.argc = s->opt->recorder_argc;
	s->facts.has_clock = true;
	s->facts.clock_wall_ns = clock_ns_of(CLOCK_REALTIME);
	s->facts.clock_ns = clock_ns_of(ATTR_CLOCK);
	s->facts.compress_level = s->opt->no_compress ? 0 : COMPRESS_LEVEL;
	rc = perfdata_create(&s->file, s->opt->output, err);
	if (rc)
		return rc;
	rc = perfdata_begin(&s->file, &s->facts, err);
	if (!rc)
		rc = perfdata_writer_options(&s->file, &s->facts, &w, err);
	if (!rc)
		rc = record_writer_start(&s->writer, &w, err);
	if (rc)
		perfdata_discard(&s->file);
	return rc;
}

static int write_features(void *stacks, struct err *err)
{
	struct stacks *s = stacks;

	return perfdata_finish(&s->file, &s->facts, err);
}

static void add_bundle(struct stacks *s)
{
	const struct bundle_job job = {
		.opt = s->opt,
		.file = &s->file,
		.facts = &s->facts,
		.result = s->result,
		.pins = &s->pins,
		.processes = &s->seen,
		.finish = write_features,
		.arg = s,
	};

	bundle_may_be_left_out(s->opt, &s->file, s->result, 0);
	bundle_add(&job);
	if (s->opt->bundling)
		*s->opt->bundling = 0;
}

/* What was taken is lost where the file could not grow, and the file says so. */
static void account_unwritten(struct stacks *s, struct record_writer_totals *t)
{
	const struct lost_samples rec = {
		.header = {.type = PERF_RECORD_LOST_SAMPLES, .size = sizeof rec},
		.lost = t->lost_samples,
		.cpu = (uint32_t)LOST_MARK_UNWRITTEN,
		.id = STACKS_SAMPLE_ID,
	};
	struct err err;

	s->result->samples -= t->lost_samples;
	s->result->lost += t->lost_samples;
	if (rec.lost && !perfdata_append(&s->file, t->data_bytes, &rec, sizeof rec, &err))
		t->data_bytes += sizeof rec;
}

int stacks_end_file(struct stacks *s, int rc, struct err *err)
{
	struct record_writer_totals totals = {0};
	struct err later;
	int werr = record_writer_finish(s->writer, &totals);

	account_unwritten(s, &totals);
	if (werr && !rc)
		rc = err_errno(err, werr, s->file.path, "write (what was written before is kept)");
	s->facts.raw_bytes = s->result->raw_bytes = totals.raw_bytes;
	s->facts.data_bytes = totals.data_bytes;
	werr = perfdata_finish(&s->file, &s->facts, &later);
	s->result->bytes_written = perfdata_size(&s->file, totals.data_bytes);
	if (!werr && !rc) {
		add_bundle(s);
		s->result->bytes_written = perfdata_size(&s->file, totals.data_bytes);
	}
	if (!werr)
		werr = perfdata_close(&s->file, &later);
	else
		perfdata_close(&s->file, NULL);
	if (werr && !rc) {
		rc = werr;
		*err = later;
	}
	return rc;
}
