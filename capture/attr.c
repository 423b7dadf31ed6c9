/* attr.c - fills struct perf_event_attr, and finds out what the kernel supports. */
#include "capture/attr.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/processor.h"
#include "reader/format.h"
#include "reader/reader.h"

_Static_assert(sizeof(struct perf_event_attr) >= ATTR_SIZE, "linux/perf_event.h is too old");

uint64_t attr_user_regs(void)
{
	const struct processor *here = processor_here();

	return here ? here->perf_user_regs : 0;
}

static void fill_common(struct perf_event_attr *a, const struct attr_policy *p)
{
	memset(a, 0, sizeof *a);
	a->size = ATTR_SIZE;
	a->disabled = 1;
	a->inherit = p->inherit;
	a->enable_on_exec = p->enable_on_exec;
	a->sample_id_all = 1;
	a->sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	if (p->cgroups)
		a->sample_type |= PERF_SAMPLE_CGROUP;
	a->read_format = PERF_FORMAT_ID;
	if (ATTR_HAS(p->features, LOST))
		a->read_format |= PERF_FORMAT_LOST;
	if (ATTR_HAS(p->features, CLOCKID)) {
		a->use_clockid = 1;
		a->clockid = ATTR_CLOCK;
	}
	/* A watermark of 0 bytes means half of the ring, whatever size it turns out to get
	 * (kernel/events/ring_buffer.c, ring_buffer_init). */
	a->watermark = 1;
}

static bool is_counted_one_by_one(const struct event *e)
{
	return event_is_tracepoint(e->type) || e->is_probe ||
	       (e->type == PERF_TYPE_SOFTWARE && !event_is_clock(e->type, e->config));
}

void attr_for_samples(struct perf_event_attr *a, const struct event *e, const struct attr_policy *p)
{
	fill_common(a, p);
	a->type = e->type;
	a->config = e->config;
	a->config1 = e->config1;
	a->config2 = e->config2;
	a->precise_ip = e->precise & 3;
	a->exclude_user = e->exclude_user;
	a->exclude_kernel = e->exclude_kernel;
	a->exclude_hv = e->exclude_hv;
	a->exclude_idle = e->exclude_idle;
	a->exclude_callchain_kernel = e->exclude_kernel;
	a->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	/* As perf record: what PMUs know of the access is in DATA_SRC. */
	a->sample_type |= p->data ? PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC : 0;
	a->sample_type |= p->phys_data ? PERF_SAMPLE_PHYS_ADDR : 0;
	if (e->is_switch || e->is_waking) {
		a->sample_type |= PERF_SAMPLE_RAW;
		a->sample_period = 1;
		a->wakeup_watermark = SWITCH_WAKEUP_BYTES;
	} else if (e->is_switch_times) {
		a->context_switch = 1;
		a->sample_period = 1;
	} else if (event_is_tracepoint(e->type) || e->is_probe) {
		a->sample_type |= event_is_tracepoint(e->type) ? PERF_SAMPLE_RAW : 0;
		a->sample_period = e->period ? e->period : p->period ? p->period : 1;
	} else if (e->period) {
		a->sample_period = e->period;
	} else if (e->frequency_hz || p->frequency_hz) {
		a->freq = 1;
		a->sample_freq = e->frequency_hz ? e->frequency_hz : p->frequency_hz;
	} else {
		a->sample_period = p->period;
	}
	/* The kernel takes a sample of each such event if the period is to be in it
	 * (perf_swevent_event() in kernel/events/core.c). */
	if (is_counted_one_by_one(e) && !a->freq && a->sample_period > 1)
		a->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	if (e->reads_memory || e->is_trigger) { /* as soon as can be */
		a->watermark = 0;
		a->wakeup_events = 1;
	}
	if (e->no_stack)
		return;
	if (p->call_graph != CALL_GRAPH_NONE)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	/* What arguments are is told by debug information, which refers to registers. */
	if ((p->args && e->is_probe && attr_user_regs()) || p->call_graph == CALL_GRAPH_DWARF) {
		a->sample_type |= PERF_SAMPLE_REGS_USER;
		a->sample_regs_user = attr_user_regs();
	}
	if (p->call_graph == CALL_GRAPH_DWARF) {
		a->exclude_callchain_user = 1;
		a->sample_type |= PERF_SAMPLE_STACK_USER;
		a->sample_stack_user = p->stack_bytes;
	}
}

bool attr_bound_clock(struct perf_event_attr *a)
{
	const uint64_t period_ns = 1000000000 / ATTR_CLOCK_HZ_MAX;

	if (!event_is_clock(a->type, a->config) || !a->sample_stack_user ||
	    (a->freq ? a->sample_freq <= ATTR_CLOCK_HZ_MAX : a->sample_period >= period_ns))
		return false;
	if (a->freq)
		a->sample_freq = ATTR_CLOCK_HZ_MAX;
	else
		a->sample_period = period_ns;
	return true;
}

void attr_for_sideband(struct perf_event_attr *a, const struct attr_policy *p)
{
	fill_common(a, p);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	/* Nothing is sampled: asks for no more privileges than needed. */
	a->exclude_kernel = a->exclude_hv = 1;
	a->mmap = a->comm = a->task = 1;
	/* perf's unwinder reads .eh_frame through the maps of the process, and linkers put it into
	 * a segment that is not executable. */
	a->mmap_data = p->call_graph == CALL_GRAPH_DWARF || p->data;
	a->mmap2 = ATTR_HAS(p->features, MMAP2);
	a->comm_exec = ATTR_HAS(p->features, COMM_EXEC);
	a->ksymbol = ATTR_HAS(p->features, KSYMBOL);
	a->cgroup = p->cgroups;
	a->build_id = ATTR_HAS(p->features, BUILD_ID);
	/* See exchange.h. Of this event there are no samples. */
	if (p->stays && p->inherit && ATTR_HAS(p->features, STAYS))
		a->sample_type |= PERF_SAMPLE_READ;
}

void attr_for_switches(struct perf_event_attr *a, const struct attr_policy *p)
{
	fill_common(a, p);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	a->exclude_hv = 1;
	a->disabled = p->enable_on_exec;
	a->sample_type |= PERF_SAMPLE_READ;
	a->read_format = 0;
}

void attr_for_alarm(struct perf_event_attr *a, const struct attr_policy *p)
{
	fill_common(a, p);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	a->exclude_kernel = a->exclude_hv = 1;
	a->task = 1;
	a->wakeup_watermark = 1;
}

int attr_open(const struct perf_event_attr *a, pid_t pid, int cpu, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
}

bool attr_has_cgroups(void)
{
	const struct attr_policy p = {.call_graph = CALL_GRAPH_NONE, .cgroups = true};
	struct perf_event_attr a;
	int fd;

	attr_for_sideband(&a, &p);
	fd = attr_open(&a, 0, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EINVAL;
}

unsigned attr_probe(void)
{
	struct attr_policy p = {
		.features = ATTR_F_ALL,
		.call_graph = CALL_GRAPH_NONE,
		.inherit = true,
		.stays = true,
	};

	for (unsigned drop = 0;; drop++) {
		struct perf_event_attr a;
		int fd;

		attr_for_sideband(&a, &p);
		fd = attr_open(&a, 0, -1, 0);
		if (fd >= 0) {
			close(fd);
			return p.features;
		}
		if (errno != EINVAL || drop == ATTR_F_N)
			return ATTR_F_ALL;
		p.features &= ~(1u << drop);
	}
}
