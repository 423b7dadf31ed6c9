/* test_stitch.c - stitching of made-up stacks, where who called whom is known; on recordings cut
 * here against their uncut truth by test_stitch_cut.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "unwind/unwind.h"

static const struct map map;

/* A stack of up to 8 frames; ip 0 ends it. Places: sp rises by 16 from `sp`. */
struct stack {
	uint64_t time_ns;
	uint32_t tid;
	uint64_t sp;
	enum unwind_stop stop;
	uint64_t ips[8];
};

static void add(struct stitcher *st, const struct stack *k, enum frame_how how)
{
	struct perf_sample s = {.time_ns = k->time_ns, .pid = 1, .tid = k->tid};
	struct frame_place places[8];
	struct frame frames[8];
	struct stack_trace t = {.frames = frames, .places = places, .stop = k->stop};

	for (; t.n < 8 && k->ips[t.n]; t.n++) {
		frames[t.n] = (struct frame){.ip = k->ips[t.n], .map = &map, .how = (uint8_t)how};
		places[t.n] = (struct frame_place){k->sp + 16 * t.n, 5};
	}
	assert_int_equal(stitcher_add(st, &s, &t), 0);
}

struct result {
	size_t n;
	struct stack_trace traces[8];
	struct frame frames[8][16];
};

static int keep(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	struct result *r = arg;
	size_t k;

	assert_int_equal(i, r->n);
	assert_in_range(n, 1, UNWIND_BATCH);
	for (k = 0; k < n; k++) {
		r->traces[i + k] = traces[k];
		memcpy(r->frames[i + k], traces[k].frames, traces[k].n * sizeof *traces[k].frames);
	}
	r->n += n;
	return 0;
}

static void assert_stack(const struct result *r, size_t i, enum unwind_stop stop, size_t n_own,
			 const uint64_t *ips)
{
	size_t k;

	assert_int_equal(r->traces[i].stop, stop);
	for (k = 0; ips[k]; k++) {
		assert_true(k < r->traces[i].n);
		assert_int_equal(r->frames[i][k].ip, ips[k]);
		assert_int_equal(r->frames[i][k].how == FRAME_STITCHED, k >= n_own);
	}
	assert_int_equal(r->traces[i].n, k);
}
#define IPS(...)               \
	(const uint64_t[])     \
	{                      \
		__VA_ARGS__, 0 \
	}

#define CUT  UNWIND_STOP_TRUNCATED_STACK
#define ROOT UNWIND_STOP_END

static struct stitcher *begin_with(struct stitch_options opt)
{
	struct stitcher *st;

	assert_int_equal(stitcher_new(&st, &opt, NULL), 0);
	return st;
}

static struct stitcher *begin(uint64_t max_distance_ns)
{
	return begin_with((struct stitch_options){.max_distance_ns = max_distance_ns});
}

static void run(struct stitcher *st, struct result *r)
{
	memset(r, 0, sizeof *r);
	assert_int_equal(stitcher_run(st, keep, r), 0);
}

/* From a sample before and from one after; order and uncut stacks stay as they are. */
static void completes_from_both_sides(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40}}, FRAME_CFI);
	add(st, &(struct stack){200, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	/* 51 is in the same place as 20, but only later is it seen who called it. */
	add(st, &(struct stack){300, 1, 0x1000, CUT, {50, 51}}, FRAME_CFI);
	add(st, &(struct stack){400, 1, 0x1000, ROOT, {52, 51, 60}}, FRAME_CFI);
	run(st, &r);
	assert_int_equal(r.n, 4);
	assert_stack(&r, 0, ROOT, 4, IPS(10, 20, 30, 40));
	assert_stack(&r, 1, ROOT, 2, IPS(10, 20, 30, 40));
	assert_stack(&r, 2, ROOT, 2, IPS(50, 51, 60));
	assert_stack(&r, 3, ROOT, 3, IPS(52, 51, 60));
	assert_int_equal(stitcher_stats(st)->cut, 2);
	assert_int_equal(stitcher_stats(st)->to_root, 2);
	assert_int_equal(stitcher_stats(st)->frames, 3);
	stitcher_free(st);
}

/* Two halves that were never seen together are joined through a cut stack; without a root it stays
 * cut. Earlier batches count. */
static void chains_and_remembers(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){110, 1, 0x1010, CUT, {20, 30}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 0, CUT, 2, IPS(10, 20, 30));
	assert_stack(&r, 1, CUT, 2, IPS(20, 30));
	add(st, &(struct stack){120, 1, 0x1010, ROOT, {21, 30, 40}}, FRAME_CFI);
	add(st, &(struct stack){130, 1, 0x1000, CUT, {11, 20}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 1, ROOT, 2, IPS(11, 20, 30, 40));
	assert_int_equal(stitcher_stats(st)->extended, 1);
	stitcher_free(st);
}

static void believes_the_nearest(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, ROOT, {10, 20, 31}}, FRAME_CFI);
	add(st, &(struct stack){180, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){200, 1, 0x1000, ROOT, {10, 20, 32}}, FRAME_CFI);
	add(st, &(struct stack){210, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){300, 1, 0x1000, ROOT, {10, 20, 33}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 1, ROOT, 2, IPS(10, 20, 32));
	assert_stack(&r, 3, ROOT, 2, IPS(10, 20, 32));
	stitcher_free(st);
}

/* One sight of an activation is believed for 20 ms; several for four times what lay between them.
 * Only 30's own caller counts: as long as 30 is not left, 20 is called by it. */
static void believes_the_farther_the_rarer(void **state)
{
	const uint64_t ms = 1000000, s = 1000 * ms;
	struct stitcher *st = begin(0);
	struct result r;

	(void)state;
	add(st, &(struct stack){s, 1, 0x1000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	add(st, &(struct stack){s + 20 * ms, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){s + 21 * ms, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 1, ROOT, 2, IPS(10, 20, 30, 40, 50));
	assert_stack(&r, 2, CUT, 2, IPS(10, 20));
	add(st, &(struct stack){9 * s, 1, 0x1000, ROOT, {10, 20, 31, 41, 50}}, FRAME_CFI);
	add(st, &(struct stack){9 * s + 30 * ms, 1, 0x1000, ROOT, {10, 20, 31, 41, 50}}, FRAME_CFI);
	add(st, &(struct stack){9 * s + 150 * ms, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){9 * s + 151 * ms, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 2, ROOT, 2, IPS(10, 20, 31, 41, 50));
	assert_stack(&r, 3, CUT, 2, IPS(10, 20));
	stitcher_free(st);
}

/* A sample that shows the caller's own caller gone ends what was seen before it; one that shows
 * only less of the stack does not. */
static void stops_at_what_contradicts(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	add(st, &(struct stack){110, 1, 0x1010, CUT, {21, 30}}, FRAME_CFI);
	add(st, &(struct stack){120, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);  /* 30 called again */
	add(st, &(struct stack){130, 1, 0x1030, ROOT, {41, 50}}, FRAME_CFI); /* 30 has returned */
	add(st, &(struct stack){140, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 1, ROOT, 2, IPS(21, 30, 40, 50));
	assert_stack(&r, 2, ROOT, 2, IPS(10, 20, 30, 40, 50));
	assert_stack(&r, 4, CUT, 2, IPS(10, 20));
	/* The other way round in time: before 90, 30 was not there. */
	add(st, &(struct stack){240, 1, 0x1000, CUT, {11, 22}}, FRAME_CFI);
	add(st, &(struct stack){250, 1, 0x1030, ROOT, {41, 50}}, FRAME_CFI);
	add(st, &(struct stack){260, 1, 0x1000, CUT, {11, 22}}, FRAME_CFI);
	add(st, &(struct stack){270, 1, 0x1000, ROOT, {11, 22, 30, 40, 50}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 0, CUT, 2, IPS(11, 22));
	assert_stack(&r, 2, ROOT, 2, IPS(11, 22, 30, 40, 50));
	stitcher_free(st);
}

/* Far more activations than are remembered; the outer frames, seen once at the beginning, are not
 * forgotten, because they have not ended. */
static void forgets_what_has_ended(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;
	unsigned i;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	add(st, &(struct stack){101, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st, &r);
	for (i = 0; i < 40000; i++) {
		add(st, &(struct stack){200 + i, 1, 0x1000, CUT, {10, 1000 + i, 30}}, FRAME_CFI);
		run(st, &r);
		assert_stack(&r, 0, ROOT, 3, IPS(10, 1000 + i, 30, 40, 50));
	}
	stitcher_free(st);
}

/* A recursion that never ends: each sample shows some more of it, none of it returns, and what was
 * learned first stays. Without a limit for what lives this would take hours: it would be gone
 * through for every sample. */
static void forgets_what_is_too_much(void **state)
{
	struct stitcher *st = begin(0);
	struct result r;
	unsigned i;

	(void)state;
	add(st, &(struct stack){100, 1, 0x40000000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	for (i = 0; i < 200000; i++) {
		add(st,
		    &(struct stack){101 + i,
				    1,
				    0x3fff0000 - 128 * (uint64_t)i,
				    CUT,
				    {1, 2, 3, 4, 5, 6, 7, 8}},
		    FRAME_CFI);
		run(st, &r);
	}
	add(st, &(struct stack){101 + i, 1, 0x40000010, CUT, {21, 30}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 0, ROOT, 2, IPS(21, 30, 40, 50));
	stitcher_free(st);
}

/* A stack gets no more frames than unwinding would have given it; what ends there says so. */
static void adds_up_to_the_limit(void **state)
{
	struct stitcher *st = begin_with((struct stitch_options){.max_frames = 3});
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, UNWIND_STOP_DEPTH, {10, 20, 30}}, FRAME_CFI);
	add(st, &(struct stack){101, 1, 0x1010, UNWIND_STOP_DEPTH, {21, 30, 40}}, FRAME_CFI);
	add(st, &(struct stack){102, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){103, 1, 0x1010, CUT, {21, 30}}, FRAME_CFI);
	add(st, &(struct stack){104, 1, 0x0ff0, CUT, {9, 11, 20}}, FRAME_CFI);
	add(st, &(struct stack){105, 1, 0x1030, ROOT, {41}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 2, UNWIND_STOP_DEPTH, 2, IPS(10, 20, 30));
	assert_stack(&r, 3, CUT, 2, IPS(21, 30, 40));
	assert_stack(&r, 4, UNWIND_STOP_DEPTH, 3, IPS(9, 11, 20));
	stitcher_free(st);
}

/* What must not be joined. */
static void keeps_apart(void **state)
{
	struct stitcher *st = begin(50);
	struct result r;

	(void)state;
	add(st, &(struct stack){100, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(st, &(struct stack){101, 2, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI); /* other thread */
	add(st, &(struct stack){102, 1, 0x2000, ROOT, {10, 20, 30}}, FRAME_CFI); /* other place */
	add(st, &(struct stack){103, 1, 0x1000, ROOT, {10, 20, 30}},
	    FRAME_FRAME_POINTER);						 /* a guess */
	add(st, &(struct stack){151, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI); /* too late */
	run(st, &r);
	assert_stack(&r, 0, CUT, 2, IPS(10, 20));
	/* A caller that is not above its callee comes from a reused stack. */
	add(st, &(struct stack){200, 1, 0x3010, CUT, {30}}, FRAME_CFI);
	add(st, &(struct stack){201, 1, 0x3000, ROOT, {20, 30}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 0, ROOT, 1, IPS(30));
	/* Samples without time cannot be near. */
	add(st, &(struct stack){0, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st, &r);
	assert_stack(&r, 0, CUT, 2, IPS(10, 20));
	stitcher_free(st);
}

static int stop_at_second(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	(void)traces;
	assert_int_equal(n, UNWIND_BATCH);
	++*(size_t *)arg;
	return i == UNWIND_BATCH ? 7 : 0;
}

static void passes_on_what_the_caller_says(void **state)
{
	struct stitcher *st = begin(0);
	size_t calls = 0, i;

	(void)state;
	for (i = 0; i < 3 * UNWIND_BATCH; i++)
		add(st, &(struct stack){100 + i, 1, 0x1000, ROOT, {10}}, FRAME_CFI);
	assert_int_equal(stitcher_run(st, stop_at_second, &calls), 7);
	assert_int_equal(calls, 2);
	assert_int_equal(stitcher_run(st, stop_at_second, &calls), 0);
	assert_int_equal(calls, 2);
	stitcher_free(st);
}

/* What all the stacks of a batch got is there while they are looked at, also when it is much. */
struct deep {
	unsigned calls, n_back;
};

enum { DEEP_FRAMES = 400, DEEP_STACKS = 2 * UNWIND_BATCH + 1 };

static int check_deep(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	struct deep *d = arg;
	size_t k, at;

	d->calls++;
	for (k = 0; k < n; k++, d->n_back++) {
		assert_int_equal(i + k, d->n_back);
		assert_int_equal(traces[k].stop, ROOT);
		assert_int_equal(traces[k].n, DEEP_FRAMES);
		for (at = 0; at < DEEP_FRAMES; at++)
			assert_int_equal(traces[k].frames[at].ip,
					 at ? 1000 + at : 10 * (i + k) + 10);
	}
	return 0;
}

/* All but the last are cut behind their second frame; the last is whole. */
static void gives_back_in_batches(void **state)
{
	static struct frame_place places[DEEP_FRAMES];
	static struct frame frames[DEEP_FRAMES];
	struct stitcher *st = begin(0);
	struct deep deep = {0};
	size_t i, at;

	(void)state;
	for (at = 0; at < DEEP_FRAMES; at++) {
		frames[at] = (struct frame){.ip = 1000 + at, .map = &map, .how = FRAME_CFI};
		places[at] = (struct frame_place){0x1000 + 16 * at, 5};
	}
	for (i = 0; i < DEEP_STACKS; i++) {
		struct perf_sample s = {.time_ns = 100 + i, .pid = 1, .tid = 1};
		struct stack_trace t = {.frames = frames, .places = places, .n = 2, .stop = CUT};

		frames[0].ip = 10 * i + 10;
		if (i == DEEP_STACKS - 1) {
			t.n = DEEP_FRAMES;
			t.stop = ROOT;
		}
		assert_int_equal(stitcher_add(st, &s, &t), 0);
	}
	assert_int_equal(stitcher_run(st, check_deep, &deep), 0);
	assert_int_equal(deep.calls, 3);
	assert_int_equal(deep.n_back, DEEP_STACKS);
	stitcher_free(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completes_from_both_sides),
		cmocka_unit_test(chains_and_remembers),
		cmocka_unit_test(believes_the_nearest),
		cmocka_unit_test(believes_the_farther_the_rarer),
		cmocka_unit_test(stops_at_what_contradicts),
		cmocka_unit_test(forgets_what_has_ended),
		cmocka_unit_test(forgets_what_is_too_much),
		cmocka_unit_test(adds_up_to_the_limit),
		cmocka_unit_test(keeps_apart),
		cmocka_unit_test(passes_on_what_the_caller_says),
		cmocka_unit_test(gives_back_in_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
