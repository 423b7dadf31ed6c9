/* tool_speed.c - `tool_speed [-n PASSES] [-w] FILE..`: what one core needs from the page cache to
 * interned stacks.
 *
 * Each pass opens the recording and reads it to its end: alone, with unwinding, with unwinding and
 * interning. Modules stay open from pass to pass. Prints the CPU time of the fastest pass of each
 * kind per sample, so the differences are the price of a stage, and of the first pass ever. -w: only
 * the whole, for profilers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "output/output.h"

enum depth { READ, UNWIND, INTERN, DEPTHS };

struct run {
	const char *path;
	struct modules *modules;
	uint64_t samples, frames, nodes;
};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const struct err *err)
{
	char line[1024];

	err_format(err, line, sizeof line);
	fprintf(stderr, "%s\n", line);
	exit(2);
}

static void use_batch(const struct perf_batch *b, enum depth depth, struct unwinder *u,
		      struct profile *p)
{
	const struct perf_sample *samples[UNWIND_BATCH];
	struct stack_trace traces[UNWIND_BATCH];
	struct err err;
	size_t i, k, n;

	for (i = 0; i < b->n; i += n) {
		n = b->n - i < UNWIND_BATCH ? b->n - i : UNWIND_BATCH;
		for (k = 0; k < n; k++)
			samples[k] = &b->samples[i + k];
		for (k = i + n; k < i + n + UNWIND_BATCH && k < b->n && depth >= UNWIND; k++)
			unwind_expect(&b->samples[k]);
		if (depth >= UNWIND)
			unwind_samples(u, samples, n, traces);
		if (depth >= INTERN && profile_add_batch(p, samples, traces, n, &err))
			fail(&err);
	}
}

/* CPU seconds from opening to the last sample. Dsos are of the file, so the unwinder's module table
 * is too: each pass has its own, over files that stay in the page cache. */
static double pass(struct run *r, enum depth depth)
{
	const struct perf_file_options opt = {.map = true};
	const struct modules_options none = {0};
	double start = cpu_seconds();
	struct unwinder *u = NULL;
	struct perf_batch *b;
	struct profile *p = profile_new(0);
	struct perf_file *f;
	struct err err = {0};
	int rc = perf_file_open(&f, r->path, &opt, &err);

	if (!rc)
		rc = modules_new(&r->modules, &none, &err);
	if (!rc)
		rc = unwinder_new(&u, r->modules, NULL, &err);
	if (rc || !p || profile_set_file(p, f, &err))
		fail(&err);
	r->samples = 0;
	while ((rc = perf_file_read(f, &b, &err)) > 0) {
		r->samples += b->n;
		use_batch(b, depth, u, p);
		perf_batch_release(f, b);
	}
	if (rc < 0)
		fail(&err);
	start = cpu_seconds() - start;
	if (depth >= UNWIND)
		r->frames = unwinder_stats(u)->frames;
	r->nodes = p->nodes.n;
	unwinder_free(u);
	modules_free(r->modules);
	profile_free(p);
	perf_file_close(f);
	return start;
}

static void measure(const char *path, int passes, enum depth least)
{
	struct run r = {.path = path};
	double best[DEPTHS] = {0}, first = 0, t, ns;
	int i, d;

	for (i = 0; i < passes; i++)
		for (d = (int)least; d < DEPTHS; d++) {
			t = pass(&r, (enum depth)d);
			if (d == INTERN && !i)
				first = t;
			if (!i || t < best[d])
				best[d] = t;
		}
	ns = 1e9 / (double)r.samples;
	printf("%-24s %7llu samples %5.1f frames %7llu nodes: read %4.0f unwind %5.0f intern %5.0f "
	       "ns = "
	       "%5.2f M samples/s (first %.2f), %4.1f ns/frame\n",
	       strrchr(path, '/') ? strrchr(path, '/') + 1 : path, (unsigned long long)r.samples,
	       (double)r.frames / (double)r.samples, (unsigned long long)r.nodes, best[READ] * ns,
	       (best[UNWIND] - best[READ]) * ns, (best[INTERN] - best[UNWIND]) * ns,
	       1e3 / (best[INTERN] * ns), 1e3 / (first * ns),
	       (best[UNWIND] - best[READ]) * 1e9 / (double)r.frames);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	enum depth least = READ;
	int passes = 5, c;

	while ((c = getopt(argc, argv, "n:w")) > 0)
		if (c == 'n')
			passes = atoi(optarg);
		else if (c == 'w')
			least = INTERN;
	pages_survive_cuts();
	for (; optind < argc; optind++)
		measure(argv[optind], passes, least);
	return 0;
}
