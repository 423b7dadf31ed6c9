/* chain.c - from recorded call chains to frames.
 *
 * Law: perf_event.h (enum perf_callchain_context) and kernel/events/callchain.c: a context marker
 * says whose addresses follow; the first address after it is where that context was interrupted,
 * the others are return addresses. A marker may come twice. simpleperf has made them addresses of
 * calls. */
#include "unwind/chain.h"

/* perf_event.h PERF_CONTEXT_* besides those in reader.h. */
#define CHAIN_HYPERVISOR    ((uint64_t)-32)
#define CHAIN_USER_DEFERRED ((uint64_t)-640)
#define CHAIN_GUEST_KERNEL  ((uint64_t)-2176)

/* perf_event.h PERF_SAMPLE_BRANCH_CALL_STACK: branch records are the call stack (LBR). */
#define BRANCH_CALL_STACK (1ull << 11)

static bool is_marker(uint64_t ip)
{
	return ip >= PERF_CHAIN_CONTEXT_MAX;
}

/* Addresses before any marker belong to where the sample was taken. */
static uint64_t first_context(const struct perf_sample *s)
{
	return s->cpumode == PERF_CPUMODE_USER || s->cpumode == PERF_CPUMODE_GUEST_USER
		       ? PERF_CHAIN_USER
		       : PERF_CHAIN_KERNEL;
}

static bool is_kernel_context(uint64_t marker)
{
	return marker == PERF_CHAIN_KERNEL || marker == CHAIN_HYPERVISOR ||
	       marker == CHAIN_GUEST_KERNEL;
}

static void add(struct frame_sink *sink, struct frame f, const struct address_space *space)
{
	if (sink->n == sink->max)
		return;
	f.map = address_space_find(space, frame_lookup_ip(&f));
	sink->frames[sink->n++] = f;
}

static void add_context(const struct perf_sample *s, bool kernel, struct frame_sink *sink)
{
	uint64_t context = first_context(s);
	bool first = true;
	size_t i;

	for (i = 0; i < s->n_ips; i++) {
		uint64_t ip = s->ips[i];

		/* What follows is a cookie that a later record will answer, no address. */
		if (ip == CHAIN_USER_DEFERRED)
			return;
		if (is_marker(ip)) {
			first |= context != ip;
			context = ip;
			continue;
		}
		if (is_kernel_context(context) != kernel)
			continue;
		add(sink,
		    (struct frame){.ip = ip,
				   .is_return_address = !first && !s->chain_is_calls,
				   .is_kernel = kernel,
				   .how = kernel ? FRAME_KERNEL_CHAIN : FRAME_USER_CHAIN},
		    kernel ? s->kernel : s->space);
		first = false;
	}
}

void chain_kernel_frames(const struct perf_sample *s, struct frame_sink *sink)
{
	add_context(s, true, sink);
}

/* The leaf from the chain, its callers from the branch records: `from` is the address of the call
 * itself, newest first. */
static void add_branches(const struct perf_sample *s, struct frame_sink *sink)
{
	size_t leaf = sink->n, i;

	add_context(s, false, sink);
	if (sink->n > leaf)
		sink->n = leaf + 1;
	for (i = 0; i < s->n_branches; i++)
		add(sink, (struct frame){.ip = s->branches[i].from, .how = FRAME_BRANCH_STACK},
		    s->space);
}

void chain_user_frames(const struct perf_sample *s, struct frame_sink *sink)
{
	if (s->event->attr.branch_sample_type & BRANCH_CALL_STACK && s->n_branches)
		add_branches(s, sink);
	else
		add_context(s, false, sink);
}
