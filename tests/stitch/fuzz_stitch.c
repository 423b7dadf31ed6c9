/* fuzz_stitch.c - libFuzzer target: stacks that are cut and completed from each other.
 *
 * The input is a list of records of 4 bytes and their frames: what to do with a stack (enum below),
 * its thread and how long after the last it was, where it begins, how many frames follow; per frame
 * one byte: address, and how far up it lies. Few different values, so that stacks meet. */
#include <string.h>

#include "tests/fuzz.h"
#include "stitch/stitch.h"

enum { STACK_CUT = 1, STACK_ROOT = 2, STACK_GUESS = 4, STACK_NO_PLACES = 8, STACK_RUN = 16 };
enum { FRAMES_MAX = 16, STACKS_MAX = 4096 };

struct record {
	struct perf_sample sample;
	struct frame frames[FRAMES_MAX];
	struct frame_place places[FRAMES_MAX];
	uint64_t memory[2 * FRAMES_MAX];
	struct stack_trace added;
	bool was_cut;
};

struct check {
	struct stitcher *st;
	struct record records[STACKS_MAX];
	const struct perf_sample *samples[STACKS_MAX];
	struct stack_trace traces[STACKS_MAX];
	struct scratch room;
	size_t n;
	uint64_t stitched;
};

/* What was there stays; what was added is marked, lies on a cut stack, and is bounded. */
static void check_trace(struct check *c, const struct record *r, const struct stack_trace *t)
{
	const struct stack_trace *was = &r->added;
	const struct stack_base *b = t->base;
	size_t depth = b ? b->depth : 0;

	FUZZ_CHECK(t->n >= was->n && t->n_kernel == was->n_kernel);
	FUZZ_CHECK(t->n + depth <= UNWIND_FRAMES_MAX + 16);
	FUZZ_CHECK(t->n + depth == was->n || r->was_cut);
	FUZZ_CHECK(t->stop == was->stop ||
		   (r->was_cut && (t->stop == UNWIND_STOP_END || t->stop == UNWIND_STOP_DEPTH)));
	for (size_t k = 0; k < t->n; k++) {
		FUZZ_CHECK((t->frames[k].how == FRAME_STITCHED) == (k >= was->n));
		FUZZ_CHECK(k >= was->n || t->frames[k].ip == r->frames[k].ip);
		c->stitched += k >= was->n;
	}
	for (; b; b = b->up, depth--) {
		FUZZ_CHECK(b->depth == depth && b->frame.how == FRAME_STITCHED && !b->tag);
		c->stitched++;
	}
	FUZZ_CHECK(!depth);
}

static void run(struct check *c)
{
	FUZZ_CHECK(!stitcher_run(c->st, c->samples, c->traces, c->n, &c->room));
	for (size_t i = 0; i < c->n; i++)
		check_trace(c, &c->records[i], &c->traces[i]);
	FUZZ_CHECK(stitcher_stats(c->st)->frames == c->stitched);
	c->n = 0;
	scratch_reset(&c->room);
}

static void add(struct check *c, const uint8_t head[4], const uint8_t *bytes, size_t n,
		uint64_t time_ns)
{
	static const struct map maps[2] = {{.id = 1}, {.id = 2}};
	struct record *r = &c->records[c->n];
	struct stack_trace t = {
		.frames = r->frames, .n = n, .n_kernel = n && head[3] & 128 ? 1 : 0};
	uint64_t sp = 0x1000 + (uint64_t)(head[2] & 15) * 16;

	r->sample = (struct perf_sample){.time_ns = time_ns, .pid = 1, .tid = head[1] & 3};
	/* Two words for each 16 bytes; where the copy ends depends on the frames. */
	r->sample.user_stack = (const uint8_t *)r->memory;
	r->sample.user_stack_bytes = n ? bytes[0] & 3 ? sizeof r->memory : bytes[0] & 248 : 0;
	t.stop = head[0] & STACK_CUT	? UNWIND_STOP_TRUNCATED_STACK
		 : head[0] & STACK_ROOT ? UNWIND_STOP_END
					: UNWIND_STOP_NO_CFI;
	t.places = head[0] & STACK_NO_PLACES ? NULL : r->places;
	for (size_t i = 0; i < n; i++) {
		r->frames[i] = (struct frame){
			.ip = bytes[i] & 7,
			.map = &maps[bytes[i] >> 3 & 1],
			.how = head[0] & STACK_GUESS && i == n / 2 ? FRAME_FRAME_POINTER
								   : FRAME_CFI,
		};
		if (i < t.n_kernel)
			continue;
		r->memory[2 * i] = r->memory[2 * i + 1] = bytes[i] & 3;
		/* Mostly up; sometimes nowhere, or down. */
		r->places[i - t.n_kernel] = (struct frame_place){sp, bytes[i] >> 6 & 1};
		sp += bytes[i] >> 7 ? -16 * (uint64_t)(bytes[i] >> 4 & 3)
				    : 16 + 16 * (uint64_t)(bytes[i] >> 4 & 3);
	}
	r->added = t;
	r->was_cut = t.stop == UNWIND_STOP_TRUNCATED_STACK && t.places && time_ns;
	c->samples[c->n] = &r->sample;
	c->traces[c->n++] = t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct stitch_options opt = {.max_distance_ns = size & 1 ? 1000000000 : 0};
	struct check *c = calloc(1, sizeof *c);
	uint64_t time_ns = 0;
	size_t at = 0;

	FUZZ_CHECK(c && !stitcher_new(&c->st, &opt, NULL));
	while (size - at >= 4) {
		const uint8_t *head = data + at;
		size_t n = head[3] & (FRAMES_MAX - 1);

		at += 4;
		if (n > size - at)
			n = size - at;
		/* From no time at all to some seconds; now and then backwards. */
		time_ns += (uint64_t)1 << (head[1] >> 2 & 31);
		if (head[1] >> 7 && time_ns > 1000)
			time_ns -= 1000;
		add(c, head, data + at, n, head[1] == 255 ? 0 : time_ns);
		at += n;
		if (head[0] & STACK_RUN || c->n == STACKS_MAX)
			run(c);
	}
	run(c);
	stitcher_free(c->st);
	scratch_done(&c->room);
	free(c);
	return 0;
}
