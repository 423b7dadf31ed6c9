/* tool_cfi_bench.c - time per frame of our tables and of plain libdw on the same samples, side by
 *side.
 *
 *	tool_cfi_bench [-n PASSES] [-o] PERF.DATA...
 *
 * cold: first pass, with everything that is made at first use. hot: the fastest of PASSES later
 * passes over all samples (of at most 3 batches of the file). Frames are user frames. -o: our own
 * tables only, for profilers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind/unwind.h"

#define BATCHES_MAX 3

struct side {
	const char *name;
	enum unwind_method method;
	uint64_t frames;
	double cold_s, hot_s;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double pass(struct unwinder *u, struct perf_batch **batches, unsigned n, uint64_t *frames)
{
	const struct perf_sample *group[UNWIND_BATCH];
	struct stack_trace t[UNWIND_BATCH];
	double start = now_s();
	size_t i, k, size;
	unsigned b;

	*frames = 0;
	for (b = 0; b < n; b++)
		for (i = 0; i < batches[b]->n; i += size) {
			for (size = 0; size < UNWIND_BATCH && i + size < batches[b]->n; size++)
				group[size] = &batches[b]->samples[i + size];
			unwind_samples(u, group, size, t);
			for (k = 0; k < size; k++)
				*frames += t[k].n - t[k].n_kernel;
		}
	return now_s() - start;
}

static void side_run(struct side *side, struct perf_batch **batches, unsigned n, const char *arch,
		     unsigned passes)
{
	struct unwind_options opt = {.method = side->method, .arch = arch};
	struct modules *modules;
	struct unwinder *u;
	unsigned i;
	double t;

	if (modules_new(&modules, NULL, NULL) || unwinder_new(&u, modules, &opt, NULL))
		abort();
	side->cold_s = pass(u, batches, n, &side->frames);
	side->hot_s = 1e9;
	for (i = 0; i < passes; i++) {
		t = pass(u, batches, n, &side->frames);
		side->hot_s = t < side->hot_s ? t : side->hot_s;
	}
	unwinder_free(u);
	modules_free(modules);
}

static int bench_file(const char *path, unsigned passes, unsigned n_sides)
{
	struct side own = {.name = "own", .method = UNWIND_AUTO};
	struct side libdw = {.name = "libdw", .method = UNWIND_LIBDW};
	struct side *const sides[] = {&own, &libdw};
	struct perf_batch *batches[BATCHES_MAX];
	struct perf_file *f;
	struct err err;
	unsigned n = 0, i;
	size_t samples = 0;
	char text[1024];

	if (perf_file_open(&f, path, NULL, &err)) {
		err_format(&err, text, sizeof text);
		printf("%s\n", text);
		return 2;
	}
	while (n < BATCHES_MAX && perf_file_read(f, &batches[n], &err) > 0)
		samples += batches[n++]->n;
	printf("%s: %zu samples\n", path, samples);
	for (i = 0; i < n_sides; i++) {
		struct side *s = sides[i];

		side_run(s, batches, n, perf_file_info(f)->arch, s == &own ? passes * 10 : passes);
		printf("  %-6s %8" PRIu64
		       " frames  cold %8.2f ms  hot %7.1f ns/frame %8.0f ns/sample\n",
		       s->name, s->frames, s->cold_s * 1e3,
		       s->hot_s * 1e9 / (double)(s->frames + !s->frames),
		       s->hot_s * 1e9 / (double)(samples + !samples));
	}
	if (n_sides == 2)
		printf("  libdw / own: cold %.1f x, hot %.1f x\n", libdw.cold_s / own.cold_s,
		       libdw.hot_s / own.hot_s);
	while (n)
		perf_batch_release(f, batches[--n]);
	perf_file_close(f);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned passes = 3, n_sides = 2;
	int opt, status = 0;

	while ((opt = getopt(argc, argv, "n:o")) != -1) {
		if (opt == 'n')
			passes = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt == 'o')
			n_sides = 1;
		else
			return 2;
	}
	for (; optind < argc; optind++)
		status |= bench_file(argv[optind], passes, n_sides);
	return status;
}
