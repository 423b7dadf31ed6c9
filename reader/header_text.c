/* header_text.c - how each feature section is printed, and the lines that do not come from a
 * section. */
#include "reader/header_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "reader/features.h"

/* Longer lines are cut. */
enum { LINE_MAX_BYTES = 1 << 20 };

__attribute__((format(printf, 2, 0))) static void add(struct header_printer *t, const char *fmt,
						      va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || t->line.n + (size_t)n >= LINE_MAX_BYTES ||
	    vec_reserve(&t->line, t->line.n + (size_t)n + 1))
		return;
	vsnprintf(t->line.v + t->line.n, (size_t)n + 1, fmt, ap);
	t->line.n += (size_t)n;
}

void print_part(struct header_printer *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
}

void put_line(struct header_printer *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
	print_end(t);
}

/* Control characters in a recording's strings are never printed. */
void print_end(struct header_printer *t)
{
	for (size_t i = 0; i < t->line.n; i++)
		if (((unsigned char)t->line.v[i] < 0x20 && t->line.v[i] != '\t') ||
		    t->line.v[i] == 0x7f)
			t->line.v[i] = '?';
	if (t->line.v)
		t->line.v[t->line.n] = '\0'; /* the buffer may still hold a longer line */
	t->say(t->arg, t->line.v ? t->line.v : "");
	t->line.n = 0;
}

struct header_string take_text(struct buf *b)
{
	uint32_t len = buf_u32(b);
	const char *s = (const char *)buf_take(b, len);

	return s ? (struct header_string){(int)strnlen(s, len < INT32_MAX ? len : INT32_MAX), s}
		 : (struct header_string){0, ""};
}

uint32_t take_count(struct buf *b, size_t least_bytes_each)
{
	uint32_t n = buf_u32(b);
	size_t most = buf_left(b) / least_bytes_each;

	return n < most ? n : (uint32_t)most;
}

/* ---- sections of a line or two ----------------------------------------------------------- */

static void print_sample_time(struct header_printer *t, struct buf *b)
{
	uint64_t first = buf_u64(b), last = buf_u64(b);

	put_line(t, "# time of first sample : %" PRIu64 ".%06" PRIu64, first / 1000000000,
		 first / 1000 % 1000000);
	put_line(t, "# time of last sample : %" PRIu64 ".%06" PRIu64, last / 1000000000,
		 last / 1000 % 1000000);
	put_line(t, "# sample duration : %10.3f ms", (double)(last - first) / 1e6);
}

static void print_clockid(struct header_printer *t, struct buf *b)
{
	put_line(t, "# clockid frequency: %" PRIu64 " MHz", buf_u64(b) * 1000);
}

static void print_dir_format(struct header_printer *t, struct buf *b)
{
	put_line(t, "# directory data version : %" PRIu64, buf_u64(b));
}

static void print_compressed(struct header_printer *t, struct buf *b)
{
	uint32_t type, level, ratio;

	buf_skip(b, 4); /* version */
	type = buf_u32(b);
	level = buf_u32(b);
	ratio = buf_u32(b);
	put_line(t, "# compressed : %s, level = %" PRIu32 ", ratio = %" PRIu32,
		 type == COMPRESSED_ZSTD ? "Zstd" : "Unknown", level, ratio);
}

/* uapi/linux/time.h, in perf's words (tools/perf/util/clockid.c). */
static const char *clock_name(uint32_t id)
{
	static const char *const names[] = {
		[0] = "realtime", [1] = "monotonic", [4] = "monotonic_raw",
		[7] = "boottime", [11] = "tai",
	};

	return id < sizeof names / sizeof *names && names[id] ? names[id] : "(not found)";
}

static void print_clock_data(struct header_printer *t, struct buf *b)
{
	uint64_t wall, clock;
	uint32_t id;
	char when[64];
	struct tm tm;
	time_t sec;

	buf_skip(b, 4); /* version */
	id = buf_u32(b);
	wall = buf_u64(b);
	clock = buf_u64(b);
	sec = (time_t)(wall / 1000000000);
	if (!buf_ok(b) || !localtime_r(&sec, &tm) || !strftime(when, sizeof when, "%F %T", &tm))
		return;
	put_line(t, "# clockid: %s (%" PRIu32 ")", clock_name(id), id);
	put_line(t,
		 "# reference time: %s.%06" PRIu64 " = %" PRIu64 ".%06" PRIu64 " (TOD) = %" PRIu64
		 ".%09" PRIu64 " (%s)",
		 when, wall / 1000 % 1000000, wall / 1000000000, wall / 1000 % 1000000,
		 clock / 1000000000, clock % 1000000000, clock_name(id));
}

/* For programs of this machine and ABI (elf.h, EM_*). */
static void print_e_machine(struct header_printer *t, struct buf *b)
{
	uint32_t machine = buf_u32(b), flags = buf_u32(b);

	put_line(t, "# e_machine : %" PRIu32, machine);
	put_line(t, "#   e_flags : %" PRIu32, flags);
}

static void print_line_size(struct header_printer *t, struct buf *b)
{
	put_line(t, "# cacheline size : %" PRIu32, buf_u32(b));
}

#define SHOWN_BY_PERF(name) name " info available; perf report --header-only -I shows it"

/* Indexed by feature bit. Features without a function are printed by print_info() and
 * print_events(), are only mentioned, or hold bulk data. */
static const struct {
	const char *name;
	void (*print)(struct header_printer *t, struct buf *b);
	const char *is_there;
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
	[13] = {"CPU_TOPOLOGY", NULL, SHOWN_BY_PERF("CPU_TOPOLOGY")},
	[14] = {"NUMA_TOPOLOGY", NULL, SHOWN_BY_PERF("NUMA_TOPOLOGY")},
	[15] = {"BRANCH_STACK", NULL, "contains samples with branch stack"},
	[16] = {"PMU_MAPPINGS", print_pmus},
	[17] = {"GROUP_DESC", print_groups},
	[18] = {"AUXTRACE", NULL, "contains AUX area data (e.g. instruction trace)"},
	[19] = {"STAT", NULL, "contains stat data"},
	[20] = {"CACHE", NULL, SHOWN_BY_PERF("CACHE")},
	[21] = {"SAMPLE_TIME", print_sample_time},
	[22] = {"MEM_TOPOLOGY", NULL, SHOWN_BY_PERF("MEM_TOPOLOGY")},
	[23] = {"CLOCKID", print_clockid},
	[24] = {"DIR_FORMAT", print_dir_format},
	[25] = {"BPF_PROG_INFO", NULL, SHOWN_BY_PERF("BPF_PROG_INFO")},
	[26] = {"BPF_BTF", NULL, SHOWN_BY_PERF("BPF_BTF")},
	[27] = {"COMPRESSED", print_compressed},
	[28] = {"CPU_PMU_CAPS", print_cpu_caps},
	[29] = {"CLOCK_DATA", print_clock_data},
	[30] = {"HYBRID_TOPOLOGY", NULL, SHOWN_BY_PERF("HYBRID_TOPOLOGY")},
	[31] = {"PMU_CAPS", print_pmu_caps},
	[32] = {"CPU_DOMAIN_INFO", NULL, SHOWN_BY_PERF("CPU_DOMAIN_INFO")},
	[33] = {"E_MACHINE", print_e_machine},
	[34] = {"CLN_SIZE", print_line_size},
};

enum { FEATURES_N = sizeof features / sizeof *features };

const char *feature_name(unsigned bit)
{
	if (bit == FEATURE_BUNDLE)
		return "bundle of files";
	return bit < FEATURES_N && features[bit].name ? features[bit].name : "unknown";
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void print_string(struct header_printer *t, const char *what, const char *value)
{
	if (value)
		put_line(t, "# %s : %s", what, value);
}

static void print_container(struct header_printer *t)
{
	const struct perf_file *f = t->f;
	time_t mtime = (time_t)(f->info.file_mtime_ns / 1000000000);
	char when[32];

	if (mtime && ctime_r(&mtime, when))
		put_line(t, "# captured on    : %.24s", when);
	if (f->info.is_pipe)
		return;
	put_line(t, "# header version : %d", f->is_v1 ? 0 : 1);
	put_line(t, "# data offset    : %" PRIu64, f->data.offset);
	put_line(t, "# data size      : %" PRIu64, f->data.size);
	put_line(t, "# feat offset    : %" PRIu64, f->data.offset + f->data.size);
}

static void print_info(struct header_printer *t)
{
	const struct perf_file_info *i = &t->f->info;

	print_string(t, "hostname", i->hostname);
	print_string(t, "os release", i->os_release);
	print_string(t, "perf version", i->version);
	print_string(t, "arch", i->arch);
	if (i->cpus_online) {
		put_line(t, "# nrcpus online : %" PRIu32, i->cpus_online);
		put_line(t, "# nrcpus avail : %" PRIu32, i->cpus_available);
	}
	print_string(t, "cpudesc", i->cpu_desc);
	print_string(t, "cpuid", i->cpu_id);
	if (i->total_mem_bytes)
		put_line(t, "# total memory : %" PRIu64 " kB", i->total_mem_bytes / 1024);
	if (!i->n_cmdline)
		return;
	print_part(t, "# cmdline :");
	for (size_t k = 0; k < i->n_cmdline; k++)
		print_part(t, " %s", i->cmdline[k]);
	print_end(t);
}

static void print_missing(struct header_printer *t)
{
	print_part(t, "# missing features:");
	for (unsigned bit = 1; bit < FEATURES_N; bit++)
		if (!t->f->features->v[bit].present)
			print_part(t, " %s", features[bit].name);
	print_end(t);
}

void perf_file_header(const struct perf_file *f, void (*say)(void *arg, const char *line),
		      void *arg)
{
	struct header_printer t = {.f = f, .say = say, .arg = arg};

	put_line(&t, "# ========");
	print_container(&t);
	print_info(&t);
	print_events(&t);
	for (unsigned bit = 1; bit < FEATURES_N; bit++) {
		size_t size;
		const uint8_t *p = features[bit].print ? perf_file_feature(f, bit, &size) : NULL;
		struct buf b = buf_make(p, p ? size : 0, 0, f->swap);

		if (p)
			features[bit].print(&t, &b);
		if (features[bit].is_there && f->features->v[bit].present)
			put_line(&t, "# %s", features[bit].is_there);
	}
	print_simpleperf(&t);
	print_missing(&t);
	put_line(&t, "# ========");
	put_line(&t, "#");
	vec_done(&t.line);
}
