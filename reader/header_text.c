/* header_text.c - which section is told how, and what is no section. */
#include "reader/header_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "reader/features.h"

/* Longer lines are cut. */
enum { LINE_MAX_BYTES = 1 << 20 };

__attribute__((format(printf, 2, 0))) static void add(struct teller *t, const char *fmt, va_list ap)
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

void tell_part(struct teller *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
}

void tell(struct teller *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(t, fmt, ap);
	va_end(ap);
	tell_end(t);
}

/* Control characters that a recording brings never get out. */
void tell_end(struct teller *t)
{
	for (size_t i = 0; i < t->line.n; i++)
		if (((unsigned char)t->line.v[i] < 0x20 && t->line.v[i] != '\t') ||
		    t->line.v[i] == 0x7f)
			t->line.v[i] = '?';
	if (t->line.v)
		t->line.v[t->line.n] = '\0'; /* what is there may be of the line before */
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

static void tell_sample_time(struct teller *t, struct buf *b)
{
	uint64_t first = buf_u64(b), last = buf_u64(b);

	tell(t, "# time of first sample : %" PRIu64 ".%06" PRIu64, first / 1000000000,
	     first / 1000 % 1000000);
	tell(t, "# time of last sample : %" PRIu64 ".%06" PRIu64, last / 1000000000,
	     last / 1000 % 1000000);
	tell(t, "# sample duration : %10.3f ms", (double)(last - first) / 1e6);
}

static void tell_clockid(struct teller *t, struct buf *b)
{
	tell(t, "# clockid frequency: %" PRIu64 " MHz", buf_u64(b) * 1000);
}

static void tell_dir_format(struct teller *t, struct buf *b)
{
	tell(t, "# directory data version : %" PRIu64, buf_u64(b));
}

static void tell_compressed(struct teller *t, struct buf *b)
{
	uint32_t type, level, ratio;

	buf_skip(b, 4); /* version */
	type = buf_u32(b);
	level = buf_u32(b);
	ratio = buf_u32(b);
	tell(t, "# compressed : %s, level = %" PRIu32 ", ratio = %" PRIu32,
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

static void tell_clock_data(struct teller *t, struct buf *b)
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
	tell(t, "# clockid: %s (%" PRIu32 ")", clock_name(id), id);
	tell(t,
	     "# reference time: %s.%06" PRIu64 " = %" PRIu64 ".%06" PRIu64 " (TOD) = %" PRIu64
	     ".%09" PRIu64 " (%s)",
	     when, wall / 1000 % 1000000, wall / 1000000000, wall / 1000 % 1000000,
	     clock / 1000000000, clock % 1000000000, clock_name(id));
}

static void tell_branches(struct teller *t, struct buf *b)
{
	(void)b;
	tell(t, "# contains samples with branch stack");
}

static void tell_auxtrace(struct teller *t, struct buf *b)
{
	(void)b;
	tell(t, "# contains AUX area data (e.g. instruction trace)");
}

static void tell_stat(struct teller *t, struct buf *b)
{
	(void)b;
	tell(t, "# contains stat data");
}

/* Of programs for this machine and ABI (elf.h, EM_*). */
static void tell_e_machine(struct teller *t, struct buf *b)
{
	uint32_t machine = buf_u32(b), flags = buf_u32(b);

	tell(t, "# e_machine : %" PRIu32, machine);
	tell(t, "#   e_flags : %" PRIu32, flags);
}

static void tell_line_size(struct teller *t, struct buf *b)
{
	tell(t, "# cacheline size : %" PRIu32, buf_u32(b));
}

/* By bit. Those without a function are told by tell_info() and tell_events(), or hold bulk data. Of
 * is_long ones it is only said that they are there. */
static const struct {
	const char *name;
	void (*tell)(struct teller *t, struct buf *b);
	bool is_long;
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
	[13] = {"CPU_TOPOLOGY", NULL, true},
	[14] = {"NUMA_TOPOLOGY", NULL, true},
	[15] = {"BRANCH_STACK", tell_branches},
	[16] = {"PMU_MAPPINGS", tell_pmus},
	[17] = {"GROUP_DESC", tell_groups},
	[18] = {"AUXTRACE", tell_auxtrace},
	[19] = {"STAT", tell_stat},
	[20] = {"CACHE", NULL, true},
	[21] = {"SAMPLE_TIME", tell_sample_time},
	[22] = {"MEM_TOPOLOGY", NULL, true},
	[23] = {"CLOCKID", tell_clockid},
	[24] = {"DIR_FORMAT", tell_dir_format},
	[25] = {"BPF_PROG_INFO", NULL, true},
	[26] = {"BPF_BTF", NULL, true},
	[27] = {"COMPRESSED", tell_compressed},
	[28] = {"CPU_PMU_CAPS", tell_cpu_caps},
	[29] = {"CLOCK_DATA", tell_clock_data},
	[30] = {"HYBRID_TOPOLOGY", NULL, true},
	[31] = {"PMU_CAPS", tell_pmu_caps},
	[32] = {"CPU_DOMAIN_INFO", NULL, true},
	[33] = {"E_MACHINE", tell_e_machine},
	[34] = {"CLN_SIZE", tell_line_size},
};

enum { FEATURES_N = sizeof features / sizeof *features };

const char *feature_name(unsigned bit)
{
	return bit < FEATURES_N && features[bit].name ? features[bit].name : "unknown";
}

/* ---- the rest ---------------------------------------------------------------------------- */

static void tell_string(struct teller *t, const char *what, const char *value)
{
	if (value)
		tell(t, "# %s : %s", what, value);
}

static void tell_container(struct teller *t)
{
	const struct perf_file *f = t->f;
	time_t mtime = (time_t)(f->info.file_mtime_ns / 1000000000);
	char when[32];

	if (mtime && ctime_r(&mtime, when))
		tell(t, "# captured on    : %.24s", when);
	if (f->info.is_pipe)
		return;
	tell(t, "# header version : %d", f->is_v1 ? 0 : 1);
	tell(t, "# data offset    : %" PRIu64, f->data.offset);
	tell(t, "# data size      : %" PRIu64, f->data.size);
	tell(t, "# feat offset    : %" PRIu64, f->data.offset + f->data.size);
}

static void tell_info(struct teller *t)
{
	const struct perf_file_info *i = &t->f->info;

	tell_string(t, "hostname", i->hostname);
	tell_string(t, "os release", i->os_release);
	tell_string(t, "perf version", i->version);
	tell_string(t, "arch", i->arch);
	if (i->cpus_online) {
		tell(t, "# nrcpus online : %" PRIu32, i->cpus_online);
		tell(t, "# nrcpus avail : %" PRIu32, i->cpus_available);
	}
	tell_string(t, "cpudesc", i->cpu_desc);
	tell_string(t, "cpuid", i->cpu_id);
	if (i->total_mem_bytes)
		tell(t, "# total memory : %" PRIu64 " kB", i->total_mem_bytes / 1024);
	if (!i->n_cmdline)
		return;
	tell_part(t, "# cmdline :");
	for (size_t k = 0; k < i->n_cmdline; k++)
		tell_part(t, " %s", i->cmdline[k]);
	tell_end(t);
}

static void tell_missing(struct teller *t)
{
	tell_part(t, "# missing features:");
	for (unsigned bit = 1; bit < FEATURES_N; bit++)
		if (!t->f->features->v[bit].present)
			tell_part(t, " %s", features[bit].name);
	tell_end(t);
}

void perf_file_header(const struct perf_file *f, void (*say)(void *arg, const char *line),
		      void *arg)
{
	struct teller t = {.f = f, .say = say, .arg = arg};

	tell(&t, "# ========");
	tell_container(&t);
	tell_info(&t);
	tell_events(&t);
	for (unsigned bit = 1; bit < FEATURES_N; bit++) {
		size_t size;
		const uint8_t *p = features[bit].tell ? perf_file_feature(f, bit, &size) : NULL;
		struct buf b = buf_make(p, p ? size : 0, 0, f->swap);

		if (p)
			features[bit].tell(&t, &b);
		if (features[bit].is_long && f->features->v[bit].present)
			tell(&t, "# %s info available; perf report --header-only -I shows it",
			     features[bit].name);
	}
	tell_simpleperf(&t);
	tell_missing(&t);
	tell(&t, "# ========");
	tell(&t, "#");
	vec_done(&t.line);
}
