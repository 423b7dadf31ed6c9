/* returned.c - the function that has returned as the innermost frame of a return probe's sample.
 *
 * When the sample is taken the function is left already, and its caller goes on: without it, a
 * probe on many functions would not say which one was hit. */
#include "load/returned.h"

#include <string.h>

#include "reader/reader.h"

void returned_done(struct returned *r)
{
	vec_done(&r->frames);
	vec_done(&r->places);
	vec_done(&r->registers);
	text_done(&r->values);
}

/* All that one batch needs, so that nothing moves while it is filled. */
static int reserve(struct returned *r, const struct perf_file *f,
		   const struct perf_sample *const *samples, const struct stack_trace *traces,
		   size_t n)
{
	size_t frames = 0, registers = 0;

	for (size_t i = 0; i < n; i++) {
		if (!perf_file_returned_from(f, samples[i]))
			continue;
		frames += traces[i].n + 1;
		registers += traces[i].n_registers + 1;
	}
	r->frames.n = r->places.n = r->registers.n = r->values.n = 0;
	return frames && (vec_reserve(&r->frames, frames) || vec_reserve(&r->places, frames) ||
			  vec_reserve(&r->registers, registers))
		       ? -1
		       : 0;
}

/* Its place is where its return address was. What its registers were is not known. */
static void add_frame(struct returned *r, const struct perf_sample *s, uint64_t ip,
		      struct stack_trace *t)
{
	const size_t at = t->n_kernel, n_user = t->n - at;
	struct frame *frames = r->frames.v + r->frames.n;
	struct frame_place *places = r->places.v + r->places.n;
	struct frame_registers *registers = r->registers.v + r->registers.n;

	if (at)
		memcpy(frames, t->frames, at * sizeof *frames);
	frames[at] = (struct frame){
		.ip = ip, .map = address_space_find(s->space, ip), .how = FRAME_SAMPLE};
	if (n_user) {
		memcpy(frames + at + 1, t->frames + at, n_user * sizeof *frames);
		frames[at + 1].is_return_address = true;
		frames[at + 1].place_id = 0; /* of the address as it was */
	}
	if (t->places) {
		memcpy(places + 1, t->places, n_user * sizeof *places);
		places[0] = (struct frame_place){.sp = n_user ? places[1].sp - sizeof ip : 0};
		t->places = places;
		r->places.n += n_user + 1;
	}
	if (t->registers) {
		memcpy(registers + 1, t->registers, t->n_registers * sizeof *registers);
		registers[0].known = 0;
		t->registers = registers;
		r->registers.n += ++t->n_registers;
	}
	r->frames.n += t->n + 1;
	t->frames = frames;
	t->n++;
}

/* Texts about frames have a line for each: an empty one for it. Their places in r->values, which
 * may move, are in *at until all are there. */
static void add_line(struct returned *r, struct stack_trace *t, size_t *at)
{
	*at = r->values.n;
	for (size_t i = 0; i < t->n_kernel; i++)
		text_char(&r->values, '\n');
	text_char(&r->values, '\n');
	text_add(&r->values, t->values + t->n_kernel, t->values_len - t->n_kernel);
	t->values_len++;
}

int returned_add(struct returned *r, const struct perf_file *f,
		 const struct perf_sample *const *samples, struct stack_trace *traces, size_t n)
{
	size_t at[UNWIND_BATCH];

	if (reserve(r, f, samples, traces, n))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const uint64_t ip = perf_file_returned_from(f, samples[i]);

		at[i] = SIZE_MAX;
		if (!ip)
			continue;
		if (traces[i].values)
			add_line(r, &traces[i], &at[i]);
		add_frame(r, samples[i], ip, &traces[i]);
	}
	for (size_t i = 0; i < n && !r->values.failed; i++)
		if (at[i] != SIZE_MAX)
			traces[i].values = r->values.s + at[i];
	return r->values.failed ? -1 : 0;
}
