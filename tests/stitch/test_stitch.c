/* test_stitch.c - stitching of made-up stacks, where who called whom is known; on recordings cut
 * here against their uncut truth by test_stitch_cut.py. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unhash.h"
#include "stitch/stitch.h"

static const struct map map = {.id = 1};

/* A stack of up to 8 frames; ip 0 ends it. Places: sp rises by 16 from `sp`. */
struct stack {
	uint64_t time_ns;
	uint32_t tid;
	uint64_t sp;
	enum unwind_stop stop;
	uint64_t ips[8];
};

/* The stacks of one batch, as unwinding leaves them. */
enum { STACKS_MAX = 24, FRAMES_MAX = 1200, WORDS_MAX = 16 };

struct batch {
	size_t n;
	struct perf_sample samples[STACKS_MAX];
	const struct perf_sample *order[STACKS_MAX];
	struct stack_trace traces[STACKS_MAX];
	struct frame frames[STACKS_MAX][8];
	struct frame_place places[STACKS_MAX][8];
	uint64_t memory[STACKS_MAX][WORDS_MAX];
	struct scratch room;
};

#define IPS(...)               \
	(const uint64_t[])     \
	{                      \
		__VA_ARGS__, 0 \
	}

static struct batch batch; /* emptied by the first add() after a run() */
static bool batch_is_done;

static void batch_begin(void)
{
	if (batch_is_done)
		batch.n = 0;
	batch_is_done = false;
	assert_true(batch.n < STACKS_MAX);
}

static void add(const struct stack *k, enum frame_how how)
{
	struct stack_trace *t;
	size_t at, i;

	batch_begin();
	at = batch.n++;
	batch.samples[at] = (struct perf_sample){.time_ns = k->time_ns, .pid = 1, .tid = k->tid};
	batch.order[at] = &batch.samples[at];
	t = &batch.traces[at];
	*t = (struct stack_trace){
		.frames = batch.frames[at], .places = batch.places[at], .stop = k->stop};
	for (i = 0; i < 8 && k->ips[i]; i++) {
		t->frames[i] = (struct frame){.ip = k->ips[i], .map = &map, .how = (uint8_t)how};
		batch.places[at][i] = (struct frame_place){k->sp + 16 * i, 5};
	}
	t->n = i;
}

/* With memory: each frame has two words of it; where they end, the copy does. */
static void add_with(const struct stack *k, const uint64_t *words)
{
	size_t i;

	add(k, FRAME_CFI);
	for (i = 0; i < WORDS_MAX && words[i]; i++)
		batch.memory[batch.n - 1][i] = words[i];
	batch.samples[batch.n - 1].user_stack = (const uint8_t *)batch.memory[batch.n - 1];
	batch.samples[batch.n - 1].user_stack_bytes = (uint32_t)(i * sizeof *words);
}

static int try_run(struct stitcher *st)
{
	batch_is_done = true;
	scratch_reset(&batch.room);
	return stitcher_run(st, batch.order, batch.traces, batch.n, &batch.room);
}

static void run(struct stitcher *st)
{
	assert_int_equal(try_run(st), 0);
}

static void end(struct stitcher *st)
{
	stitcher_free(st);
	scratch_done(&batch.room);
}

/* All frames of a stack, those of its base behind its own. */
static size_t flatten(const struct stack_trace *t, struct frame *ret)
{
	const struct stack_base *b = t->base;
	size_t n;

	for (n = 0; n < t->n; n++)
		ret[n] = t->frames[n];
	for (; b; b = b->up) {
		assert_int_equal(b->depth, 1 + (b->up ? b->up->depth : 0));
		assert_int_equal(b->frame.how, FRAME_STITCHED);
		assert_true(n < FRAMES_MAX);
		ret[n++] = b->frame;
	}
	return n;
}

static void assert_stack(size_t i, enum unwind_stop stop, size_t n_own, const uint64_t *ips)
{
	struct frame frames[FRAMES_MAX];
	size_t n = flatten(&batch.traces[i], frames), k;

	assert_int_equal(batch.traces[i].stop, stop);
	for (k = 0; ips[k]; k++) {
		assert_true(k < n);
		assert_int_equal(frames[k].ip, ips[k]);
		assert_int_equal(frames[k].how == FRAME_STITCHED, k >= n_own);
	}
	assert_int_equal(n, k);
}

#define WORDS IPS
#define CUT   UNWIND_STOP_TRUNCATED_STACK
#define ROOT  UNWIND_STOP_END

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

/* From a sample before and from one after; order and uncut stacks stay as they are. */
static void completes_from_both_sides(void **state)
{
	struct stitcher *st = begin(0);

	(void)state;
	add(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40}}, FRAME_CFI);
	add(&(struct stack){200, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	/* 51 is in the same place as 20, but only later is it seen who called it. */
	add(&(struct stack){300, 1, 0x1000, CUT, {50, 51}}, FRAME_CFI);
	add(&(struct stack){400, 1, 0x1000, ROOT, {52, 51, 60}}, FRAME_CFI);
	run(st);
	assert_stack(0, ROOT, 4, IPS(10, 20, 30, 40));
	assert_stack(1, ROOT, 2, IPS(10, 20, 30, 40));
	assert_stack(2, ROOT, 2, IPS(50, 51, 60));
	assert_stack(3, ROOT, 3, IPS(52, 51, 60));
	assert_int_equal(stitcher_stats(st)->cut, 2);
	assert_int_equal(stitcher_stats(st)->to_root, 2);
	assert_int_equal(stitcher_stats(st)->frames, 3);
	end(st);
}

/* Without places, without a time, with kernel frames only: such stacks stay as they are, and tell
 * nothing of others, cut or not. */
static void leaves_alone_what_shows_nothing(void **state)
{
	const struct stack whole = {100, 1, 0x1000, ROOT, {10, 20, 30}},
			   cut = {200, 1, 0x1000, CUT, {10, 20}},
			   other = {100, 1, 0x2000, ROOT, {11, 21, 31}},
			   other_cut = {200, 1, 0x2000, CUT, {11, 21}},
			   no_time = {0, 1, 0x1000, CUT, {10, 20}};
	struct stitcher *st = begin(0);
	size_t i;

	(void)state;
	add(&whole, FRAME_CFI);
	add(&cut, FRAME_CFI);
	add(&cut, FRAME_CFI);
	batch.traces[2].places = NULL;
	add(&no_time, FRAME_CFI);
	add(&cut, FRAME_CFI);
	batch.traces[4].n_kernel = 2;
	add(&other, FRAME_CFI);
	batch.traces[5].places = NULL;
	add(&other_cut, FRAME_CFI);
	run(st);
	assert_stack(1, ROOT, 2, IPS(10, 20, 30));
	for (i = 2; i < 5; i++)
		assert_stack(i, CUT, 2, IPS(10, 20));
	assert_stack(6, CUT, 2, IPS(11, 21));
	assert_int_equal(stitcher_stats(st)->cut, 2);
	end(st);
}

/* Two halves that were never seen together are joined through a cut stack; without a root it stays
 * cut. Earlier batches count. */
static void chains_and_remembers(void **state)
{
	struct stitcher *st = begin(0);

	(void)state;
	add(&(struct stack){100, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(&(struct stack){110, 1, 0x1000, CUT, {11, 20, 30}}, FRAME_CFI);
	run(st);
	assert_stack(0, CUT, 2, IPS(10, 20, 30));
	assert_stack(1, CUT, 3, IPS(11, 20, 30));
	add(&(struct stack){120, 1, 0x1010, ROOT, {21, 30, 40}}, FRAME_CFI);
	add(&(struct stack){130, 1, 0x1000, CUT, {11, 20}}, FRAME_CFI);
	run(st);
	assert_stack(1, ROOT, 2, IPS(11, 20, 30, 40));
	assert_int_equal(stitcher_stats(st)->extended, 1);
	end(st);
}

/* Equal memory in the frame where a stack was cut makes it the same activation, however far away in
 * time; the words that only one of the two has do not count. */
static void believes_what_is_equal(void **state)
{
	const uint64_t s = 1000000000;
	struct stitcher *st = begin(0);

	(void)state;
	add_with(&(struct stack){s, 1, 0x1000, ROOT, {10, 20, 31}}, WORDS(1, 1, 7, 1, 9, 9));
	add_with(&(struct stack){5 * s, 1, 0x1000, ROOT, {10, 20, 32}}, WORDS(1, 1, 7, 2, 8, 8));
	add_with(&(struct stack){5 * s + 1, 1, 0x1000, CUT, {10, 20}}, WORDS(2, 2, 7, 1));
	add_with(&(struct stack){5 * s + 2, 1, 0x1000, CUT, {11, 20}}, WORDS(2, 2, 7, 2));
	add_with(&(struct stack){5 * s + 3, 1, 0x1000, CUT, {11, 20}}, WORDS(2, 2, 7, 3));
	run(st);
	assert_stack(2, ROOT, 2, IPS(10, 20, 31));
	assert_stack(3, ROOT, 2, IPS(11, 20, 32));
	assert_stack(4, CUT, 2, IPS(11, 20)); /* not equal, and 31 and 32 were both callers */
	assert_int_equal(stitcher_stats(st)->doubtful, 1);
	/* Also when there is nothing but what was kept of that batch. */
	add_with(&(struct stack){9 * s, 1, 0x1000, CUT, {12, 20}}, WORDS(3, 3, 7, 3));
	add_with(&(struct stack){9 * s, 1, 0x1000, CUT, {12, 20}}, WORDS(3, 3, 7, 2));
	run(st);
	assert_stack(0, CUT, 2, IPS(12, 20));
	assert_stack(1, ROOT, 2, IPS(12, 20, 32));
	end(st);
}

/* A frame that is not equal is believed for 20 ms, if a third of it is; between two occurrences for
 * 100, if half of it is; and never when the nearest occurrences show different callers. */
static void believes_what_is_near(void **state)
{
	const uint64_t ms = 1000000;
	struct stitcher *st = begin(0);

	(void)state;
	add_with(&(struct stack){100 * ms, 1, 0x1000, ROOT, {10, 20, 30}}, WORDS(1, 1, 7, 7, 7, 7));
	add_with(&(struct stack){120 * ms, 1, 0x1000, CUT, {10, 20}}, WORDS(1, 1, 7, 8, 8));
	add_with(&(struct stack){121 * ms, 1, 0x1000, CUT, {10, 20}}, WORDS(1, 1, 7, 8, 8));
	add_with(&(struct stack){110 * ms, 1, 0x1000, CUT, {10, 20}}, WORDS(1, 1, 8, 8, 8));
	run(st);
	assert_stack(1, ROOT, 2, IPS(10, 20, 30));
	assert_stack(2, CUT, 2, IPS(10, 20));
	assert_stack(3, CUT, 2, IPS(10, 20));
	assert_int_equal(stitcher_stats(st)->doubtful, 2);
	add_with(&(struct stack){1000 * ms, 1, 0x1000, ROOT, {10, 21, 30}}, WORDS(1, 1, 7, 7));
	add_with(&(struct stack){1050 * ms, 1, 0x1000, CUT, {10, 21}}, WORDS(1, 1, 7, 8));
	add_with(&(struct stack){1099 * ms, 1, 0x1000, ROOT, {10, 21, 30}}, WORDS(1, 1, 7, 7));
	add_with(&(struct stack){1150 * ms, 1, 0x1000, CUT, {10, 21}}, WORDS(1, 1, 7, 8));
	add_with(&(struct stack){1251 * ms, 1, 0x1000, ROOT, {10, 21, 30}}, WORDS(1, 1, 7, 7));
	run(st);
	assert_stack(1, ROOT, 2, IPS(10, 21, 30));
	assert_stack(3, CUT, 2, IPS(10, 21));
	add_with(&(struct stack){2000 * ms, 1, 0x1000, ROOT, {10, 22, 30}}, WORDS(1, 1, 7, 7));
	add_with(&(struct stack){2001 * ms, 1, 0x1000, CUT, {10, 22}}, WORDS(1, 1, 7, 8));
	add_with(&(struct stack){2002 * ms, 1, 0x1000, ROOT, {10, 22, 31}}, WORDS(1, 1, 7, 7));
	run(st);
	assert_stack(1, CUT, 2, IPS(10, 22));
	end(st);
}

/* A recursion: all frames stand at the same places, called by 40 or by 41, which only few samples
 * reach. The chain goes on from one cut stack to the next, each step by equal memory. */
static void follows_one_recursion(void **state)
{
	const uint64_t s = 1000000000;
	struct stitcher *st = begin(0);

	(void)state;
	add_with(&(struct stack){100, 1, 0x1020, ROOT, {30, 30, 40}}, WORDS(5, 5, 1, 1, 9, 9));
	add_with(&(struct stack){200, 1, 0x1010, CUT, {20, 30, 30}}, WORDS(4, 4, 5, 5, 1, 1, 9, 9));
	add_with(&(struct stack){300, 1, 0x1020, ROOT, {30, 30, 41}}, WORDS(6, 6, 2, 2, 8, 8));
	add_with(&(struct stack){400, 1, 0x1010, CUT, {20, 30, 30}}, WORDS(4, 4, 6, 6, 2, 2, 8, 8));
	add_with(&(struct stack){500, 1, 0x1000, CUT, {10, 20, 30}}, WORDS(3, 3, 4, 4, 5, 5, 1, 1));
	add_with(&(struct stack){600, 1, 0x1000, CUT, {10, 20, 30}}, WORDS(3, 3, 4, 4, 6, 6, 2, 2));
	run(st);
	assert_stack(1, ROOT, 3, IPS(20, 30, 30, 40));
	assert_stack(3, ROOT, 3, IPS(20, 30, 30, 41));
	assert_stack(4, ROOT, 3, IPS(10, 20, 30, 30, 40));
	assert_stack(5, ROOT, 3, IPS(10, 20, 30, 30, 41));
	/* Few equal words are no proof here, nor is it that nothing says otherwise. */
	add_with(&(struct stack){s, 1, 0x1020, ROOT, {30, 33, 33, 40}}, WORDS(5, 5, 1, 1, 9, 9));
	add_with(&(struct stack){s + 1, 1, 0x1010, CUT, {20, 30, 33}}, WORDS(4, 4, 5, 5, 1, 1));
	add_with(&(struct stack){s + 2, 1, 0x1010, CUT, {20, 30, 33}}, WORDS(4, 4, 5, 5, 1, 1, 9));
	add_with(&(struct stack){s + 3, 1, 0x1010, CUT, {20, 30, 33}},
		 WORDS(4, 4, 5, 5, 1, 1, 9, 9));
	run(st);
	assert_stack(1, CUT, 3, IPS(20, 30, 33));
	assert_stack(2, CUT, 3, IPS(20, 30, 33));
	assert_stack(3, ROOT, 3, IPS(20, 30, 33, 33, 40));
	end(st);
}

/* A stack of which the second frame has 1,000 bytes. */
static void add_large(const struct stack *k, const uint64_t *words)
{
	size_t i;

	add_with(k, words);
	for (i = 2; i < 8; i++)
		batch.places[batch.n - 1][i].sp += 1000;
}

/* The lowest words of a large frame, which are seldom written, are equal in two activations of a
 * recursion with other callers: what else there is of the frame decides, or that all say the same.
 */
static void looks_at_all_of_a_large_frame(void **state)
{
	const uint64_t s = 1000000000;
	struct stitcher *st = begin(0);

	(void)state;
	add_large(&(struct stack){100, 1, 0x1000, ROOT, {20, 30, 30, 40}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 1, 9));
	add_large(&(struct stack){200, 1, 0x1000, ROOT, {20, 30, 30, 41}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 2, 9));
	add_large(&(struct stack){300, 1, 0x1000, CUT, {20, 30}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 3));
	add_large(&(struct stack){400, 1, 0x1000, CUT, {20, 30}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 1));
	add_large(&(struct stack){s, 2, 0x1000, ROOT, {20, 30, 30, 40}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 1, 9));
	add_large(&(struct stack){s + 1, 2, 0x1000, CUT, {20, 30}},
		  WORDS(4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 2));
	add_large(&(struct stack){s + 2, 2, 0x1000, CUT, {20, 30}}, WORDS(4, 4, 5, 5, 5, 5));
	run(st);
	assert_stack(2, CUT, 2, IPS(20, 30));
	assert_stack(3, ROOT, 2, IPS(20, 30, 30, 40));
	assert_stack(5, ROOT, 2, IPS(20, 30, 30, 40));
	assert_stack(6, CUT, 2, IPS(20, 30));
	end(st);
}

/* Far more activations than are remembered; the outer frames, seen once at the beginning, are not
 * forgotten, because they have not ended. */
static void forgets_what_has_ended(void **state)
{
	struct stitcher *st = begin(0);
	unsigned i;

	(void)state;
	add(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	add(&(struct stack){101, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st);
	for (i = 0; i < 40000; i++) {
		add(&(struct stack){200 + i, 1, 0x1000, CUT, {10, 1000 + i, 30}}, FRAME_CFI);
		run(st);
		assert_stack(0, ROOT, 3, IPS(10, 1000 + i, 30, 40, 50));
	}
	end(st);
}

/* What becomes of a thread does not depend on whether others had it forgotten meanwhile. */
static void begins_anew_after_a_long_pause(void **state)
{
	const uint64_t late = 2 * STITCH_DISTANCE_NS;
	bool others;

	(void)state;
	for (others = false;; others = true) {
		struct stitcher *st = begin(0);

		add(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI);
		add(&(struct stack){101, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
		run(st);
		assert_stack(1, ROOT, 2, IPS(10, 20, 30));
		if (others) {
			add(&(struct stack){late - 1, 2, 0x1000, CUT, {10, 20}}, FRAME_CFI);
			run(st);
		}
		add(&(struct stack){late, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI);
		run(st);
		add(&(struct stack){late + 1, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
		run(st);
		assert_stack(0, CUT, 2, IPS(10, 20));
		add(&(struct stack){late + 2, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI);
		run(st);
		add(&(struct stack){late + 3, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
		run(st);
		assert_stack(0, ROOT, 2, IPS(10, 20, 30));
		end(st);
		if (others)
			break;
	}
}

/* A batch that begins before the largest distance is over and ends behind it: the thread was seen
 * in between. */
static void is_seen_all_through_a_batch(void **state)
{
	const uint64_t far = STITCH_DISTANCE_NS;
	struct stitcher *st = begin(0);

	(void)state;
	add_with(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30}}, WORDS(1, 1, 7, 7, 9, 9));
	add_with(&(struct stack){101, 1, 0x1000, CUT, {10, 20}}, WORDS(1, 1, 7, 7));
	run(st);
	add_with(&(struct stack){far, 1, 0x1000, ROOT, {10, 20, 30}}, WORDS(1, 1, 7, 7, 9, 9));
	add_with(&(struct stack){far + 200, 1, 0x1000, ROOT, {10, 20, 30}},
		 WORDS(1, 1, 7, 7, 9, 9));
	run(st);
	add_with(&(struct stack){2 * far + 100, 1, 0x1000, CUT, {10, 20}}, WORDS(1, 1, 7, 7));
	run(st);
	assert_stack(0, ROOT, 2, IPS(10, 20, 30));
	end(st);
}

/* Threads that come and go, one every millisecond. All that ever were would be gone through in each
 * batch, which takes many minutes. */
static void forgets_threads_that_have_ended(void **state)
{
	const uint64_t ms = 1000000;
	struct stitcher *st = begin(0);
	uint32_t i;

	(void)state;
	assert_int_equal(end_after_a_minute(), 0);
	for (i = 1; i < 500000; i++) {
		add(&(struct stack){i * ms, i, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI);
		add(&(struct stack){i * ms + 1, i, 0x1000, CUT, {10, 20}}, FRAME_CFI);
		run(st);
		assert_stack(1, ROOT, 2, IPS(10, 20, 30));
	}
	end(st);
}

/* What comes behind the end of a thread is of another one. The others stay. */
static void hears_of_ends(void **state)
{
	struct stitcher *st = begin(0);
	uint32_t tid;

	(void)state;
	for (tid = 1; tid <= 6; tid++) {
		add(&(struct stack){100 + tid, tid, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI);
		add(&(struct stack){110 + tid, tid, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	}
	run(st);
	stitcher_end(st, 1, 2);
	stitcher_end(st, 1, 6);
	stitcher_end(st, 1, 6);
	stitcher_end(st, 2, 1);
	for (tid = 1; tid <= 6; tid++)
		add(&(struct stack){120 + tid, tid, 0x1000, CUT, {11, 20}}, FRAME_CFI);
	run(st);
	for (tid = 1; tid <= 6; tid++)
		if (tid == 2 || tid == 6)
			assert_stack(tid - 1, CUT, 2, IPS(11, 20));
		else
			assert_stack(tid - 1, ROOT, 2, IPS(11, 20, 30));
	end(st);
}

/* A map that is gone when its batch is: what was learned tells it all the same, and the map that
 * has its memory now is another one. */
static void remembers_maps_that_are_gone(void **state)
{
	static const struct dso dsos[3];
	struct map maps[3] = {{.id = 5, .dso = &dsos[0]}, {.id = 6, .dso = &dsos[1]}};
	struct stitcher *st = begin(0);
	const struct stack_base *b;
	unsigned round, k;

	(void)state;
	add(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40}}, FRAME_CFI);
	for (k = 0; k < 4; k++)
		batch.traces[0].frames[k].map = &maps[k > 2];
	add(&(struct stack){110, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	batch.traces[1].frames[1].map = &maps[0];
	run(st);
	assert_stack(1, ROOT, 2, IPS(10, 20, 30, 40));
	for (round = 0; round < 5; round++) {
		maps[1] = (struct map){.id = 100 + round, .dso = &dsos[2]};
		add(&(struct stack){120 + round, 1, 0x1000, CUT, {11, 20}}, FRAME_CFI);
		batch.traces[0].frames[1].map = &maps[0];
		run(st);
		assert_stack(0, ROOT, 2, IPS(11, 20, 30, 40));
		b = batch.traces[0].base;
		assert_int_equal(b->frame.map->id, 5);
		assert_int_equal(b->up->frame.map->id, 6);
		assert_ptr_equal(b->up->frame.map->dso, &dsos[1]);
	}
	/* The frame that was cut is in another map. */
	maps[0].id = 7;
	add(&(struct stack){130, 1, 0x1000, CUT, {11, 20}}, FRAME_CFI);
	batch.traces[0].frames[1].map = &maps[0];
	run(st);
	assert_stack(0, CUT, 2, IPS(11, 20));
	end(st);
}

/* A recursion that never ends: each sample shows some more of it, none of it returns, and what was
 * learned first stays. Without a limit for what lives this would take hours: it would be gone
 * through for every sample. */
static void forgets_what_is_too_much(void **state)
{
	struct stitcher *st = begin(0);
	unsigned i;

	(void)state;
	add(&(struct stack){100, 1, 0x40000000, ROOT, {10, 20, 30, 40, 50}}, FRAME_CFI);
	for (i = 0; i < 200000; i++) {
		add(&(struct stack){101 + i,
				    1,
				    0x3fff0000 - 128 * (uint64_t)i,
				    CUT,
				    {1, 2, 3, 4, 5, 6, 7, 8}},
		    FRAME_CFI);
		run(st);
	}
	add(&(struct stack){101 + i, 1, 0x40000010, CUT, {21, 30}}, FRAME_CFI);
	run(st);
	assert_stack(0, ROOT, 2, IPS(21, 30, 40, 50));
	end(st);
}

/* A stack gets no more frames than unwinding would have given it; what ends there says so. */
static void adds_up_to_the_limit(void **state)
{
	struct stitcher *st = begin_with((struct stitch_options){.max_frames = 3});

	(void)state;
	add(&(struct stack){100, 1, 0x1000, CUT, {10, 20, 30}}, FRAME_CFI);
	add(&(struct stack){101, 1, 0x1010, CUT, {21, 30, 40}}, FRAME_CFI);
	add(&(struct stack){102, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(&(struct stack){103, 1, 0x1010, CUT, {21, 30}}, FRAME_CFI);
	add(&(struct stack){104, 1, 0x0ff0, CUT, {9, 11, 20}}, FRAME_CFI);
	add(&(struct stack){105, 1, 0x1030, ROOT, {41}}, FRAME_CFI);
	run(st);
	assert_stack(2, UNWIND_STOP_DEPTH, 2, IPS(10, 20, 30));
	assert_stack(3, CUT, 2, IPS(21, 30, 40));
	assert_stack(4, UNWIND_STOP_DEPTH, 3, IPS(9, 11, 20));
	end(st);
}

/* What must not be joined. */
static void keeps_apart(void **state)
{
	struct stitcher *st = begin(50);

	(void)state;
	add(&(struct stack){100, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	add(&(struct stack){101, 2, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI); /* other thread */
	add(&(struct stack){102, 1, 0x2000, ROOT, {10, 20, 30}}, FRAME_CFI); /* other place */
	add(&(struct stack){103, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_FRAME_POINTER); /* a guess */
	add(&(struct stack){151, 1, 0x1000, ROOT, {10, 20, 30}}, FRAME_CFI); /* too late */
	run(st);
	assert_stack(0, CUT, 2, IPS(10, 20));
	/* Where another stack ends nothing is missing; a sample's own address was not called. */
	add(&(struct stack){200, 1, 0x3000, CUT, {19, 30}}, FRAME_CFI);
	add(&(struct stack){201, 1, 0x3000, ROOT, {20, 30}}, FRAME_CFI);
	add(&(struct stack){202, 1, 0x3010, CUT, {30}}, FRAME_CFI);
	run(st);
	assert_stack(0, ROOT, 2, IPS(19, 30));
	assert_stack(2, CUT, 1, IPS(30));
	/* Samples without time cannot be near. */
	add(&(struct stack){0, 1, 0x1000, CUT, {10, 20}}, FRAME_CFI);
	run(st);
	assert_stack(0, CUT, 2, IPS(10, 20));
	end(st);
}

/* What tells of a time before a pause counts there, also if the batch goes on after it. */
static void pauses_inside_a_batch(void **state)
{
	const uint64_t s = 1000000000;
	struct stitcher *st = begin(0);

	(void)state;
	add(&(struct stack){100, 1, 0x1000, ROOT, {10, 20, 30, 40}}, FRAME_CFI);
	add(&(struct stack){101, 1, 0x1000, CUT, {11, 20}}, FRAME_CFI);
	add(&(struct stack){11 * s, 1, 0x1000, CUT, {12, 20}}, FRAME_CFI);
	add(&(struct stack){11 * s + 1, 1, 0x1000, ROOT, {10, 20, 31}}, FRAME_CFI);
	run(st);
	assert_stack(1, ROOT, 2, IPS(11, 20, 30, 40));
	assert_stack(2, ROOT, 2, IPS(12, 20, 31));
	end(st);
}

enum { DEEP_FRAMES = 400, DEEP_STACKS = 20 };

/* All but the last are cut behind their second frame; the last is whole. The frames that they have
 * in common are there only once. */
static void shares_bases(void **state)
{
	static struct frame_place places[DEEP_FRAMES];
	static struct frame deep[DEEP_FRAMES], frames[FRAMES_MAX];
	struct stitcher *st = begin(0);
	size_t i, at;

	(void)state;
	for (at = 0; at < DEEP_FRAMES; at++) {
		deep[at] = (struct frame){.ip = 1000 + at, .map = &map, .how = FRAME_CFI};
		places[at] = (struct frame_place){0x1000 + 16 * at, 5};
	}
	for (i = 0; i < DEEP_STACKS; i++)
		add(&(struct stack){100 + i, 1, 0x1000, CUT, {10 * i + 10, 1001}}, FRAME_CFI);
	batch.traces[i - 1] = (struct stack_trace){
		.frames = deep, .places = places, .n = DEEP_FRAMES, .stop = ROOT};
	run(st);
	for (i = 0; i < DEEP_STACKS - 1; i++) {
		const struct stack_trace *t = &batch.traces[i];

		assert_int_equal(t->stop, ROOT);
		assert_ptr_equal(t->base, batch.traces[0].base);
		assert_int_equal(flatten(t, frames), DEEP_FRAMES);
		for (at = 0; at < DEEP_FRAMES; at++)
			assert_int_equal(frames[at].ip, at ? 1000 + at : 10 * i + 10);
	}
	assert_null(batch.traces[i].base);
	assert_int_equal(stitcher_stats(st)->frames, (DEEP_STACKS - 1) * (DEEP_FRAMES - 2));
	end(st);
}

/* The caller of 30 is known from another sample than that of 20, and by which depends on what the
 * frame of 30 has in it: what was made for one stack is not taken for the other. */
static void shares_no_more_than_is_equal(void **state)
{
	const uint64_t ms = 1000000;
	struct stitcher *st = begin(0);

	(void)state;
	add_with(&(struct stack){100 * ms, 1, 0x1010, ROOT, {20, 30, 40, 50}}, WORDS(1, 1, 5, 5));
	add_with(&(struct stack){101 * ms, 1, 0x1000, CUT, {10, 20, 30}}, WORDS(2, 2, 1, 1, 5));
	add_with(&(struct stack){102 * ms, 1, 0x1000, CUT, {11, 20}}, WORDS(2, 2, 1, 1, 5));
	add_with(&(struct stack){104 * ms, 1, 0x1010, ROOT, {20, 30, 41, 51}}, WORDS(1, 1, 6, 6));
	add_with(&(struct stack){105 * ms, 1, 0x1000, CUT, {10, 20, 30}}, WORDS(2, 2, 1, 1, 6));
	add_with(&(struct stack){106 * ms, 1, 0x1000, CUT, {11, 20}}, WORDS(2, 2, 1, 1, 6));
	run(st);
	assert_stack(1, ROOT, 3, IPS(10, 20, 30, 40, 50));
	assert_stack(2, ROOT, 2, IPS(11, 20, 30, 40, 50));
	assert_stack(4, ROOT, 3, IPS(10, 20, 30, 41, 51));
	assert_stack(5, ROOT, 2, IPS(11, 20, 30, 41, 51));
	end(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(completes_from_both_sides),
		cmocka_unit_test(leaves_alone_what_shows_nothing),
		cmocka_unit_test(chains_and_remembers),
		cmocka_unit_test(believes_what_is_equal),
		cmocka_unit_test(believes_what_is_near),
		cmocka_unit_test(follows_one_recursion),
		cmocka_unit_test(looks_at_all_of_a_large_frame),
		cmocka_unit_test(forgets_what_has_ended),
		cmocka_unit_test(forgets_what_is_too_much),
		cmocka_unit_test(begins_anew_after_a_long_pause),
		cmocka_unit_test(is_seen_all_through_a_batch),
		cmocka_unit_test(forgets_threads_that_have_ended),
		cmocka_unit_test(hears_of_ends),
		cmocka_unit_test(remembers_maps_that_are_gone),
		cmocka_unit_test(adds_up_to_the_limit),
		cmocka_unit_test(keeps_apart),
		cmocka_unit_test(pauses_inside_a_batch),
		cmocka_unit_test(shares_bases),
		cmocka_unit_test(shares_no_more_than_is_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
