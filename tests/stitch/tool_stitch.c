/* tool_stitch.c - cuts the stack copies of a recording to a size, stitches, and compares with the
 * truth, the stacks of the whole copies.
 *
 *	tool_stitch BYTES PERF.DATA [DISTANCE_MS]
 *
 * One line: samples whose whole stack reaches a root; of these complete although cut; cut;
 * stitched to a root, exactly equal to the truth, wrong (a frame differs); stitched, but not to a
 * root, of these wrong; equal as far as the whole copy tells, which is not to the end (unknowable);
 * left as they are for lack of proof (doubtful). Samples are unwound and stitched per batch of the
 * file, as resolve does it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "stitch/stitch.h"

struct truth {
	size_t at, n, n_kernel;
	bool root;
};

struct check {
	VEC(struct truth) truths;
	VEC(uint64_t) ips;
	uint64_t whole, complete_when_cut, to_root, exact, wrong, unknowable, extended,
		extended_wrong;
};

static void check_trace(struct check *c, const struct truth *truth, const struct stack_trace *t)
{
	size_t n = t->n + (t->base ? t->base->depth : 0), k;
	bool stitched =
		t->base || (t->n > t->n_kernel && t->frames[t->n - 1].how == FRAME_STITCHED);
	const struct stack_base *b = t->base;
	bool same = true;

	for (k = 0; same && k < t->n && k < truth->n; k++)
		same = t->frames[k].ip == c->ips.v[truth->at + k];
	for (; same && b && k < truth->n; b = b->up, k++)
		same = b->frame.ip == c->ips.v[truth->at + k];
	same &= n <= truth->n || !truth->root;
	c->whole += truth->root;
	if (!stitched) {
		c->complete_when_cut += t->stop == UNWIND_STOP_END;
	} else if (same && n > truth->n) {
		c->unknowable++;
	} else if (t->stop != UNWIND_STOP_END) {
		c->extended++;
		c->extended_wrong += !same;
	} else {
		c->to_root++;
		if (same && n == truth->n && truth->root)
			c->exact++;
		else
			c->wrong++;
	}
}

/* The samples of one batch with small copies, and what was made of them. */
struct cut_batch {
	VEC(struct perf_sample) samples;
	VEC(const struct perf_sample *) order;
	VEC(struct stack_trace) traces;
	struct scratch room;
};

static void reserve(struct cut_batch *cut, size_t n)
{
	if (vec_reserve(&cut->samples, n) || vec_reserve(&cut->order, n) ||
	    vec_reserve(&cut->traces, n))
		abort();
	cut->samples.n = cut->order.n = cut->traces.n = 0;
	scratch_reset(&cut->room);
}

static void add(struct check *c, struct unwinder *u, struct cut_batch *cut,
		const struct perf_sample *s, uint32_t bytes)
{
	struct perf_sample *small = &cut->samples.v[cut->samples.n++];
	struct stack_trace t;
	size_t i;

	unwind_sample(u, s, &t);
	if (vec_push(&c->truths,
		     (struct truth){c->ips.n, t.n, t.n_kernel, t.stop == UNWIND_STOP_END}))
		abort();
	for (i = 0; i < t.n; i++)
		if (vec_push(&c->ips, t.frames[i].ip))
			abort();
	*small = *s;
	if (small->user_stack_bytes > bytes)
		small->user_stack_bytes = bytes;
	small->user_stack_asked = bytes;
	unwind_sample(u, small, &t);
	if (stack_traces_keep(&t, 1, &cut->room))
		abort();
	cut->order.v[cut->order.n++] = small;
	cut->traces.v[cut->traces.n++] = t;
}

int main(int argc, char **argv)
{
	uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct stitch_options so = {.max_distance_ns =
					    argc > 3 ? strtoull(argv[3], NULL, 10) * 1000000 : 0};
	struct unwind_options opt = {.places = true};
	struct check c = {0};
	struct cut_batch cut = {0};
	struct modules *modules;
	struct perf_batch *batch;
	struct stitcher *st;
	struct unwinder *u;
	struct perf_file *f;
	struct err err;
	size_t i;

	if (argc < 3 || perf_file_open(&f, argv[2], NULL, &err))
		return 2;
	opt.arch = perf_file_info(f)->arch;
	if (modules_new(&modules, NULL, &err) || unwinder_new(&u, modules, &opt, &err) ||
	    stitcher_new(&st, &so, &err))
		return 2;
	while (perf_file_read(f, &batch, &err) > 0) {
		c.truths.n = c.ips.n = 0;
		reserve(&cut, batch->n);
		for (i = 0; i < batch->n; i++)
			add(&c, u, &cut, &batch->samples[i], bytes);
		if (stitcher_run(st, cut.order.v, cut.traces.v, batch->n, &cut.room))
			abort();
		for (i = 0; i < batch->n; i++)
			check_trace(&c, &c.truths.v[i], &cut.traces.v[i]);
		perf_batch_release(f, batch);
	}
	printf("whole %" PRIu64 " complete_when_cut %" PRIu64 " cut %" PRIu64 " to_root %" PRIu64
	       " exact %" PRIu64 " wrong %" PRIu64 " unknowable %" PRIu64 " extended %" PRIu64
	       " extended_wrong %" PRIu64 " doubtful %" PRIu64 " frames %" PRIu64 "\n",
	       c.whole, c.complete_when_cut, stitcher_stats(st)->cut, c.to_root, c.exact, c.wrong,
	       c.unknowable, c.extended, c.extended_wrong, stitcher_stats(st)->doubtful,
	       stitcher_stats(st)->frames);
	vec_done(&c.truths);
	vec_done(&c.ips);
	vec_done(&cut.samples);
	vec_done(&cut.order);
	vec_done(&cut.traces);
	scratch_done(&cut.room);
	stitcher_free(st);
	unwinder_free(u);
	modules_free(modules);
	perf_file_close(f);
	return 0;
}
