/* tool_cfi_diff.c - unwinds every sample of a recording with our tables and with plain libdw, and
 *sorts the differences into classes that say who is right; what is left is "unexplained".
 *
 *	tool_cfi_diff [-v] PERF.DATA...
 *
 * One line per file: FILE and counts of samples, frames and classes. Exit status 1 when anything is
 * unexplained. The reasons are in tests/unwind/README.md; each class is decided from the rows of
 *call frame information and the stack copy, not from the wanted result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unwind/frame_row.h"
#include "unwind/memory.h"

/* X(name): what a sample's pair of stacks is. */
#define CLASSES(X)                                                                               \
	X(same)                                                                                  \
	/* Same frames, but one side says that the copy was cut and the other that memory is     \
	 * missing. */                                                                           \
	X(same_other_stop)                                                                       \
	/* Frame 0 leaves its function: a slot below sp was restored already, libdw loses it. */ \
	X(libdw_epilogue)                                                                        \
	/* A frame needs a register that libdw's wrong x86-64 defaults call undefined. */        \
	X(libdw_undefined_register)                                                              \
	/* An exception is being thrown: libgcc has overwritten its own return address. */       \
	X(libdw_thrown)                                                                          \
	/* No FDE covers the frame; ours knows sigreturn's code by its bytes. */                 \
	X(libdw_no_row)                                                                          \
	/* Go's own table; libdw has .debug_frame if it is there, else guesses. */               \
	X(go_table)                                                                              \
	/* Where there is no call frame information, both guess, and not alike. */               \
	X(guesses_differ)                                                                        \
	X(unexplained)

#define X(name) CLASS_##name,
enum verdict { CLASSES(X) CLASS_N };
#undef X
#define X(name) #name,
static const char *const class_names[] = {CLASSES(X)};
#undef X

struct diff {
	struct modules *modules;
	struct unwinder *own, *alone, *libdw;
	bool verbose;
	uint64_t classes[CLASS_N];
	uint64_t samples, own_frames, libdw_frames, own_roots, libdw_roots, own_cut, libdw_cut;
	uint64_t batch_differs;
	uint64_t other_kind; /* frames where only is_return_address differs */
	uint64_t own_stops[UNWIND_STOP_N];
};

/* Some register's slot in frame 0 lies below the stack pointer. Only for CFAs by register. */
static bool has_slot_below_sp(const struct diff *d, const struct perf_sample *s,
			      const struct frame *f)
{
	struct cfi_row row;
	uint64_t base, sp;
	unsigned i;

	if (!frame_row(d->modules, f, &row) || row.cfa_how != CFI_CFA_REG ||
	    !arch_reg(&arch_x86_64, &s->user_regs, (uint8_t)row.cfa_reg, &base) ||
	    !arch_reg(&arch_x86_64, &s->user_regs, arch_x86_64.sp, &sp))
		return false;
	for (i = 0; i < row.n_regs; i++)
		if (row.regs[i].how == CFI_OFFSET &&
		    base + (uint64_t)row.cfa_off + (uint64_t)row.regs[i].off < sp)
			return true;
	return false;
}

/* A row above frame 0 computes its CFA from a register that the psABI does not say is saved, or
 * from rbx, which libdw's table calls register 0. */
static bool needs_lost_register(const struct diff *d, const struct frame *f)
{
	const uint64_t kept_by_libdw = 1 << 0 | 1 << 6 | 1 << 7 | 0xf << 12;
	struct cfi_row row;

	if (!frame_row(d->modules, f, &row))
		return false;
	if (row.cfa_how == CFI_CFA_REG)
		return row.cfa_reg >= 64 || !(kept_by_libdw >> row.cfa_reg & 1);
	/* bregN of an expression */
	return row.cfa_how == CFI_CFA_EXPRESSION;
}

static bool is_libgcc(const struct stack_trace *t, size_t i)
{
	return i < t->n && t->frames[i].map && strstr(t->frames[i].map->dso->path, "libgcc_s");
}

/* Both go through _Unwind_RaiseException() to the landing pad that it has put in place of its
 * return address, and leave one another there: libdw takes the frame of the catching function to be
 * where that of the throwing one is. */
static bool is_thrown(const struct stack_trace *a, size_t k, size_t i)
{
	return i > k + 1 && is_libgcc(a, k) && is_libgcc(a, i - 2) && !is_libgcc(a, i - 1);
}

static bool is_guess(const struct stack_trace *t, size_t i)
{
	return i < t->n && frame_how_is_guess(t->frames[i].how);
}

static enum verdict classify(struct diff *d, const struct perf_sample *s,
			     const struct stack_trace *a, const struct stack_trace *b)
{
	size_t i, k = a->n_kernel;
	struct cfi_row row;

	for (i = k; i < a->n && i < b->n && a->frames[i].ip == b->frames[i].ip; i++)
		d->other_kind += a->frames[i].is_return_address != b->frames[i].is_return_address;
	if (i == a->n && i == b->n)
		return a->stop == b->stop ? CLASS_same : CLASS_same_other_stop;
	if (a->frames[i < a->n ? i : a->n - 1].how == FRAME_RUNTIME_TABLE)
		return CLASS_go_table;
	if (is_guess(a, i) || is_guess(b, i))
		return CLASS_guesses_differ;
	if (is_thrown(a, k, i))
		return CLASS_libdw_thrown;
	if (i < a->n && i > k && has_slot_below_sp(d, s, &a->frames[k]))
		return CLASS_libdw_epilogue;
	if (i < a->n && i == b->n && i > k + 1 && needs_lost_register(d, &a->frames[i - 1]))
		return CLASS_libdw_undefined_register;
	if (i < a->n && i == b->n && i > k && !frame_row(d->modules, &a->frames[i - 1], &row))
		return CLASS_libdw_no_row;
	return CLASS_unexplained;
}

static void print_stack(const char *who, const struct stack_trace *t)
{
	size_t i;

	printf("  %s: %s\n", who, unwind_stop_text(t->stop));
	for (i = t->n_kernel; i < t->n; i++)
		printf("    %2zu %16" PRIx64 " %s%s %s\n", i, t->frames[i].ip,
		       t->frames[i].is_return_address ? "" : "* ",
		       t->frames[i].map ? t->frames[i].map->dso->path : "?",
		       frame_how_text(t->frames[i].how));
}

static bool same_stack(const struct stack_trace *a, const struct stack_trace *b)
{
	size_t i;

	for (i = 0; i < a->n && i < b->n; i++)
		if (a->frames[i].ip != b->frames[i].ip || a->frames[i].how != b->frames[i].how ||
		    a->frames[i].map != b->frames[i].map ||
		    a->frames[i].is_return_address != b->frames[i].is_return_address)
			return false;
	return a->n == b->n && a->stop == b->stop;
}

static void compare(struct diff *d, const struct perf_sample *s, const struct stack_trace *a)
{
	struct stack_trace b;
	enum verdict c;

	unwind_sample(d->alone, s, &b);
	d->batch_differs += !same_stack(a, &b);
	unwind_sample(d->libdw, s, &b);
	if (a->stop == UNWIND_STOP_NONE)
		return;
	c = classify(d, s, a, &b);
	d->classes[c]++;
	d->samples++;
	d->own_frames += a->n - a->n_kernel;
	d->libdw_frames += b.n - b.n_kernel;
	/* libdw calls it a root. */
	d->own_roots += a->stop == UNWIND_STOP_END || a->stop == UNWIND_STOP_SWITCHED;
	d->libdw_roots += b.stop == UNWIND_STOP_END;
	d->own_cut += a->stop == UNWIND_STOP_TRUNCATED_STACK;
	d->libdw_cut += b.stop == UNWIND_STOP_TRUNCATED_STACK;
	d->own_stops[a->stop]++;
	if ((c == CLASS_unexplained && d->classes[c] <= 3) ||
	    (d->verbose && (c != CLASS_same || (a->stop != UNWIND_STOP_END &&
						a->stop != UNWIND_STOP_TRUNCATED_STACK)))) {
		printf("%s: record at 0x%" PRIx64 "\n", class_names[c], s->file_off);
		print_stack("own", a);
		print_stack("libdw", &b);
	}
}

/* Our side gets the samples in batches, as resolve does it, and a second time one by one. */
static void compare_batch(struct diff *d, const struct perf_batch *batch)
{
	const struct perf_sample *group[UNWIND_BATCH];
	struct stack_trace traces[UNWIND_BATCH];
	size_t i, k, n;

	for (i = 0; i < batch->n; i += n) {
		for (n = 0; n < UNWIND_BATCH && i + n < batch->n; n++)
			group[n] = &batch->samples[i + n];
		unwind_samples(d->own, group, n, traces);
		for (k = 0; k < n; k++)
			compare(d, group[k], &traces[k]);
	}
}

static int diff_file(const char *path, bool verbose)
{
	struct unwind_options opt = {.method = UNWIND_AUTO};
	struct diff d = {.verbose = verbose};
	struct perf_batch *batch;
	struct perf_file *f;
	struct err err;
	char text[1024];
	size_t i;
	int rc;

	if (perf_file_open(&f, path, NULL, &err)) {
		err_format(&err, text, sizeof text);
		printf("%s\n", text);
		return 2;
	}
	opt.arch = perf_file_info(f)->arch;
	if (modules_new(&d.modules, NULL, &err) || unwinder_new(&d.own, d.modules, &opt, &err) ||
	    unwinder_new(&d.alone, d.modules, &opt, &err))
		abort();
	opt.method = UNWIND_LIBDW;
	if (unwinder_new(&d.libdw, d.modules, &opt, &err))
		abort();
	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
		compare_batch(&d, batch);
		perf_batch_release(f, batch);
	}
	printf("%s samples %" PRIu64 " frames %" PRIu64 " libdw_frames %" PRIu64 " roots %" PRIu64
	       " libdw_roots %" PRIu64 " cut %" PRIu64 " libdw_cut %" PRIu64
	       " return_address_differs %" PRIu64 " batch_differs %" PRIu64,
	       path, d.samples, d.own_frames, d.libdw_frames, d.own_roots, d.libdw_roots, d.own_cut,
	       d.libdw_cut, d.other_kind, d.batch_differs);
	for (i = 0; i < CLASS_N; i++)
		printf(" %s %" PRIu64, class_names[i], d.classes[i]);
	printf(" |");
	for (i = 0; i < UNWIND_STOP_N; i++)
		if (d.own_stops[i])
			printf(" %s: %" PRIu64 ";", unwind_stop_text((enum unwind_stop)i),
			       d.own_stops[i]);
	printf("\n");
	unwinder_free(d.own);
	unwinder_free(d.alone);
	unwinder_free(d.libdw);
	modules_free(d.modules);
	perf_file_close(f);
	return rc < 0 || d.classes[CLASS_unexplained] || d.batch_differs || d.other_kind ||
	       !d.samples;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && !strcmp(argv[1], "-v");
	int i, status = 0;

	for (i = 1 + verbose; i < argc; i++)
		status |= diff_file(argv[i], verbose);
	return status;
}
