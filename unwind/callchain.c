/* callchain.c - from recorded call chains to frames.
 *
 * Source: perf_event.h (enum perf_callchain_context) and kernel/events/callchain.c. A context
 * marker says whose addresses follow. The first address after it is where that context was
 * interrupted, the others are return addresses. A marker may occur twice. simpleperf has changed
 * return addresses to addresses of calls. Callers in user chains that come from branch records
 * (reader.h: chain_is_lbr) are addresses of calls, too: a record holds where the branch came from
 * (perf_event.h, struct perf_branch_entry). */
#include "reader/reader.h"
#include "unwind/method.h"

/* Values of perf_event.h PERF_CONTEXT_* that reader.h does not define. */
#define CHAIN_HYPERVISOR    ((uint64_t)-32)
#define CHAIN_USER_DEFERRED ((uint64_t)-640)
#define CHAIN_GUEST_KERNEL  ((uint64_t)-2176)
#define CHAIN_GUEST_USER    ((uint64_t)-2560)

static bool is_marker(uint64_t ip)
{
	return ip >= PERF_CHAIN_CONTEXT_MAX;
}

/* The context of addresses before any marker: that in which the sample was taken. */
static uint64_t first_context(const struct perf_sample *s)
{
	return s->cpumode == PERF_CPUMODE_USER ? PERF_CHAIN_USER : PERF_CHAIN_KERNEL;
}

/* True for contexts that are shown as kernel frames. To the host's process everything in a virtual
 * machine is like its kernel: code that it called. */
static bool is_kernel_context(uint64_t marker)
{
	return marker == PERF_CHAIN_KERNEL || marker == CHAIN_HYPERVISOR ||
	       marker == CHAIN_GUEST_KERNEL || marker == CHAIN_GUEST_USER;
}

static void add(struct frame_sink *sink, struct frame f, struct signal_returns *known,
		const struct address_space *space)
{
	if (sink->n == sink->max)
		return;
	signal_returns_place(known, space, &f);
	sink->frames[sink->n++] = f;
}

static void add_context(const struct perf_sample *s, bool kernel, struct signal_returns *known,
			struct frame_sink *sink)
{
	uint64_t context = first_context(s);
	bool first = true, in_user_part = false, is_call;
	size_t i;

	for (i = 0; i < s->n_ips; i++) {
		uint64_t ip = s->ips[i];

		/* The next entry is a cookie for a later record, not an address. */
		if (ip == CHAIN_USER_DEFERRED)
			return;
		if (is_marker(ip)) {
			/* The user part comes last. Another "marker" in it is garbage: registers
			 * that are not used as frame pointers lead to any small negative number. */
			if (in_user_part && ip != PERF_CHAIN_USER)
				return;
			in_user_part = ip == PERF_CHAIN_USER;
			first |= context != ip;
			context = ip;
			continue;
		}
		if (is_kernel_context(context) != kernel)
			continue;
		is_call = s->chain_is_lbr && !kernel && !first;
		add(sink,
		    (struct frame){.ip = ip,
				   .is_return_address = !first && !is_call && !s->chain_is_calls,
				   .is_kernel = kernel && s->cpumode != PERF_CPUMODE_GUEST_USER,
				   .how = kernel    ? FRAME_KERNEL_CHAIN
					  : is_call ? FRAME_BRANCH_STACK
						    : FRAME_USER_CHAIN},
		    known, kernel ? s->kernel : s->space);
		first = false;
	}
}

void chain_kernel_frames(const struct perf_sample *s, struct signal_returns *known,
			 struct frame_sink *sink)
{
	add_context(s, true, known, sink);
}

void chain_user_frames(const struct perf_sample *s, struct signal_returns *known,
		       struct frame_sink *sink)
{
	add_context(s, false, known, sink);
}
