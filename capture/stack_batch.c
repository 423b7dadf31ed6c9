/* stack_batch.c - makes samples of threads that were read one by one. */
#include "capture/stack_batch.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/vec.h"

static void put_kernel_chain(struct stack_batch *b, const struct thread_state *t)
{
	bytes_u64(&b->bytes, t->n_kernel ? t->n_kernel + 1 : 0);
	if (t->n_kernel)
		bytes_u64(&b->bytes, PERF_CONTEXT_KERNEL);
	for (size_t i = 0; i < t->n_kernel; i++) {
		const struct kernel_frame *f = &t->kernel[i];
		size_t number = kernel_names_add(&b->kernel, f->name, f->size);

		if (vec_push(&b->kernel_at, b->bytes.vec.n) || number > UINT32_MAX)
			b->bytes.failed = true;
		bytes_u64(&b->bytes, (uint64_t)number << 32 | (uint32_t)f->offset);
	}
}

/* One word of zeros behind what is valid says that the stack ended there. */
static void put_user_part(struct bytes *b, const struct thread_state *t)
{
	const size_t padded = t->n_stack & ~(size_t)7;

	bytes_u64(b, t->abi);
	if (t->abi != PERF_SAMPLE_REGS_ABI_NONE)
		bytes_put(b, t->regs, t->n_regs * sizeof *t->regs);
	bytes_u64(b, padded + (t->stack_full || !padded ? 0 : 8));
	bytes_put(b, t->stack, padded);
	if (padded && !t->stack_full)
		bytes_u64(b, 0);
	if (padded)
		bytes_u64(b, padded);
}

/* In the order of enum perf_event_sample_format, as perf_event_open(2) lists it. */
void stack_batch_add(struct stack_batch *batch, const struct thread_state *t,
		     const struct stack_sample *s)
{
	struct bytes *b = &batch->bytes;
	const size_t at = b->vec.n;
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE};

	h.misc = t->n_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
	if (vec_push(&batch->record_at, at))
		b->failed = true;
	bytes_put(b, &h, sizeof h);
	bytes_u64(b, s->id);
	bytes_u64(b, t->ip);
	bytes_u32(b, (uint32_t)s->pid);
	bytes_u32(b, (uint32_t)s->tid);
	bytes_u64(b, t->time_ns);
	bytes_u32(b, s->cpu);
	bytes_u32(b, 0);
	bytes_u64(b, s->period);
	put_kernel_chain(batch, t);
	if (s->raw) {
		bytes_u32(b, (uint32_t)s->n_raw);
		bytes_put(b, s->raw, s->n_raw);
	}
	if (!s->no_user)
		put_user_part(b, t);
	if (s->has_cgroup)
		bytes_u64(b, s->cgroup);
	if (b->failed)
		return;
	h.size = (uint16_t)(b->vec.n - at);
	memcpy(b->vec.v + at, &h, sizeof h);
}

void stack_batch_know(struct stack_batch *b, const struct thread_state *t)
{
	for (size_t i = 0; i < t->n_kernel; i++)
		(void)kernel_names_add(&b->kernel, t->kernel[i].name, t->kernel[i].size);
}

void stack_batch_look(struct stack_batch *b)
{
	kernel_names_look(&b->kernel);
}

int stack_batch_flush(struct stack_batch *b, struct record_writer *writer)
{
	kernel_names_look(&b->kernel);
	for (size_t i = 0; i < b->kernel_at.n; i++) {
		uint64_t slot, address;

		memcpy(&slot, b->bytes.vec.v + b->kernel_at.v[i], sizeof slot);
		address = kernel_names_address(&b->kernel, (size_t)(slot >> 32));
		address = address ? address + (uint32_t)slot : 0;
		memcpy(b->bytes.vec.v + b->kernel_at.v[i], &address, sizeof address);
	}
	for (size_t i = 0; i < b->record_at.n && !b->bytes.failed; i++) {
		const uint8_t *rec = b->bytes.vec.v + b->record_at.v[i];
		struct perf_event_header h;

		memcpy(&h, rec, sizeof h);
		if (record_writer_append(writer, rec, h.size))
			b->bytes.failed = true;
	}
	b->kernel_at.n = b->record_at.n = b->bytes.vec.n = 0;
	return b->bytes.failed ? -1 : 0;
}

void stack_batch_done(struct stack_batch *b)
{
	bytes_done(&b->bytes);
	vec_done(&b->kernel_at);
	vec_done(&b->record_at);
	kernel_names_done(&b->kernel);
}
