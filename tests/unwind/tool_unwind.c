/* tool_unwind.c FILE METHOD [guess] - prints every sample's frames, for test_unwind_perf.py.
 * METHOD: cfi, libdw, fp, full. Lines: "S tid time_ns stop" and per frame "F offset address r|x how
 * k|u path". On stderr: how many stacks took all registers, of how many. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "unwind/unwind.h"

/* As perf prints it: recorded chains as recorded, unwound frames by the address to look up. */
static uint64_t printed(const struct frame *f)
{
	bool recorded = f->how == FRAME_KERNEL_CHAIN || f->how == FRAME_USER_CHAIN;

	return recorded ? f->ip : frame_lookup_ip(f);
}

/* Its offset in the file, which is how perf 6.1 prints user code. */
static uint64_t offset_of(const struct frame *f, uint64_t ip)
{
	if (!f->map || (f->map->dso->kind != DSO_FILE && f->map->dso->kind != DSO_VDSO))
		return ip;
	return map_ip_to_off(f->map, ip);
}

static void print_sample(const struct perf_sample *s, const struct stack_trace *t)
{
	size_t i;

	printf("S %u %" PRIu64 " %s\n", s->tid, s->time_ns, unwind_stop_text(t->stop));
	for (i = 0; i < t->n; i++) {
		const struct frame *f = &t->frames[i];

		printf("F %" PRIx64 " %" PRIx64 " %c %d %c %s\n", offset_of(f, printed(f)),
		       printed(f), f->is_return_address ? 'r' : 'x', f->how,
		       f->is_kernel ? 'k' : 'u', f->map ? f->map->dso->path : "[unknown]");
	}
}

static int run(struct perf_file *f, struct unwinder *u)
{
	struct perf_batch *batch;
	struct stack_trace t;
	struct err err;
	size_t i;
	int rc;

	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
		for (i = 0; i < batch->n; i++) {
			unwind_sample(u, &batch->samples[i], &t);
			print_sample(&batch->samples[i], &t);
		}
		perf_batch_release(f, batch);
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"cfi", "libdw", "fp", "full"};
	struct modules_options mopt = {0};
	struct unwind_options opt = {.no_guess = argc < 4};
	struct modules *modules;
	struct unwinder *u;
	struct perf_file *f;
	struct err err;
	size_t i;
	int rc;

	if (argc < 3 || perf_file_open(&f, argv[1], NULL, &err))
		return 2;
	for (i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(argv[2], names[i]))
			opt.method = (enum unwind_method)i;
	opt.arch = perf_file_info(f)->arch;
	mopt.os_release = perf_file_info(f)->os_release;
	if (modules_new(&modules, &mopt, &err) || unwinder_new(&u, modules, &opt, &err))
		return 2;
	rc = run(f, u);
	fprintf(stderr, "%" PRIu64 " %" PRIu64 "\n", unwinder_stats(u)->all_registers,
		unwinder_stats(u)->user_stacks);
	unwinder_free(u);
	modules_free(modules);
	perf_file_close(f);
	return rc ? 2 : 0;
}
