/* fill.c - adds a recording's samples to a profile; handles integers only. */
#include "base/err.h"
#include "base/processor.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "reader/reader.h"

#include <linux/perf_event.h>
#include <string.h>

#include "profile/fill.h"
#include "functions/functions.h"

enum { RECORD_BYTES = 64 };

void profile_set_jit(struct profile *p, struct jit_codes *jit)
{
	p->index_->jit.codes = jit;
}

int profile_set_file(struct profile *p, const struct perf_file *f, struct err *err)
{
	size_t i, n = perf_file_event_count(f);

	for (i = 0; i < n; i++)
		if (profile_name_event(p, perf_file_event(f, i), err))
			return -ERR_NOMEM;
	p->info = perf_file_info(f);
	p->index_->file = f;
	return 0;
}

/* Command names live as long as the file, so names are compared by pointer. */
static uint32_t add_comm(struct profile *p, const char *comm)
{
	struct profile_index *x = p->index_;
	uint32_t id;

	if (comm == x->last_comm)
		return x->last_comm_id;
	id = hash_get(&x->comms, (uintptr_t)comm);
	if (id == HASH_NONE) {
		id = strtab_add_cstr(&p->strings, comm);
		if (id == STRTAB_FAILED || hash_put(&x->comms, (uintptr_t)comm, id))
			return STRTAB_FAILED;
	}
	x->last_comm = comm;
	x->last_comm_id = id;
	return id;
}

/* A text as the label that it becomes; equal texts have the same pointer. A string id. */
static uint32_t add_text_label(struct profile *p, const char *key, const char *value)
{
	struct profile_index *x = p->index_;
	struct text set = {0};
	uint32_t id;

	if (!(x->keep & PROFILE_KEEP_LABELS) || !value)
		return 0;
	id = hash_get(&x->texts, (uintptr_t)value);
	if (id != HASH_NONE)
		return id;
	profile_label_add(&set, &(struct profile_label){.key = key, .text = value});
	id = set.failed ? STRTAB_FAILED : strtab_add(&p->strings, set.s, set.n);
	text_done(&set);
	if (id != STRTAB_FAILED && hash_put(&x->texts, (uintptr_t)value, id))
		return STRTAB_FAILED;
	return id;
}

/* The labels of a sample: the texts that it has, and those with values; a string id. */
static uint32_t add_labels(struct profile *p, const struct perf_sample *s,
			   const struct stack_trace *t)
{
	const struct {
		const char *key, *value;
	} texts[] = {
		{"cgroup", s->cgroup}, {"state", s->state}, {"wakes", s->wakes}, {"data", s->data}};
	struct text set = {0};
	uint32_t id = 0, n = 0;

	if (!(p->index_->keep & PROFILE_KEEP_LABELS))
		return 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const uint32_t one = add_text_label(p, texts[i].key, texts[i].value);

		if (one == STRTAB_FAILED)
			return STRTAB_FAILED;
		n += one != 0;
		id = one ? one : id;
	}
	if (!t->labels && n < 2)
		return id;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const uint32_t one = add_text_label(p, texts[i].key, texts[i].value);

		text_add(&set, strtab_get(&p->strings, one),
			 one ? strtab_len(&p->strings, one) : 0);
	}
	if (t->labels)
		text_add(&set, t->labels, t->labels_len);
	id = set.failed ? STRTAB_FAILED : strtab_add(&p->strings, set.s, set.n);
	text_done(&set);
	return id;
}

/* The fields of a tracepoint as text; a string id. */
static uint32_t add_trace(struct profile *p, const struct perf_sample *s)
{
	struct text text = {0};
	uint32_t id = 0;

	if (!(p->index_->keep & PROFILE_KEEP_TRACE) || !s->extra || !s->extra->raw_size)
		return 0;
	if (perf_file_trace_text(p->index_->file, s, &text))
		id = strtab_add(&p->strings, text.s, text.n);
	if (text.failed)
		id = STRTAB_FAILED;
	text_done(&text);
	return id;
}

/* Of 64-bit programs. */
static uint64_t user_sp(const struct profile *p, const struct perf_sample *s)
{
	const char *arch = p->info ? p->info->arch : NULL;
	const struct processor *cpu;
	uint64_t bit;

	if (!(p->index_->keep & PROFILE_KEEP_TRACE) || !arch ||
	    s->user_regs.abi != PERF_SAMPLE_REGS_ABI_64)
		return 0;
	cpu = processor_find(arch, 0);
	bit = cpu ? (uint64_t)1 << cpu->perf_sp : 0;
	return s->user_regs.mask & bit
		       ? s->user_regs.regs[__builtin_popcountll(s->user_regs.mask & (bit - 1))]
		       : 0;
}

static int add_to_log(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		      const struct profile_sample *key, struct err *err)
{
	struct profile_log_entry e = {
		.time_ns = s->time_ns,
		.period = s->period,
		.ip = s->ip,
		.addr = s->extra ? s->extra->addr : 0,
		.node = key->node,
		.event = key->event,
		.comm = key->comm,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.wait_ns = s->wait_ns,
		.is_wait = s->is_wait,
		.stop = key->stop,
		.misc = s->misc,
		.is_left_out = t->is_left_out,
		.has_stack = s->has_callchain,
		.labels = key->labels,
		.trace = add_trace(p, s),
		.detail = profile_add_detail(p, s),
		.sp = user_sp(p, s),
		.values = t->values ? strtab_add(&p->strings, t->values, t->values_len) : 0,
	};

	if (e.trace == STRTAB_FAILED || e.detail == STRTAB_FAILED || e.values == STRTAB_FAILED)
		return err_nomem(err);
	return vec_push(&p->log, e) ? err_nomem(err) : 0;
}

/* Fills the key, except for the node. */
static int sample_key(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		      struct profile_sample *ret, struct err *err)
{
	unsigned keep = p->index_->keep;

	*ret = (struct profile_sample){
		.event = s->event->index,
		.comm = s->comm ? add_comm(p, s->comm) : 0,
		.pid = keep & (PROFILE_KEEP_PIDS | PROFILE_KEEP_TIDS) ? s->pid : 0,
		.tid = keep & PROFILE_KEEP_TIDS ? s->tid : 0,
		.stop = (uint8_t)t->stop,
		.cpu = keep & PROFILE_KEEP_CPUS && s->event->attr.sample_type & PERF_SAMPLE_CPU
			       ? profile_cpu(s->cpu)
			       : 0,
		.labels = add_labels(p, s, t),
		.count = 1,
		.period = s->period,
	};
	if (ret->comm == STRTAB_FAILED || ret->labels == STRTAB_FAILED)
		return err_nomem(err);
	if (ret->event >= p->events.n || !p->events.v[ret->event].name)
		return profile_name_event(p, s->event, err);
	return 0;
}

static void see_times(struct profile *p, const struct perf_sample *const *samples, size_t n)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t t = samples[i]->time_ns;

		first_ns = t < first_ns ? t : first_ns;
		last_ns = t > last_ns ? t : last_ns;
	}
	if (n)
		profile_see_times(p, first_ns, last_ns);
}

int profile_add_batch(struct profile *p, const struct perf_sample *const *samples,
		      const struct stack_trace *traces, const struct stack_digest *digests,
		      size_t n, struct err *err)
{
	struct profile_sample keys[PROFILE_BATCH];
	uint32_t ids[PROFILE_BATCH];
	struct profile_event *event;
	size_t i;

	for (i = 0; i < n; i++) {
		if (sample_key(p, samples[i], &traces[i], &keys[i], err))
			return -ERR_NOMEM;
		/* As perf would have stored it: stacks may be packed far below. */
		p->input_bytes += RECORD_BYTES + traces[i].n * sizeof(uint64_t);
	}
	see_times(p, samples, n);
	if (profile_intern_stacks(p, samples, traces, digests, n, keys, ids, err))
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		if (p->index_->keep & PROFILE_KEEP_LOG &&
		    add_to_log(p, samples[i], &traces[i], &p->samples.v[ids[i]], err))
			return -ERR_NOMEM;
		if (traces[i].is_left_out)
			continue;
		profile_count(p, ids[i], 1, keys[i].period);
		event = &p->events.v[keys[i].event];
		event->samples++;
		event->period = add_saturated(event->period, keys[i].period);
	}
	return 0;
}
