/* deliver.c - records whose time has come: they change the process model, or become samples. */
#include <assert.h>

#include "reader/chain.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/sample.h"

/* What a sample gets from the process model. */
static int sample_place(struct perf_file *f, struct perf_sample *s)
{
	const bool guest = s->cpumode == PERF_CPUMODE_GUEST_KERNEL;

	s->space = machine_space(f->machine, s->pid);
	s->kernel = guest ? machine_guest_kernel(f->machine) : machine_kernel(f->machine);
	s->comm = machine_comm_of(f->machine, s->pid, s->tid);
	return s->space && s->kernel && s->comm ? 0 : err_nomem(&f->err);
}

/* A sample that lies behind the last of the batch becomes part of it. */
static void batch_commit(struct perf_file *f, struct batch *b)
{
	struct perf_sample *s = &b->samples.v[b->samples.n++];

	s->seq = f->seq++;
	f->stats.samples++;
	f->stats.period_sum += s->period;
}

/* One sample per event that was read and rose: perf does the same, so that each event of a group
 * gets its share. */
static int commit_by_value(struct perf_file *f, struct batch *b, struct sample_read *read)
{
	struct perf_sample s = b->samples.v[b->samples.n];

	for (uint64_t i = 0; i < read->n; i++) {
		uint64_t id, value = sample_read_next(read, &id), key;
		const struct event *e = id ? events_find(&f->events, id) : NULL;

		if (id)
			s.id = id;
		if (e)
			s.event = &e->pub;
		else if (read->n > 1)
			continue;
		key = s.id;
		/* An inherited event counts for each thread by itself. */
		if (s.event->attr.flags & PERF_ATTR_INHERIT)
			key = hash_mix(key, s.tid);
		if (group_delta(&f->group_values, key, value, &s.period) ||
		    vec_reserve(&b->samples, b->samples.n + 1))
			return err_nomem(&f->err);
		b->samples.v[b->samples.n] = s;
		if (s.period)
			batch_commit(f, b);
	}
	return 0;
}

static int deliver_sample(struct perf_file *f, struct batch *b, struct block *block,
			  struct record_view *v)
{
	const struct event *e = events_of_sample(&f->events, &v->b);
	struct sample_read read;
	struct perf_sample *s;
	enum perf_skip skip;

	if (!e) {
		file_skip(f, PERF_SKIP_UNKNOWN_EVENT, v->type);
		return 0;
	}
	if (vec_reserve(&b->samples, b->samples.n + 1) || batch_keep(b, &f->blocks, block, &v->b))
		return err_nomem(&f->err);
	s = &b->samples.v[b->samples.n];
	skip = sample_decode(s, &read, e, v->b, &b->scratch);
	if (skip == PERF_SKIP_N && chain_from_lbr(s, &b->scratch))
		return err_nomem(&f->err);
	if (b->scratch.failed)
		return err_nomem(&f->err);
	if (skip != PERF_SKIP_N) {
		file_skip(f, skip, v->type);
		return 0;
	}
	s->misc = v->misc;
	s->cpumode = v->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	s->file_off = v->b.base_off;
	if (sample_place(f, s))
		return -ERR_NOMEM;
	/* simpleperf adds the values of other counters to a sample that stands for itself. */
	if (read.n && !f->info.is_simpleperf)
		return commit_by_value(f, b, &read);
	batch_commit(f, b);
	return 0;
}

/* The record was read before, but its bytes may come from the file again, which others may have
 * changed. */
static int deliver_record(struct perf_file *f, struct batch *b, struct block *block, uint32_t off)
{
	const struct record_row *row;
	struct record_view v;
	enum perf_skip skip;
	uint32_t size;
	size_t payload;
	struct buf head = buf_make(block->data + off, block->n - off, 0, f->swap);

	buf_skip(&head, 6);
	size = buf_u16(&head);
	if (!buf_ok(&head) || size < sizeof(struct perf_event_header) || size > block->n - off) {
		file_lose(f, block->data_off + off, size, false);
		return 0;
	}
	v = record_view(f, block->data + off, size, block->data_off + off);
	row = record_row(v.type);
	skip = row && row->when == RECORD_ORDERED ? record_check(row, &v, &payload)
						  : PERF_SKIP_TOO_SHORT;
	if (skip != PERF_SKIP_N) {
		file_skip(f, skip, v.type);
		return 0;
	}
	return row->apply ? row->apply(f, &v) : deliver_sample(f, b, block, &v);
}

int deliver_next(struct perf_file *f, struct batch *b)
{
	struct order_entry e;
	struct block *block;
	int rc;

	if (!order_pop(&f->order, &e))
		return 0;
	block = block_load(&f->blocks, e.where >> WHERE_OFF_BITS, &f->err);
	if (!block)
		return -(int)f->err.code;
	rc = deliver_record(f, b, block, e.where & ((1u << WHERE_OFF_BITS) - 1));
	block_unref(&f->blocks, block);
	return rc;
}
