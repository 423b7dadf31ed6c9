/* header_text.c - what the header says, in the words of `perf report --header-only`.
 *
 * Law of the sections' layout: tools/perf/Documentation/perf.data-file-format.txt; of
 * CPU_TOPOLOGY's dies and of what came later: tools/perf/util/header.c. A section that ends early
 * gives the lines that it still holds. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "reader/features.h"
#include "reader/file.h"

enum { LINE_BYTES = 4096 };

struct teller {
	const struct perf_file *f;
	void (*say)(void *arg, const char *line);
	void *arg;
	char line[LINE_BYTES]; /* being put together; longer ones are cut */
	size_t n;
};

static void put(struct teller *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(struct teller *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->line + t->n, sizeof t->line - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n < sizeof t->line - t->n ? (size_t)n : sizeof t->line - t->n - 1;
}

static void end_line(struct teller *t)
{
	t->line[t->n] = '\0';
	t->say(t->arg, t->line);
	t->n = 0;
}

/* A perf_header_string: u32 length, bytes with a NUL inside. Control characters never get out. */
static const char *take_text(struct buf *b, char *to, size_t size)
{
	uint32_t len = buf_u32(b);
	const uint8_t *p = buf_take(b, len);
	size_t n = p ? strnlen((const char *)p, len) : 0;

	if (n >= size)
		n = size - 1;
	for (size_t i = 0; i < n; i++)
		to[i] = (char)(p[i] < 0x20 || p[i] == 0x7f ? '?' : p[i]);
	to[n] = '\0';
	return to;
}

/* Lists come with their number; `left` bounds a number that lies. */
static uint32_t take_count(struct buf *b, size_t least_bytes_each)
{
	uint32_t n = buf_u32(b);
	size_t most = buf_left(b) / least_bytes_each;

	return n < most ? n : (uint32_t)most;
}

static void tell_list(struct teller *t, struct buf *b, const char *what)
{
	char text[512];

	for (uint32_t n = take_count(b, 4); n && buf_ok(b); n--) {
		put(t, "# %s : %s", what, take_text(b, text, sizeof text));
		end_line(t);
	}
}

/* Siblings; then core and socket of every processor; then, since perf 5.2, dies likewise. */
static void tell_cpu_topology(struct teller *t, struct buf *b)
{
	uint32_t cpus = t->f->info.cpus_available;
	struct buf cores, dies;

	tell_list(t, b, "sibling sockets");
	cores = *b;
	for (uint32_t n = take_count(&cores, 4); n && buf_ok(&cores); n--)
		buf_skip(&cores, buf_u32(&cores));
	dies = cores;
	buf_skip(&dies, (uint64_t)cpus * 8);
	if (buf_ok(&dies) && buf_left(&dies))
		tell_list(t, &dies, "sibling dies   ");
	else
		dies.bad = true;
	tell_list(t, b, "sibling threads");
	for (uint32_t i = 0; i < cpus && buf_left(&cores) >= 8; i++) {
		uint32_t core = buf_u32(&cores), socket = buf_u32(&cores);

		put(t, "# CPU %" PRIu32 ": Core ID %" PRIu32, i, core);
		if (buf_ok(&dies))
			put(t, ", Die ID %" PRIu32, buf_u32(&dies));
		put(t, ", Socket ID %" PRIu32, socket);
		end_line(t);
	}
}

static void tell_numa(struct teller *t, struct buf *b)
{
	char cpus[512];

	for (uint32_t n = take_count(b, 24); n && buf_ok(b); n--) {
		uint32_t node = buf_u32(b);
		uint64_t total = buf_u64(b), free = buf_u64(b);

		put(t, "# node%" PRIu32 " meminfo  : total = %" PRIu64 " kB, free = %" PRIu64 " kB",
		    node, total, free);
		end_line(t);
		put(t, "# node%" PRIu32 " cpu list : %s", node, take_text(b, cpus, sizeof cpus));
		end_line(t);
	}
}

static void tell_pmus(struct teller *t, struct buf *b)
{
	const char *before = "# pmu mappings: ";
	char name[128];

	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--, before = ", ") {
		uint32_t type = buf_u32(b);

		put(t, "%s%s = %" PRIu32, before, take_text(b, name, sizeof name), type);
	}
	end_line(t);
}

static const char *event_name(const struct teller *t, uint32_t i)
{
	return i < perf_file_event_count(t->f) ? perf_file_event(t->f, i)->name : "?";
}

static void tell_groups(struct teller *t, struct buf *b)
{
	char name[128];

	for (uint32_t n = take_count(b, 12); n && buf_ok(b); n--) {
		uint32_t leader, members;

		take_text(b, name, sizeof name);
		leader = buf_u32(b);
		members = buf_u32(b);
		put(t, "# group: %s{%s", strcmp(name, "{anon_group}") ? name : "",
		    event_name(t, leader));
		for (uint32_t i = 1; i < members && leader + i < perf_file_event_count(t->f); i++)
			put(t, ",%s", event_name(t, leader + i));
		put(t, "}");
		end_line(t);
	}
}

static void tell_caches(struct teller *t, struct buf *b)
{
	char type[64], size[64], map[256];

	if (buf_u32(b) != 1) /* the version */
		return;
	put(t, "# CPU cache info:");
	end_line(t);
	for (uint32_t n = take_count(b, 28); n && buf_ok(b); n--) {
		uint32_t level = buf_u32(b);

		buf_skip(b, 12); /* line size, sets, ways */
		take_text(b, type, sizeof type);
		take_text(b, size, sizeof size);
		put(t, "#  L%" PRIu32 " %-15s %8s [%s]", level, type, size,
		    take_text(b, map, sizeof map));
		end_line(t);
	}
}

static void tell_sample_time(struct teller *t, struct buf *b)
{
	uint64_t first = buf_u64(b), last = buf_u64(b);

	put(t, "# time of first sample : %" PRIu64 ".%06" PRIu64, first / 1000000000,
	    first / 1000 % 1000000);
	end_line(t);
	put(t, "# time of last sample : %" PRIu64 ".%06" PRIu64, last / 1000000000,
	    last / 1000 % 1000000);
	end_line(t);
	put(t, "# sample duration : %10.3f ms", (double)(last - first) / 1e6);
	end_line(t);
}

static uint64_t count_bits(struct buf b)
{
	uint64_t bits = buf_u64(&b), set = 0;

	for (uint64_t words = bits / 64 + (bits % 64 != 0); words && buf_left(&b) >= 8; words--)
		set += (uint64_t)__builtin_popcountll(buf_u64(&b));
	return set;
}

/* The numbers of the set bits, as ranges. */
static void put_bitmap(struct teller *t, struct buf *b)
{
	uint64_t bits = buf_u64(b), words = bits / 64 + (bits % 64 != 0), start = 0;
	const char *before = "";
	uint64_t word = 0;
	bool in = false;

	if (words > buf_left(b) / 8)
		return;
	for (uint64_t i = 0; i <= words * 64; i++) {
		bool on;

		if (i % 64 == 0 && i < words * 64)
			word = buf_u64(b);
		on = i < words * 64 && word >> i % 64 & 1;
		if (on && !in)
			start = i;
		if (in && !on) {
			put(t, start + 1 < i ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64, before,
			    start, i - 1);
			before = ",";
		}
		in = on;
	}
}

/* As perf: the largest unit that leaves a whole number above 0, cut. */
static void put_bytes(struct teller *t, uint64_t n)
{
	const char *unit = "BKMG";

	for (; n >= 1024 && unit[1]; unit++)
		n /= 1024;
	put(t, "%" PRIu64 "%c", n, *unit);
}

static void tell_memory(struct teller *t, struct buf *b)
{
	uint64_t version = buf_u64(b), block = buf_u64(b), n = buf_u64(b);

	if (version != 1 || n > buf_left(b) / 24)
		return;
	put(t, "# memory nodes (nr %" PRIu64 ", block size 0x%" PRIx64 "):", n, block);
	end_line(t);
	for (; n && buf_ok(b); n--) {
		put(t, "#  %3" PRIu64 " [", buf_u64(b));
		buf_skip(b, 8); /* number of blocks the bitmap has room for */
		put_bytes(t, block * count_bits(*b));
		put(t, "]: ");
		put_bitmap(t, b);
		end_line(t);
	}
}

static void tell_clockid(struct teller *t, struct buf *b)
{
	put(t, "# clockid frequency: %" PRIu64 " MHz", buf_u64(b) * 1000);
	end_line(t);
}

static void tell_dir_format(struct teller *t, struct buf *b)
{
	put(t, "# directory data version : %" PRIu64, buf_u64(b));
	end_line(t);
}

static void tell_compressed(struct teller *t, struct buf *b)
{
	uint32_t type, level, ratio;

	buf_skip(b, 4); /* version */
	type = buf_u32(b);
	level = buf_u32(b);
	ratio = buf_u32(b);
	put(t, "# compressed : %s, level = %" PRIu32 ", ratio = %" PRIu32,
	    type == 1 ? "Zstd" : "Unknown", level, ratio);
	end_line(t);
}

static void put_caps(struct teller *t, struct buf *b, uint32_t n)
{
	char name[128], value[128];
	const char *before = " ";

	for (; n && buf_ok(b); n--, before = ", ") {
		take_text(b, name, sizeof name);
		put(t, "%s%s=%s", before, name, take_text(b, value, sizeof value));
	}
	end_line(t);
}

static void tell_cpu_caps(struct teller *t, struct buf *b)
{
	put(t, "# cpu pmu capabilities:");
	put_caps(t, b, take_count(b, 8));
}

static void tell_pmu_caps(struct teller *t, struct buf *b)
{
	char pmu[128];

	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		uint32_t caps = buf_u32(b);

		put(t, "# %s pmu capabilities:", take_text(b, pmu, sizeof pmu));
		put_caps(t, b, caps);
	}
}

static void tell_clock_data(struct teller *t, struct buf *b)
{
	uint32_t clockid;
	uint64_t wall, clock;

	buf_skip(b, 4); /* version */
	clockid = buf_u32(b);
	wall = buf_u64(b);
	clock = buf_u64(b);
	put(t, "# clockid: %" PRIu32, clockid);
	end_line(t);
	put(t,
	    "# reference time: %" PRIu64 ".%06" PRIu64 " (wall) = %" PRIu64 ".%06" PRIu64
	    " (sample clock)",
	    wall / 1000000000, wall / 1000 % 1000000, clock / 1000000000, clock / 1000 % 1000000);
	end_line(t);
}

static void tell_hybrid(struct teller *t, struct buf *b)
{
	char pmu[128], cpus[256];

	put(t, "# hybrid cpu system:");
	end_line(t);
	for (uint32_t n = take_count(b, 8); n && buf_ok(b); n--) {
		take_text(b, pmu, sizeof pmu);
		put(t, "# %s cpu list : %s", pmu, take_text(b, cpus, sizeof cpus));
		end_line(t);
	}
}

static void tell_presence(struct teller *t, const char *what)
{
	put(t, "# contains %s", what);
	end_line(t);
}

static void tell_branches(struct teller *t, struct buf *b)
{
	(void)b;
	tell_presence(t, "samples with branch stack");
}

static void tell_auxtrace(struct teller *t, struct buf *b)
{
	(void)b;
	tell_presence(t, "AUX area data (e.g. instruction trace)");
}

static void tell_stat(struct teller *t, struct buf *b)
{
	(void)b;
	tell_presence(t, "stat data");
}

/* By bit. Those without a function are told by tell_info() and tell_events(), or hold bulk data. */
static const struct {
	const char *name;
	void (*tell)(struct teller *t, struct buf *b);
} features[] = {
	[1] = {"TRACING_DATA", NULL},
	[2] = {"BUILD_ID", NULL},
	[3] = {"HOSTNAME", NULL},
	[4] = {"OSRELEASE", NULL},
	[5] = {"VERSION", NULL},
	[6] = {"ARCH", NULL},
	[7] = {"NRCPUS", NULL},
	[8] = {"CPUDESC", NULL},
	[9] = {"CPUID", NULL},
	[10] = {"TOTAL_MEM", NULL},
	[11] = {"CMDLINE", NULL},
	[12] = {"EVENT_DESC", NULL},
	[13] = {"CPU_TOPOLOGY", tell_cpu_topology},
	[14] = {"NUMA_TOPOLOGY", tell_numa},
	[15] = {"BRANCH_STACK", tell_branches},
	[16] = {"PMU_MAPPINGS", tell_pmus},
	[17] = {"GROUP_DESC", tell_groups},
	[18] = {"AUXTRACE", tell_auxtrace},
	[19] = {"STAT", tell_stat},
	[20] = {"CACHE", tell_caches},
	[21] = {"SAMPLE_TIME", tell_sample_time},
	[22] = {"MEM_TOPOLOGY", tell_memory},
	[23] = {"CLOCKID", tell_clockid},
	[24] = {"DIR_FORMAT", tell_dir_format},
	[25] = {"BPF_PROG_INFO", NULL},
	[26] = {"BPF_BTF", NULL},
	[27] = {"COMPRESSED", tell_compressed},
	[28] = {"CPU_PMU_CAPS", tell_cpu_caps},
	[29] = {"CLOCK_DATA", tell_clock_data},
	[30] = {"HYBRID_TOPOLOGY", tell_hybrid},
	[31] = {"PMU_CAPS", tell_pmu_caps},
};

enum { FEATURES_N = sizeof features / sizeof *features };

static void tell_string(struct teller *t, const char *what, const char *value)
{
	if (!value)
		return;
	put(t, "# %s : %s", what, value);
	end_line(t);
}

static void tell_info(struct teller *t)
{
	const struct perf_file_info *i = &t->f->info;
	time_t mtime = (time_t)(i->file_mtime_ns / 1000000000);
	char when[32];

	if (mtime && ctime_r(&mtime, when)) {
		put(t, "# captured on    : %.24s", when);
		end_line(t);
	}
	tell_string(t, "hostname", i->hostname);
	tell_string(t, "os release", i->os_release);
	tell_string(t, "perf version", i->version);
	tell_string(t, "arch", i->arch);
	if (i->cpus_online) {
		put(t, "# nrcpus online : %" PRIu32, i->cpus_online);
		end_line(t);
		put(t, "# nrcpus avail : %" PRIu32, i->cpus_available);
		end_line(t);
	}
	tell_string(t, "cpudesc", i->cpu_desc);
	tell_string(t, "cpuid", i->cpu_id);
	if (i->total_mem_bytes) {
		put(t, "# total memory : %" PRIu64 " kB", i->total_mem_bytes / 1024);
		end_line(t);
	}
	if (!i->n_cmdline)
		return;
	put(t, "# cmdline :");
	for (size_t k = 0; k < i->n_cmdline; k++)
		put(t, " %s", i->cmdline[k]);
	end_line(t);
}

static void put_sample_type(struct teller *t, uint64_t type)
{
	static const char *const names[] = {"IP",
					    "TID",
					    "TIME",
					    "ADDR",
					    "READ",
					    "CALLCHAIN",
					    "ID",
					    "CPU",
					    "PERIOD",
					    "STREAM_ID",
					    "RAW",
					    "BRANCH_STACK",
					    "REGS_USER",
					    "STACK_USER",
					    "WEIGHT",
					    "DATA_SRC",
					    "IDENTIFIER",
					    "TRANSACTION",
					    "REGS_INTR",
					    "PHYS_ADDR",
					    "AUX",
					    "CGROUP",
					    "DATA_PAGE_SIZE",
					    "CODE_PAGE_SIZE",
					    "WEIGHT_STRUCT"};
	const char *before = ", sample_type = ";

	for (size_t bit = 0; bit < sizeof names / sizeof *names; bit++)
		if (type >> bit & 1) {
			put(t, "%s%s", before, names[bit]);
			before = "|";
		}
}

static void tell_events(struct teller *t)
{
	for (size_t k = 0; k < perf_file_event_count(t->f); k++) {
		const struct perf_event *e = perf_file_event(t->f, k);
		const char *before = "";

		put(t, "# event : name = %s, , id = { ", e->name);
		for (size_t i = 0; i < e->n_ids; i++, before = ", ")
			put(t, "%s%" PRIu64, before, e->ids[i]);
		put(t, " }, type = %" PRIu32 ", size = %" PRIu32, e->attr.type, e->attr.size);
		if (e->attr.config)
			put(t, ", config = 0x%" PRIx64, e->attr.config);
		put(t, ", { sample_period, sample_freq } = %" PRIu64, e->attr.sample_period);
		put_sample_type(t, e->attr.sample_type);
		if (e->attr.sample_stack_user)
			put(t, ", sample_regs_user = 0x%" PRIx64 ", sample_stack_user = %" PRIu32,
			    e->attr.sample_regs_user, e->attr.sample_stack_user);
		end_line(t);
	}
}

static void tell_missing(struct teller *t)
{
	size_t size;

	put(t, "# missing features:");
	for (unsigned bit = 1; bit < FEATURES_N; bit++)
		if (!perf_file_feature(t->f, bit, &size))
			put(t, " %s", features[bit].name);
	end_line(t);
}

void perf_file_header(const struct perf_file *f, void (*say)(void *arg, const char *line),
		      void *arg)
{
	struct teller t = {.f = f, .say = say, .arg = arg};

	say(arg, "# ========");
	tell_info(&t);
	tell_events(&t);
	for (unsigned bit = 1; bit < FEATURES_N; bit++) {
		size_t size;
		const uint8_t *p = perf_file_feature(f, bit, &size);
		struct buf b = buf_make(p, size, 0, f->swap);

		if (p && features[bit].tell)
			features[bit].tell(&t, &b);
	}
	simpleperf_header(f, say, arg);
	tell_missing(&t);
	say(arg, "# ========");
	say(arg, "#");
}
