/* tool_speed.c - `tool_speed [-n ROUNDS] [-w] FILE..`: what one core needs from the page cache to
 * interned stacks.
 *
 * Each pass opens the recording and reads it to its end: with unwinding and interning, with
 * unwinding, alone. A round is a pass of each kind. Prints CPU time per sample: the price of a
 * stage is the median, over the rounds, of the difference to the pass without it beside it, because
 * a machine that is faster for some seconds is so for a round; differences of the fastest passes
 * would be of different rounds. It is `-` where that is not positive in three of four rounds: then
 * the stage costs less than passes differ by, as with a few samples of many modules. Then the
 * whole, its median and the fastest, and the first pass ever. -w: only the whole, for profilers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "output/output.h"
#include "profile/fill.h"

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
		if (depth >= INTERN && profile_add_batch(p, samples, traces, NULL, n, &err))
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
	if (depth >= INTERN)
		r->nodes = p->nodes.n;
	unwinder_free(u);
	modules_free(r->modules);
	profile_free(p);
	perf_file_close(f);
	return start;
}

/* CPU seconds of one round: a pass of each kind. */
struct round {
	double pass[DEPTHS];
};

/* Of passes that follow each other at once: what the later kind does more. */
static double price(const struct round *r, enum depth depth)
{
	return r->pass[depth] - (depth ? r->pass[depth - 1] : 0);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct spread {
	double median, quartile; /* the lower one */
};

static struct spread spread(const struct round *rounds, int n, enum depth depth,
			    double (*of)(const struct round *r, enum depth depth))
{
	double *v = calloc((size_t)n, sizeof *v);
	struct spread ret;
	int i;

	if (!v)
		exit(2);
	for (i = 0; i < n; i++)
		v[i] = of(&rounds[i], depth);
	qsort(v, (size_t)n, sizeof *v, by_value);
	ret = (struct spread){(v[n / 2] + v[(n - 1) / 2]) / 2, v[n / 4]};
	free(v);
	return ret;
}

static double whole(const struct round *r, enum depth depth)
{
	return r->pass[depth];
}

static double least(const struct round *rounds, int n, enum depth depth)
{
	double ret = rounds[0].pass[depth];
	int i;

	for (i = 1; i < n; i++)
		if (rounds[i].pass[depth] < ret)
			ret = rounds[i].pass[depth];
	return ret;
}

/* In ns, each of them for one of `count`. */
static void print_price(const struct round *rounds, int n, enum depth depth, int digits,
			uint64_t count)
{
	struct spread s = spread(rounds, n, depth, price);

	if (s.quartile > 0)
		printf("%.*f", digits, s.median * 1e9 / (double)count);
	else
		printf("-");
}

static void print(const struct run *r, const struct round *rounds, int n)
{
	static const char *const names[DEPTHS] = {"read", "unwind", "intern"};
	const char *slash = strrchr(r->path, '/');
	double ns = 1e9 / (double)r->samples, all = spread(rounds, n, INTERN, whole).median;
	int d;

	printf("%-20s %7llu samples %5.1f frames %7llu nodes:", slash ? slash + 1 : r->path,
	       (unsigned long long)r->samples, (double)r->frames / (double)r->samples,
	       (unsigned long long)r->nodes);
	for (d = READ; d < DEPTHS; d++) {
		printf(" %s ", names[d]);
		print_price(rounds, n, (enum depth)d, 0, r->samples);
	}
	printf(" ns = %5.2f M samples/s (fastest %5.2f), ", 1e3 / (all * ns),
	       1e3 / (least(rounds, n, INTERN) * ns));
	print_price(rounds, n, UNWIND, 1, r->frames);
	printf(" ns/frame; first pass %.2f ms\n", rounds[0].pass[INTERN] * 1e3);
	fflush(stdout);
}

/* The whole comes first in each round: so the first pass is one that finds nothing in memory. */
static void measure(const char *path, int n, bool only_whole)
{
	struct round *rounds = calloc((size_t)n, sizeof *rounds);
	struct run r = {.path = path};
	int i, d;

	if (!rounds)
		exit(2);
	for (i = 0; i < n; i++)
		for (d = INTERN; d >= (only_whole ? INTERN : READ); d--)
			rounds[i].pass[d] = pass(&r, (enum depth)d);
	print(&r, rounds, n);
	free(rounds);
}

int main(int argc, char **argv)
{
	bool only_whole = false;
	int rounds = 5, c;

	while ((c = getopt(argc, argv, "n:w")) > 0)
		if (c == 'n')
			rounds = atoi(optarg);
		else if (c == 'w')
			only_whole = true;
	pages_survive_cuts();
	for (; optind < argc; optind++)
		measure(argv[optind], rounds > 0 ? rounds : 1, only_whole);
	return 0;
}
