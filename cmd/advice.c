/* advice.c - what would make the next recording better. */
#include "cmd/advice.h"

#include <inttypes.h>

#include "cmd/weights.h"

/* The largest copy of a stack that fits into a record (perf_event_open(2)). */
enum { STACK_COPY_MAX = 65528 };

/* Advice is given when more than this share of the stacks is cut, and serves this share of them. */
enum { CUT_PERCENT = 5, SERVED_PERCENT = 99 };

static uint32_t stack_copy_bytes(const struct perf_file *f)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < perf_file_event_count(f); i++)
		if (perf_file_event(f, i)->attr.sample_stack_user > most)
			most = perf_file_event(f, i)->attr.sample_stack_user;
	return most;
}

static void advise_size(const struct stack_need *need, uint32_t size, FILE *out)
{
	uint64_t advised = need->bytes < STACK_COPY_MAX ? need->bytes : STACK_COPY_MAX;
	/* Those of a few, as of a program that starts, say nothing of the others. */
	bool known = need->known && need->known * 2 >= need->cut;

	if (!known)
		fprintf(out, "how deep they are is not known");
	else if (need->bytes > STACK_COPY_MAX)
		fprintf(out, "%.0f %% of these need more than %d",
			percent(need->too_deep, need->known), STACK_COPY_MAX);
	else
		fprintf(out, "%d %% of these need at most %" PRIu64, SERVED_PERCENT, need->bytes);
	if (size >= STACK_COPY_MAX)
		fprintf(out, "; a recording cannot hold more\n");
	else
		fprintf(out, "; record with --call-graph dwarf,%" PRIu64 "\n",
			known ? advised : STACK_COPY_MAX);
}

void advise_stack_size(const struct pipeline *p, FILE *out)
{
	uint64_t cut = p->unwind.stops[UNWIND_STOP_TRUNCATED_STACK], all = p->unwind.user_stacks;
	uint64_t completed = p->stitched.to_root;
	uint32_t size = stack_copy_bytes(p->file);
	struct stack_need need = {0};

	if (cut * 100 <= all * CUT_PERCENT ||
	    (p->depths && stack_depths_need(p->depths, SERVED_PERCENT, STACK_COPY_MAX, &need)))
		return;
	if (need.known * 2 >= need.cut && need.known && need.bytes <= size) {
		fprintf(out,
			"resolve: %.0f %% of the stacks end where their copy broke off, at a page "
			"that was not in memory, as of an array that nothing has touched; larger "
			"copies would not help\n",
			percent(cut, all));
		return;
	}
	fprintf(out, "resolve: %.0f %% of the stacks are cut at %u bytes", percent(cut, all), size);
	if (completed)
		fprintf(out, " (%.0f %% of these were completed from other samples)",
			percent(completed, cut));
	fprintf(out, "; ");
	advise_size(&need, size, out);
}
