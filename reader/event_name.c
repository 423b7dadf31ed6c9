/* event_name.c - names for events that the recording does not name, the way perf makes them up
 * (tools/perf/util/evsel.c), so that filters and readers of either tool know them. */
#include <stdio.h>

#include "reader/events.h"
#include "reader/format.h"

static const char *const hardware[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const cache_of[] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};

static const char *const cache_op[][2] = {
	{"load", "loads"},
	{"store", "stores"},
	{"prefetch", "prefetches"},
};

/* Bits of perf_attr.flags (PERF_ATTR_*) that only names need: perf_event.h, struct perf_event_attr.
 */
#define EXCLUDE_HV	  (1ull << 6)
#define EXCLUDE_HOST	  (1ull << 19)
#define EXCLUDE_GUEST	  (1ull << 20)
#define PRECISE_IP(flags) ((unsigned)((flags) >> 15 & 3))

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const char *pick(const char *const *names, size_t n, uint64_t i, const char *otherwise)
{
	return i < n ? names[i] : otherwise;
}

static void cache_name(uint64_t config, char *out, size_t size)
{
	uint64_t what = config & 0xff, op = config >> 8 & 0xff, missed = config >> 16 & 0xff;

	if (what >= LENGTH(cache_of) || op >= LENGTH(cache_op) || missed > 1)
		snprintf(out, size, "invalid-cache");
	else if (missed)
		snprintf(out, size, "%s-%s-misses", cache_of[what], cache_op[op][0]);
	else
		snprintf(out, size, "%s-%s", cache_of[what], cache_op[op][1]);
}

/* Writes the modifiers: ":" and a letter for each privilege level that is counted, if any was
 * excluded, and a p for each level of precision. */
static void modifiers(uint64_t flags, char *out)
{
	static const struct {
		uint64_t excluded;
		char letter;
	} levels[] =
		{
			{PERF_ATTR_EXCLUDE_KERNEL, 'k'},
			{PERF_ATTR_EXCLUDE_USER, 'u'},
			{EXCLUDE_HV, 'h'},
		},
	  machines[] = {{EXCLUDE_HOST, 'H'}, {EXCLUDE_GUEST, 'G'}};
	const bool levels_differ =
		flags & (PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_USER | EXCLUDE_HV);
	/* A name without levels does not tell whether guests are counted: no one types that, and
	 * until 6.12 perf excluded them by itself. (perf 6.1 writes HG where they are counted, 7.2
	 * H where they are not.) */
	const bool guest_default = levels_differ || PRECISE_IP(flags);
	char *p = out;
	unsigned i;

	*p++ = ':';
	if (levels_differ)
		for (i = 0; i < LENGTH(levels); i++)
			if (!(flags & levels[i].excluded))
				*p++ = levels[i].letter;
	for (i = 0; i < PRECISE_IP(flags); i++)
		*p++ = 'p';
	if (flags & EXCLUDE_HOST || (flags & EXCLUDE_GUEST && guest_default))
		for (i = 0; i < LENGTH(machines); i++)
			if (!(flags & machines[i].excluded))
				*p++ = machines[i].letter;
	*(p == out + 1 ? out : p) = 0;
}

static void breakpoint_name(const struct perf_attr *a, char *out, size_t size)
{
	snprintf(out, size, "mem:%#llx:%s%s%s", (unsigned long long)a->config1,
		 a->bp_type & 1 ? "r" : "", a->bp_type & 2 ? "w" : "", a->bp_type & 4 ? "x" : "");
}

void event_name_format(const struct perf_attr *a, const char *pmu, char *out, size_t size)
{
	/* On processors with two kinds of cores the upper half has the number of the PMU. */
	uint64_t config = a->config & UINT32_MAX, core = a->config >> 32;
	char name[96], mods[16];

	modifiers(a->flags, mods);
	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		snprintf(name, sizeof name, "%s",
			 pick(hardware, LENGTH(hardware), config, "unknown-hardware"));
		break;
	case PERF_TYPE_SOFTWARE:
		snprintf(name, sizeof name, "%s",
			 pick(software, LENGTH(software), a->config, "unknown-software"));
		break;
	case PERF_TYPE_HW_CACHE:
		cache_name(config, name, sizeof name);
		break;
	case PERF_TYPE_RAW:
		snprintf(name, sizeof name, "raw %#llx", (unsigned long long)a->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		breakpoint_name(a, name, sizeof name);
		break;
	case PERF_TYPE_TRACEPOINT:
		snprintf(out, size, "unknown tracepoint");
		return;
	default:
		if (pmu)
			snprintf(out, size, "%s/config=%#llx/%s", pmu,
				 (unsigned long long)a->config, mods + (*mods == ':'));
		else
			snprintf(out, size, "unknown attr type: %u", a->type);
		return;
	}
	if (core && pmu && (a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE))
		snprintf(out, size, "%s/%s/%s", pmu, name, mods + (*mods == ':'));
	else
		snprintf(out, size, "%s%s", name, mods);
}
