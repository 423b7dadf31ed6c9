/* tool_stitch.c - cuts the stack copies of a recording to a size, stitches, and compares with the
 *truth, the stacks of the whole copies.
 *
 *	tool_stitch BYTES PERF.DATA [DISTANCE_MS]
 *
 * One line: samples whose whole stack reaches a root; of these cut, stitched to a root, exactly
 *equal to the truth, wrong (a frame differs), and samples that were stitched to a root but whose
 *own whole copy does not reach one (unknowable). Samples are unwound and stitched per batch of the
 *file, as resolve does it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "unwind/unwind.h"

struct truth {
	size_t at, n, n_kernel;
	bool root;
};

struct check {
	VEC(struct truth) truths;
	VEC(uint64_t) ips;
	uint64_t whole, complete_when_cut, to_root, exact, wrong, unknowable, prefix_wrong;
};

static void check_trace(struct check *c, const struct truth *truth, const struct stack_trace *t)
{
	bool stitched = t->n > t->n_kernel && t->frames[t->n - 1].how == FRAME_STITCHED;
	bool same = t->n <= truth->n;
	size_t k;

	for (k = 0; same && k < t->n; k++)
		same = t->frames[k].ip == c->ips.v[truth->at + k];
	c->whole += truth->root;
	if (!stitched) {
		c->complete_when_cut += t->stop == UNWIND_STOP_END;
		return;
	}
	if (!truth->root) {
		c->unknowable += t->stop == UNWIND_STOP_END;
		return;
	}
	if (t->stop != UNWIND_STOP_END) {
		c->prefix_wrong += !same;
		return;
	}
	c->to_root++;
	if (same && t->n == truth->n)
		c->exact++;
	else
		c->wrong++;
}

static int check_traces(void *arg, size_t i, const struct stack_trace *traces, size_t n)
{
	struct check *c = arg;
	size_t k;

	for (k = 0; k < n; k++)
		check_trace(c, &c->truths.v[i + k], &traces[k]);
	return 0;
}

static void add(struct check *c, struct unwinder *u, struct stitcher *st, struct perf_sample *s,
		uint32_t bytes)
{
	struct perf_sample cut = *s;
	struct stack_trace t;
	size_t i;

	unwind_sample(u, s, &t);
	if (vec_push(&c->truths,
		     (struct truth){c->ips.n, t.n, t.n_kernel, t.stop == UNWIND_STOP_END}))
		abort();
	for (i = 0; i < t.n; i++)
		if (vec_push(&c->ips, t.frames[i].ip))
			abort();
	if (cut.user_stack_bytes > bytes)
		cut.user_stack_bytes = bytes;
	cut.user_stack_asked = bytes;
	unwind_sample(u, &cut, &t);
	if (stitcher_add(st, &cut, &t))
		abort();
}

int main(int argc, char **argv)
{
	uint32_t bytes = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	struct stitch_options so = {.max_distance_ns =
					    argc > 3 ? strtoull(argv[3], NULL, 10) * 1000000 : 0};
	struct unwind_options opt = {.places = true};
	struct check c = {0};
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
		for (i = 0; i < batch->n; i++)
			add(&c, u, st, &batch->samples[i], bytes);
		if (stitcher_run(st, check_traces, &c))
			abort();
		perf_batch_release(f, batch);
	}
	printf("whole %" PRIu64 " complete_when_cut %" PRIu64 " cut %" PRIu64 " to_root %" PRIu64
	       " exact %" PRIu64 " wrong %" PRIu64 " unknowable %" PRIu64 " extended %" PRIu64
	       " extended_wrong %" PRIu64 " frames %" PRIu64 "\n",
	       c.whole, c.complete_when_cut, stitcher_stats(st)->cut, c.to_root, c.exact, c.wrong,
	       c.unknowable, stitcher_stats(st)->extended, c.prefix_wrong,
	       stitcher_stats(st)->frames);
	vec_done(&c.truths);
	vec_done(&c.ips);
	stitcher_free(st);
	unwinder_free(u);
	modules_free(modules);
	perf_file_close(f);
	return 0;
}
