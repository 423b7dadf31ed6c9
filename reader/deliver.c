/* deliver.c - records whose time has come: they change the process model, or become samples. */
#include <stdlib.h>
#include <string.h>

#include "reader/chain.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/sample.h"

enum { EXPECT_AHEAD = 4, EXPECT_BYTES = 320 };

/* Where in user mode a sample interrupted the task, as far as it tells; else 0. */
static uint64_t user_ip(const struct perf_file *f, const struct perf_sample *s)
{
	uint64_t ip = 0;
	unsigned bit;
	size_t i;

	for (i = 0; i + 1 < s->n_ips; i++)
		if (s->ips[i] == PERF_CHAIN_USER)
			return s->ips[i + 1];
	/* asm/perf_regs.h: PERF_REG_ARM64_PC, PERF_REG_X86_IP */
	bit = f->info.arch && !strncmp(f->info.arch, "aarch64", 7) ? 32 : 8;
	return perf_regs_get(&s->user_regs, bit, &ip) ? ip : 0;
}

/* While a program replaces itself. */
static void place_in_exec(struct perf_file *f, struct perf_sample *s)
{
	const struct address_space *former;

	if (s->cpumode == PERF_CPUMODE_USER) {
		machine_runs(f->machine, s->pid);
		return;
	}
	former = machine_former_space(f->machine, s->pid, user_ip(f, s));
	s->space = former ? former : s->space;
}

/* What a sample gets from the process model. */
static int sample_place(struct perf_file *f, struct perf_sample *s)
{
	s->space = machine_space(f->machine, s->pid);
	if (machine_has_former(f->machine, s->pid))
		place_in_exec(f, s);
	if (s->cpumode == PERF_CPUMODE_GUEST_KERNEL)
		s->kernel = machine_guest_kernel(f->machine);
	else if (s->cpumode == PERF_CPUMODE_GUEST_USER)
		s->kernel = machine_guest_user(f->machine);
	else
		s->kernel = machine_kernel(f->machine);
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
	bool known = read->n == 1;

	for (uint64_t i = 0; i < read->n; i++) {
		uint64_t id, value = sample_read_next(read, &id), key;
		const struct event *e = id ? events_find(&f->events, id) : NULL;

		if (id)
			s.id = id;
		if (e)
			s.event = &e->pub;
		else if (read->n > 1)
			continue;
		known = true;
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
	if (!known)
		file_skip(f, PERF_SKIP_UNKNOWN_EVENT, PERF_RECORD_SAMPLE);
	return 0;
}

/* Decodes a record into the place behind the last sample of the batch. The bytes must live as long
 * as the batch. 1: it is there; 0: it was skipped. */
static int decode_into_batch(struct perf_file *f, struct batch *b, const struct event *e,
			     const struct record_view *v, struct sample_read *read)
{
	struct perf_sample *s;
	enum perf_skip skip;

	if (vec_reserve(&b->samples, b->samples.n + 1))
		return err_nomem(&f->err);
	s = &b->samples.v[b->samples.n];
	skip = sample_decode(s, read, e, v->b, &b->scratch);
	if (b->scratch.failed ||
	    (skip == PERF_SKIP_N &&
	     (chain_from_lbr(s, &b->scratch) || simpleperf_chain(&f->simpleperf, s, &b->scratch))))
		return err_nomem(&f->err);
	if (skip != PERF_SKIP_N) {
		file_skip(f, skip, v->type);
		return 0;
	}
	s->chain_is_calls = f->info.is_simpleperf;
	s->misc = v->misc;
	s->cpumode = v->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	s->file_off = v->b.base_off;
	return 1;
}

static int commit(struct perf_file *f, struct batch *b, struct sample_read *read)
{
	/* simpleperf adds the values of other counters to a sample that stands for itself. */
	if (read->n && !f->info.is_simpleperf)
		return commit_by_value(f, b, read);
	batch_commit(f, b);
	return 0;
}

/* Ends the waiting of a sample: the n user ips are its, or never came. */
static int deliver_held(struct perf_file *f, struct held *h, const uint64_t *ips, size_t n)
{
	struct batch *b = f->filling;
	const uint8_t *copy = scratch_alloc(&b->scratch, h->n);
	struct record_view v;
	struct sample_read read;
	struct perf_sample *s;
	int rc;

	if (!copy)
		return err_nomem(&f->err);
	v = record_view(f, memcpy((void *)(uintptr_t)copy, h->record, h->n), h->n, h->data_off);
	rc = decode_into_batch(f, b, h->event, &v, &read);
	if (rc <= 0)
		return rc;
	s = &b->samples.v[b->samples.n];
	if (chain_complete(s, &b->scratch, ips, n))
		return err_nomem(&f->err);
	s->space = h->space;
	s->kernel = h->kernel;
	s->comm = h->comm;
	if (h->epoch < b->epoch)
		b->epoch = h->epoch;
	return commit(f, b, &read);
}

/* The sample behind the last of the batch waits for its user chain. */
static int hold(struct perf_file *f, struct batch *b, const struct event *e,
		const struct record_view *v, uint64_t cookie)
{
	const struct perf_sample *s = &b->samples.v[b->samples.n];
	const size_t n = (size_t)(v->b.end - v->b.data);
	struct held *h = malloc(sizeof *h + n), *oldest = NULL;
	int rc = 0;

	if (!h)
		return err_nomem(&f->err);
	*h = (struct held){
		.cookie = cookie,
		.event = e,
		.space = s->space,
		.kernel = s->kernel,
		.comm = s->comm,
		.epoch = b->epoch,
		.data_off = v->b.base_off,
		.tid = s->tid,
		.n = (uint32_t)n,
	};
	memcpy(h->record, v->b.data, n);
	if (deferral_is_full(&f->deferral))
		oldest = deferral_take_oldest(&f->deferral);
	if (deferral_add(&f->deferral, h)) {
		free(h);
		rc = err_nomem(&f->err);
	}
	if (oldest && !rc)
		rc = deliver_held(f, oldest, NULL, 0);
	free(oldest);
	return rc;
}

int deliver_deferred(struct perf_file *f, uint32_t tid, uint64_t cookie, const uint64_t *ips,
		     size_t n)
{
	struct held *h;
	int rc = 0;

	/* Those with another cookie lost their record. */
	while (!rc && (h = deferral_take(&f->deferral, tid))) {
		rc = deliver_held(f, h, ips, h->cookie == cookie ? n : 0);
		free(h);
	}
	return rc;
}

int deliver_all_held(struct perf_file *f)
{
	struct held *h;
	int rc = 0;

	while (!rc && (h = deferral_take_oldest(&f->deferral))) {
		rc = deliver_held(f, h, NULL, 0);
		free(h);
	}
	return rc;
}

static int deliver_sample(struct perf_file *f, struct batch *b, struct block *block,
			  struct record_view *v)
{
	const struct event *e = events_of_sample(&f->events, &v->b);
	struct sample_read read;
	uint64_t cookie;
	int rc;

	if (!e) {
		file_skip(f, PERF_SKIP_UNKNOWN_EVENT, v->type);
		return 0;
	}
	if (batch_keep(b, &f->blocks, block, &v->b))
		return err_nomem(&f->err);
	rc = decode_into_batch(f, b, e, v, &read);
	if (rc <= 0)
		return rc;
	if (sample_place(f, &b->samples.v[b->samples.n]))
		return -ERR_NOMEM;
	if (chain_is_deferred(&b->samples.v[b->samples.n], &cookie))
		return hold(f, b, e, v, cookie);
	return commit(f, b, &read);
}

/* Records are mostly as large as their neighbours, so this fetches what is read of one of the next:
 * its beginning, and the word before it, which is the size of the stack in the one before. Small
 * ones are read from end to end, and the processor sees that coming. */
static void expect_record(const uint8_t *now, uint32_t size)
{
	const uintptr_t at = (uintptr_t)now + (uintptr_t)EXPECT_AHEAD * size;

	if (size < EXPECT_BYTES)
		return;
	for (uintptr_t line = at - 8; line < at + EXPECT_BYTES; line += 64)
		__builtin_prefetch((const void *)line);
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
	expect_record(v.b.data, size);
	row = record_row(v.type);
	skip = row && row->when == RECORD_ORDERED ? record_check(row, &v, &payload)
						  : PERF_SKIP_TOO_SHORT;
	if (skip != PERF_SKIP_N) {
		file_skip(f, skip, v.type);
		return 0;
	}
	return row->apply ? row->apply(f, &v) : deliver_sample(f, b, block, &v);
}

int deliver_next(struct perf_file *f)
{
	struct order_entry e;
	struct block *block;
	int rc;

	rc = order_pop(&f->order, &e, &f->err);
	if (rc <= 0)
		return rc;
	block = block_load(&f->blocks, e.where >> WHERE_OFF_BITS, &f->err);
	if (!block)
		return -(int)f->err.code;
	rc = deliver_record(f, f->filling, block, e.where & ((1u << WHERE_OFF_BITS) - 1));
	block_unref(&f->blocks, block);
	return rc;
}
