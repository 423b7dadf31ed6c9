/* fuzz_stitch.c - libFuzzer target: stacks that are cut and completed from each other.
 *
 * The input is a list of records of 4 bytes and their frames: what to do with a stack (enum below),
 * its thread and how long after the last it was, where it begins, how many frames follow; per frame
 * one byte: address, and how far up it lies. Few different values, so that stacks meet. */
#include <string.h>

#include "tests/fuzz.h"
#include "unwind/unwind.h"

enum { STACK_CUT = 1, STACK_ROOT = 2, STACK_GUESS = 4, STACK_NO_PLACES = 8, STACK_RUN = 16 };
enum { FRAMES_MAX = 16, STACKS_MAX = 4096 };

struct record {
	size_t n, n_kernel;
	uint64_t ips[FRAMES_MAX];
	enum unwind_stop stop;
	bool was_cut;
};

struct check {
	struct stitcher *st;
	struct record added[STACKS_MAX];
	size_t n, n_back;
	uint64_t stitched;
};

/* What was there stays; what was added is marked, lies on a cut stack, and is bounded. */
static void check_trace(struct check *c, size_t i, const struct stack_trace *t)
{
	const struct record *r = &c->added[i];

	FUZZ_CHECK(i == c->n_back++ && i < c->n);
	FUZZ_CHECK(t->n >= r->n && t->n_kernel == r->n_kernel && t->n <= UNWIND_FRAMES_MAX + 16);
	FUZZ_CHECK(t->n == r->n || r->was_cut);
	FUZZ_CHECK(t->stop == r->stop || (r->was_cut && t->stop == UNWIND_STOP_END));
	for (size_t k = 0; k < t->n; k++) {
		FUZZ_CHECK((t->frames[k].how == FRAME_STITCHED) == (k >= r->n));
		FUZZ_CHECK(k >= r->n || t->frames[k].ip == r->ips[k]);
		c->stitched += k >= r->n;
	}
}

static int check_traces(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	FUZZ_CHECK(n && n <= UNWIND_BATCH);
	for (size_t k = 0; k < n; k++)
		check_trace(arg, i + k, &traces[k]);
	return 0;
}

static void run(struct check *c)
{
	FUZZ_CHECK(!stitcher_run(c->st, check_traces, c));
	FUZZ_CHECK(c->n_back == c->n);
	FUZZ_CHECK(stitcher_stats(c->st)->frames == c->stitched);
	c->n = c->n_back = 0;
}

static void add(struct check *c, const uint8_t head[4], const uint8_t *bytes, size_t n,
		uint64_t time_ns)
{
	static const struct map maps[2];
	const struct perf_sample s = {.time_ns = time_ns, .pid = 1, .tid = head[1] & 3};
	struct frame frames[FRAMES_MAX];
	struct frame_place places[FRAMES_MAX];
	struct stack_trace t = {.frames = frames, .n = n, .n_kernel = n && head[3] & 128 ? 1 : 0};
	struct record *r = &c->added[c->n++];
	uint64_t sp = 0x1000 + (uint64_t)(head[2] & 15) * 16;

	t.stop = head[0] & STACK_CUT	? UNWIND_STOP_TRUNCATED_STACK
		 : head[0] & STACK_ROOT ? UNWIND_STOP_END
					: UNWIND_STOP_NO_CFI;
	t.places = head[0] & STACK_NO_PLACES ? NULL : places;
	for (size_t i = 0; i < n; i++) {
		frames[i] = (struct frame){
			.ip = bytes[i] & 7,
			.map = &maps[bytes[i] >> 3 & 1],
			.how = head[0] & STACK_GUESS && i == n / 2 ? FRAME_FRAME_POINTER
								   : FRAME_CFI,
		};
		r->ips[i] = frames[i].ip;
		if (i < t.n_kernel)
			continue;
		/* Mostly up; sometimes nowhere, or down. */
		places[i - t.n_kernel] = (struct frame_place){sp, bytes[i] >> 6 & 1};
		sp += bytes[i] >> 7 ? -16 * (uint64_t)(bytes[i] >> 4 & 3)
				    : 16 + 16 * (uint64_t)(bytes[i] >> 4 & 3);
	}
	r->n = n;
	r->n_kernel = t.n_kernel;
	r->stop = t.stop;
	r->was_cut = t.stop == UNWIND_STOP_TRUNCATED_STACK && t.places && time_ns;
	FUZZ_CHECK(!stitcher_add(c->st, &s, &t));
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
	free(c);
	return 0;
}
