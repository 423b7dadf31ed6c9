/* recording_file.c - the file of a recording: how its writer begins, and how it is ended. */
#include "base/err.h"
#include "capture/account.h"
#include "capture/bundle_write.h"
#include "capture/recording.h"

#define QUEUE_BYTES ((size_t)64 << 20)

int recording_file_options(struct recording *r, struct record_writer_options *o, struct err *err)
{
	return perfdata_writer_options(&r->file, &r->facts, o, err);
}

int recording_start_writer(struct recording *r, struct err *err)
{
	struct record_writer_options o = {.fd = -1, .level = r->facts.compress_level};
	int rc = 0;

	r->facts.may_hold_code = r->session.policy.call_graph == CALL_GRAPH_DWARF;
	if (r->flight.on)
		o.window = &r->flight.window;
	else
		rc = perfdata_begin(&r->file, &r->facts, err);
	if (!rc && !r->flight.on)
		rc = recording_file_options(r, &o, err);
	o.queue_bytes = QUEUE_BYTES;
	return rc ? rc : record_writer_start(&r->drain.writer, &o, err);
}

static void append_lost(struct recording *r, uint64_t lost, bool unwritten,
			struct record_writer_totals *t)
{
	struct lost_samples rec;
	struct err err;

	account_lost_record(&r->drain, &r->session.sets[RING_SAMPLES].counters.v[0], lost, &rec);
	if (unwritten)
		rec.cpu = (uint32_t)LOST_MARK_UNWRITTEN;
	if (lost && !perfdata_append(&r->file, t->data_bytes, &rec, sizeof rec, &err))
		t->data_bytes += sizeof rec;
}

/* Samples that were taken from the rings but are not in the file are lost as well. The file says so
 * instead of the records of account_losses(), which are not in it either. */
static void account_unwritten(struct recording *r, struct record_writer_totals *t)
{
	if (!t->lost_samples)
		return;
	append_lost(r, r->result->lost, false, t);
	append_lost(r, t->lost_samples, true, t);
	r->result->samples -= t->lost_samples;
	r->result->lost += t->lost_samples;
}

/* What is still to be written of runtimes' code; without room it is left out. */
static void write_code(struct recording *r, struct record_writer_totals *t)
{
	struct bytes code = {0};
	struct err err;

	if (!r->drain.runtimes)
		return;
	runtime_watch_finish(r->drain.runtimes, &code, r->result);
	if (!code.failed && code.vec.n &&
	    !perfdata_append(&r->file, t->data_bytes, code.vec.v, code.vec.n, &err))
		t->data_bytes += code.vec.n;
	bytes_done(&code);
}

/* The reserved room is for the sections as known at the start, without build ids. */
static int write_features(struct recording *r, struct err *err)
{
	struct bytes ids = {0};
	int rc;

	file_ids_section(&r->drain.file_ids, &ids);
	if (!ids.failed) {
		r->facts.build_ids = ids.vec.v;
		r->facts.n_build_ids = ids.vec.n;
	}
	rc = perfdata_finish(&r->file, &r->facts, err);
	if (rc && r->facts.n_build_ids) {
		r->facts.n_build_ids = 0;
		rc = perfdata_finish(&r->file, &r->facts, err);
	}
	bytes_done(&ids);
	return rc;
}

static int write_features_again(void *recording, struct err *err)
{
	return write_features(recording, err);
}

static void add_bundle(struct recording *r)
{
	const struct bundle_job job = {
		.opt = r->opt,
		.file = &r->file,
		.facts = &r->facts,
		.result = r->result,
		.pins = &r->drain.pins,
		.processes = &r->drain.processes,
		.finish = write_features_again,
		.arg = r,
	};

	bundle_add(&job);
}

/* All samples are written: a ^C from here on leaves out the bundle only. */
static void begin_bundling(struct recording *r, const struct record_writer_totals *totals)
{
	r->result->raw_bytes = totals->raw_bytes;
	r->result->bytes_written = perfdata_size(&r->file, totals->data_bytes);
	bundle_may_be_left_out(r->opt, &r->file, r->result, r->child.pid);
}

int recording_finish_file(struct recording *r, int rc, struct err *err)
{
	struct record_writer_totals totals = {0};
	struct err later;
	int werr = record_writer_finish(r->drain.writer, &totals);

	r->drain.writer = NULL;
	if (werr && !rc)
		rc = err_errno(err, werr, r->file.path, "write (what was written before is kept)");
	account_unwritten(r, &totals);
	write_code(r, &totals);
	begin_bundling(r, &totals);
	r->facts.raw_bytes = totals.raw_bytes;
	r->facts.data_bytes = totals.data_bytes;
	r->facts.first_sample_ns = r->drain.first_sample_ns;
	r->result->touched_pages = r->drain.touch.pages;
	r->facts.last_sample_ns = r->drain.last_sample_ns;
	werr = write_features(r, &later);
	if (werr && !rc) {
		rc = werr;
		*err = later;
	}
	if (!rc)
		add_bundle(r);
	if (r->opt->bundling)
		*r->opt->bundling = 0;
	r->result->bytes_written = perfdata_size(&r->file, totals.data_bytes);
	werr = perfdata_close(&r->file, &later);
	if (werr && !rc) {
		rc = werr;
		*err = later;
	}
	return rc;
}
