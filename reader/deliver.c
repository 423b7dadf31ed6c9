/* deliver.c - records that are due in time order: they change the process model, or become samples.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "base/processor.h"
#include "base/vec.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/sample_decode.h"
#include "reader/task_state.h"
#include "reader/user_chain.h"

enum { EXPECT_AHEAD = 4, EXPECT_BYTES = 320, ROOMS_AHEAD = 3 };

/* The address in user mode at which a sample interrupted the task; 0 if the sample does not have
 * it. */
static uint64_t user_ip(const struct perf_file *f, const struct perf_sample *s)
{
	uint64_t ip = 0;
	const struct processor *cpu = processor_find(f->info.arch, 8);
	size_t i;

	for (i = 0; i + 1 < s->n_ips; i++)
		if (s->ips[i] == PERF_CHAIN_USER)
			return s->ips[i + 1];
	return cpu && perf_regs_get(&s->user_regs, cpu->perf_ip, &ip) ? ip : 0;
}

static void drop_user_part(struct perf_sample *s)
{
	for (size_t i = 0; i < s->n_ips; i++)
		if (s->ips[i] == PERF_CHAIN_USER)
			s->n_ips = i;
	s->user_is_gone = true;
	s->user_regs.abi = 0;
	s->user_stack_bytes = 0;
}

/* Chooses the address space of a sample that was taken during exec. The program that called it may
 * be one whose maps were not recorded, as the recorder itself before it became the command: then
 * its address would be a caller without a name that the new program never had. */
static void place_in_exec(struct perf_file *f, struct perf_sample *s)
{
	const uint64_t ip = user_ip(f, s);
	const struct address_space *former;

	if (s->cpumode == PERF_CPUMODE_USER || address_space_find(s->space, ip)) {
		machine_runs(f->machine, s->pid);
		return;
	}
	former = machine_former_space(f->machine, s->pid, ip);
	if (former)
		s->space = former;
	else if (ip)
		drop_user_part(s);
}

static inline int place_in_cgroup(struct perf_file *f, struct perf_sample *s)
{
	if (s->extra->cgroup)
		s->cgroup = file_cgroup(f, s->extra->cgroup);
	return s->extra->cgroup && !s->cgroup ? -ERR_NOMEM : 0;
}

static void place_data(struct perf_file *f, struct perf_sample *s)
{
	const struct processor *cpu = processor_find(f->info.arch, 8);
	uint64_t sp = 0;

	if (cpu && !perf_regs_get(&s->user_regs, cpu->perf_sp, &sp))
		sp = 0;
	s->data = machine_data(f->machine, s->pid, s->extra->addr, sp);
}

/* Sets the members of a sample that come from the process model. */
static int sample_place(struct perf_file *f, struct perf_sample *s)
{
	const struct machine_place *p = machine_place(f->machine, s->pid, s->tid);

	if (!p)
		return err_nomem(&f->err);
	s->space = p->space;
	s->kernel = p->kernel;
	s->comm = p->comm;
	if (place_in_cgroup(f, s))
		return -ERR_NOMEM;
	if (s->extra->addr)
		place_data(f, s);
	if (p->has_former)
		place_in_exec(f, s);
	/* In user mode it is not the idle task. */
	if (!s->tid && !s->pid && s->cpumode == PERF_CPUMODE_USER)
		s->comm = machine_foreign_comm(f->machine);
	if (s->cpumode == PERF_CPUMODE_GUEST_KERNEL)
		s->kernel = machine_guest_kernel(f->machine);
	else if (s->cpumode == PERF_CPUMODE_GUEST_USER)
		s->kernel = machine_guest_user(f->machine);
	return s->kernel && s->comm ? 0 : err_nomem(&f->err);
}

/* Room for one more sample at the end of the batch. NULL when out of memory. */
static inline struct perf_sample *batch_room(struct batch *b)
{
	return vec_reserve(&b->samples, b->samples.n + 1) ? NULL : &b->samples.v[b->samples.n];
}

/* Adds the sample in that room to the batch. */
static inline void batch_commit(struct perf_file *f, struct batch *b, struct perf_sample *s)
{
	b->samples.n++;
	s->seq = f->seq++;
	f->stats.samples++;
	f->stats.period_sum += s->period;
}

/* Sets *ret to the growth of the counter `key` since its last value. Returns 0, or -1 when out of
 * memory. */
static int counter_delta(struct perf_file *f, uint64_t key, uint64_t value, uint64_t *ret)
{
	uint32_t i = hash_get(&f->counters, key);

	if (i == HASH_NONE) {
		i = (uint32_t)f->counter_values.n;
		if (f->counter_values.n >= HASH_NONE || vec_push(&f->counter_values, 0) ||
		    hash_put(&f->counters, key, i))
			return -1;
	}
	*ret = value - f->counter_values.v[i];
	f->counter_values.v[i] = value;
	return 0;
}

struct perf_sample *deliver_room(struct batch *b)
{
	return batch_room(b);
}

void deliver_commit(struct perf_file *f, struct batch *b, struct perf_sample *s)
{
	batch_commit(f, b, s);
}

/* Adds one sample for each event whose value was read and has grown. perf does the same, so that
 * each event of a group gets its share. */
static __attribute__((noinline)) int commit_by_value(struct perf_file *f, struct batch *b,
						     struct perf_sample s, struct sample_read *read)
{
	struct perf_sample *room;
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
		/* Inherited events are counted for each thread separately. */
		if (s.event->attr.flags & PERF_ATTR_INHERIT)
			key = hash_mix(key, s.tid);
		room = batch_room(b);
		if (!room || counter_delta(f, key, value, &s.period))
			return err_nomem(&f->err);
		*room = s;
		if (s.period)
			batch_commit(f, b, room);
	}
	if (!known)
		file_skip(f, PERF_SKIP_UNKNOWN_EVENT, PERF_RECORD_SAMPLE);
	return 0;
}

/* The record of a sample; its bytes live as long as the batch. */
struct sample_record {
	const uint8_t *data;
	struct perf_event_header h;
	uint64_t data_off;
};

/* Decodes a record into the room s of the batch. Returns 1 if there is a sample, 0 if it was
 * skipped. */
static inline __attribute__((always_inline)) int
decode_into_batch(struct perf_file *f, struct batch *b, struct perf_sample *s,
		  const struct event *e, struct sample_record r, struct sample_read *read)
{
	enum perf_skip skip = sample_decode(s, read, e, r.data + sizeof r.h, r.h.size - sizeof r.h,
					    f->swap, &b->scratch);

	if (b->scratch.failed)
		return err_nomem(&f->err);
	if (skip != PERF_SKIP_N) {
		file_skip(f, skip, PERF_RECORD_SAMPLE);
		return 0;
	}
	if ((s->extra->n_branches && chain_from_lbr(s, &b->scratch)) ||
	    (f->simpleperf.chain.n && simpleperf_chain(&f->simpleperf, s, &b->scratch)))
		return err_nomem(&f->err);
	s->chain_is_calls = f->info.is_simpleperf;
	s->misc = r.h.misc;
	s->cpumode = r.h.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	s->file_off = r.data_off;
	return 1;
}

static inline int commit(struct perf_file *f, struct batch *b, struct perf_sample *s,
			 struct sample_read *read)
{
	/* In recordings by simpleperf the values of other counters are additional; the sample keeps
	 * its own period. */
	if (read->n && !f->info.is_simpleperf)
		return commit_by_value(f, b, *s, read);
	batch_commit(f, b, s);
	return 0;
}

/* Decodes a sample that has waited into the room of the batch. Returns 1 if there is a sample, 0 if
 * it was skipped. */
static int decode_held(struct perf_file *f, struct held *h, struct perf_sample **ret,
		       struct sample_read *read)
{
	struct batch *b = f->filling;
	struct sample_record r = {.h = h->h, .data_off = h->data_off};
	uint8_t *copy = scratch_alloc(&b->scratch, r.h.size);
	struct perf_sample *s = batch_room(b);
	int rc;

	if (!copy || !s)
		return err_nomem(&f->err);
	r.data = memcpy(copy, h->record, r.h.size);
	rc = decode_into_batch(f, b, s, h->event, r, read);
	if (rc <= 0)
		return rc;
	if (place_in_cgroup(f, s))
		return -ERR_NOMEM;
	s->space = h->space;
	s->kernel = h->kernel;
	s->comm = h->comm;
	if (h->user_is_gone)
		drop_user_part(s);
	if (h->epoch < b->epoch)
		b->epoch = h->epoch;
	b->bytes += h->h.size;
	*ret = s;
	return 1;
}

/* Delivers a sample that has waited, with the n addresses of its user chain, or without any if
 * these were not recorded. The chain is of what the thread returns to: after an exec the new
 * program, whose maps are those of now. */
static int deliver_held(struct perf_file *f, struct held *h, const uint64_t *ips, size_t n)
{
	struct batch *b = f->filling;
	const struct machine_place *now;
	struct perf_sample *s;
	struct sample_read read;
	int rc = decode_held(f, h, &s, &read);

	if (rc <= 0)
		return rc;
	now = n ? machine_place(f->machine, s->pid, s->tid) : NULL;
	if (n && !now)
		return err_nomem(&f->err);
	s->space = n ? now->space : s->space;
	f->chains_missing += !n;
	if (chain_complete(s, &b->scratch, ips, n))
		return err_nomem(&f->err);
	return commit(f, b, s, &read);
}

int deliver_weighed(struct perf_file *f, struct held *h, const struct perf_event *event,
		    uint64_t weight, uint64_t own_ns)
{
	struct perf_sample *s;
	struct sample_read read;
	int rc = decode_held(f, h, &s, &read);

	if (rc <= 0)
		return rc;
	s->event = event;
	s->period = weight;
	s->wait_ns = own_ns;
	s->is_wait = true;
	s->state = switches_state(f, s);
	batch_commit(f, f->filling, s);
	return 0;
}

int deliver_bare(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
		 const struct perf_event *event, uint64_t weight, const char *state)
{
	static const struct perf_sample_extra none;
	struct perf_sample *s = batch_room(f->filling);

	if (!s)
		return err_nomem(&f->err);
	*s = (struct perf_sample){
		.time_ns = time_ns,
		.period = weight,
		.pid = pid,
		.tid = tid,
		.cpu = UINT32_MAX,
		.cpumode = PERF_CPUMODE_UNKNOWN,
		.has_callchain = true,
		.event = event,
		.state = state,
		.is_wait = state != NULL,
		.extra = &none,
	};
	if (sample_place(f, s))
		return -ERR_NOMEM;
	batch_commit(f, f->filling, s);
	return 0;
}

int deliver_unwoken(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
		    const struct perf_event *event, uint64_t weight)
{
	const struct machine_place *woken = machine_place(f->machine, pid, tid);
	int rc = woken ? deliver_bare(f, 0, 0, time_ns, event, weight, NULL) : err_nomem(&f->err);
	struct perf_sample *s;

	if (rc)
		return rc;
	s = &f->filling->samples.v[f->filling->samples.n - 1];
	s->comm = "[no_waker_recorded]";
	s->wakes = machine_place(f->machine, pid, tid)->comm;
	return 0;
}

void held_refresh(struct perf_file *f, struct held *h, uint32_t pid, uint32_t tid, uint64_t epoch)
{
	const struct machine_place *p = machine_place(f->machine, pid, tid);

	if (!p)
		return; /* out of memory: the former maps are kept */
	h->space = p->space;
	h->kernel = p->kernel;
	h->epoch = epoch;
}

/* A copy of a sample's record, with what is so at its time. NULL when out of memory. */
static struct held *held_new(const struct perf_file *f, const struct perf_sample *s,
			     const struct event *e, struct sample_record r)
{
	struct held *h = malloc(sizeof *h + r.h.size);

	if (!h)
		return NULL;
	*h = (struct held){
		.event = e,
		.space = s->space,
		.kernel = s->kernel,
		.comm = s->comm,
		.epoch = f->filling->epoch,
		.data_off = r.data_off,
		.tid = s->tid,
		.user_is_gone = s->user_is_gone,
		.h = r.h,
	};
	memcpy(h->record, r.data, r.h.size);
	return h;
}

/* Lets a sample wait for its user chain. */
static __attribute__((noinline)) int hold(struct perf_file *f, const struct perf_sample *s,
					  const struct event *e, struct sample_record r,
					  uint64_t cookie)
{
	struct held *h = held_new(f, s, e, r), *oldest = NULL;
	int rc = 0;

	if (!h)
		return err_nomem(&f->err);
	h->cookie = cookie;
	if (deferred_samples_is_full(&f->deferred_samples))
		oldest = deferred_samples_take_oldest(&f->deferred_samples);
	if (deferred_samples_add(&f->deferred_samples, h)) {
		free(h);
		rc = err_nomem(&f->err);
	}
	if (oldest && !rc)
		rc = deliver_held(f, oldest, NULL, 0);
	free(oldest);
	return rc;
}

static __attribute__((noinline)) int hold_switch(struct perf_file *f, const struct perf_sample *s,
						 const struct event *e, struct sample_record r)
{
	struct held *h = held_new(f, s, e, r);

	return h ? switches_sample(f, s, h) : err_nomem(&f->err);
}

int deliver_deferred(struct perf_file *f, uint32_t tid, uint64_t cookie, const uint64_t *ips,
		     size_t n)
{
	struct held *h;
	int rc = 0;

	/* Samples with another cookie: their CALLCHAIN_DEFERRED record was lost. */
	while (!rc && (h = deferred_samples_take(&f->deferred_samples, tid))) {
		rc = deliver_held(f, h, ips, h->cookie == cookie ? n : 0);
		free(h);
	}
	return rc;
}

int deliver_all_held(struct perf_file *f)
{
	struct held *h;
	int rc = 0;

	while (!rc && (h = deferred_samples_take_oldest(&f->deferred_samples))) {
		rc = deliver_held(f, h, NULL, 0);
		free(h);
	}
	return rc;
}

static inline int deliver_sample(struct perf_file *f, struct batch *b, struct block *block,
				 struct sample_record r)
{
	const struct buf rec = buf_make(r.data, r.h.size, 0, f->swap);
	const struct event *e = events_of_sample(&f->events, &rec);
	struct perf_sample *s = batch_room(b);
	struct sample_read read;
	uint64_t cookie;
	int rc;

	if (!e) {
		file_skip(f, PERF_SKIP_UNKNOWN_EVENT, PERF_RECORD_SAMPLE);
		return 0;
	}
	r.data = batch_keep(b, &f->blocks, block, r.data, r.h.size);
	if (!r.data || !s)
		return err_nomem(&f->err);
	rc = decode_into_batch(f, b, s, e, r, &read);
	if (rc <= 0)
		return rc;
	if (sample_place(f, s))
		return -ERR_NOMEM;
	if (e->is_switch)
		return hold_switch(f, s, e, r);
	if (e->pub.heap)
		return heap_sample(f, b, s);
	if (e->growth)
		return growth_sample(f, b, s, e);
	if (e->is_waking && f->switches.on) {
		rc = switches_waking(f, s);
		if (rc > 0)
			batch_commit(f, b, s);
		return rc < 0 ? rc : 0;
	}
	if (chain_is_deferred(s, &cookie))
		return hold(f, s, e, r, cookie);
	if (f->switches.on && f->switches.wall &&
	    event_is_clock(e->pub.attr.type, e->pub.attr.config) && switches_clock(f, s))
		return -ERR_NOMEM;
	if (e->has_state)
		s->state = task_state_of_sample(s);
	return commit(f, b, s, &read);
}

/* Prefetches a later record, assuming that it is as large as this one: its beginning, and the word
 * before it, which is the last word of the record before (the size of its stack copy). Small
 * records are read from end to end, which the processor's own prefetcher detects. */
PREFETCHING void expect_record(const uint8_t *now, uint32_t size)
{
	const uintptr_t at = (uintptr_t)now + (uintptr_t)EXPECT_AHEAD * size;

	if (size < EXPECT_BYTES)
		return;
	for (uintptr_t line = at - 8; line < at + EXPECT_BYTES; line += 64)
		__builtin_prefetch((const void *)line);
}

/* Prefetches for writing the memory of a sample that will be added some samples later: its cache
 * lines are with the processor whose thread has unwound the sample that was there before. */
PREFETCHING void expect_room(const struct batch *b)
{
	const char *next;

	if (b->samples.n + ROOMS_AHEAD >= b->samples.cap)
		return;
	next = (const char *)&b->samples.v[b->samples.n + ROOMS_AHEAD];
	for (size_t i = 0; i < sizeof *b->samples.v; i += 64)
		prefetch_write(next + i);
}

/* Applies a record that changes the meaning of later samples. */
static int deliver_other(struct perf_file *f, const struct block *block, uint32_t off,
			 uint32_t size)
{
	struct record_view v = record_view(f, block->data + off, size, block->data_off + off);
	const struct record_row *row = record_row(v.type);
	enum perf_skip skip = PERF_SKIP_TOO_SHORT;
	size_t payload;

	if (row && row->when == RECORD_ORDERED)
		skip = record_check(row, &v, &payload);
	if (skip == PERF_SKIP_N)
		return row->apply(f, &v);
	file_skip(f, skip, v.type);
	return 0;
}

/* Delivers a record that is due. It was checked before, but its bytes may have been read from the
 * file again, which another process may have changed. */
static inline int deliver_record(struct perf_file *f, struct batch *b, struct block *block,
				 uint32_t off)
{
	struct sample_record r = {.data_off = block->data_off + off};

	if (block_fetch(&f->blocks, block, off, sizeof r.h, &f->err))
		return -(int)f->err.code;
	r.data = block->data + off;
	if (block->n - off >= sizeof r.h)
		r.h = header_at(r.data, f->swap);
	if (r.h.size < sizeof r.h || r.h.size > block->n - off) {
		file_lose(f, r.data_off, "", r.h.size, false);
		return 0;
	}
	if (block_fetch(&f->blocks, block, off, r.h.size, &f->err))
		return -(int)f->err.code;
	if (r.h.type != PERF_RECORD_SAMPLE)
		return deliver_other(f, block, off, r.h.size);
	expect_record(r.data, r.h.size);
	expect_room(b);
	return deliver_sample(f, b, block, r);
}

static inline int deliver_next(struct perf_file *f, struct batch *b)
{
	struct order_entry e;
	struct block *block;
	int rc;

	rc = order_pop(&f->order, &e, &f->err);
	if (rc <= 0)
		return rc;
	block = block_at(&f->blocks, e.where >> WHERE_OFF_BITS);
	rc = deliver_record(f, b, block, e.where & ((1u << WHERE_OFF_BITS) - 1));
	block_unref(&f->blocks, block);
	return rc;
}

int deliver_ready(struct perf_file *f)
{
	struct batch *b = f->filling;
	int rc = 0;

	while (!rc && !batch_is_full(b) && order_ready(&f->order))
		rc = deliver_next(f, b);
	return rc;
}
