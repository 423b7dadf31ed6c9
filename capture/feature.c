/* feature.c - the feature sections of perf.data, which describe the recorded machine. */
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "capture/attr.h"
#include "reader/format.h"
#include "reader/reader.h"
#include "capture/perfdata.h"
#include "capture/sysfile.h"

/* perf.data-file-format.txt: u32 length including the padding, then the text, padded with NULs to a
 * multiple of 64 bytes. */
static void put_string(struct bytes *b, const char *s)
{
	size_t n = strlen(s) + 1, padded = (n + 63) & ~(size_t)63;

	bytes_u32(b, (uint32_t)padded);
	bytes_put(b, s, n);
	bytes_zeros(b, padded - n);
}

static void put_hostname(const struct perfdata_facts *f, struct bytes *b)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(b, u.nodename);
}

static void put_osrelease(const struct perfdata_facts *f, struct bytes *b)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(b, u.release);
}

static void put_arch(const struct perfdata_facts *f, struct bytes *b)
{
	struct utsname u;

	(void)f;
	if (!uname(&u))
		put_string(b, u.machine);
}

static void put_version(const struct perfdata_facts *f, struct bytes *b)
{
	(void)f;
	put_string(b, "unspool " UNSPOOL_VERSION);
}

static void put_nrcpus(const struct perfdata_facts *f, struct bytes *b)
{
	(void)f;
	bytes_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	bytes_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* The value of the first "key : value" line of /proc/cpuinfo. */
static bool cpuinfo_value(const char *key, char *ret, size_t size)
{
	char text[4096], *line = text;
	size_t len = strlen(key);

	if (sysfile_read("/proc/cpuinfo", text, sizeof text) < 0)
		return false;
	while (line && *line) {
		char *end = strchr(line, '\n'), *colon;

		if (end)
			*end = 0;
		colon = strchr(line, ':');
		if (colon && !strncmp(line, key, len) && strspn(line + len, " \t:")) {
			snprintf(ret, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
			return true;
		}
		line = end ? end + 1 : NULL;
	}
	return false;
}

static void put_cpudesc(const struct perfdata_facts *f, struct bytes *b)
{
	char text[256];

	(void)f;
	if (cpuinfo_value("model name", text, sizeof text))
		put_string(b, text);
}

static void put_cpuid(const struct perfdata_facts *f, struct bytes *b)
{
	char text[256], vendor[64], family[32], model[32], stepping[32];

	(void)f;
	if (cpuinfo_value("vendor_id", vendor, sizeof vendor) &&
	    cpuinfo_value("cpu family", family, sizeof family) &&
	    cpuinfo_value("model", model, sizeof model) &&
	    cpuinfo_value("stepping", stepping, sizeof stepping))
		snprintf(text, sizeof text, "%s,%s,%s,%s", vendor, family, model, stepping);
	else if (sysfile_line("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", text,
			      sizeof text))
		return;
	put_string(b, text);
}

static void put_total_mem(const struct perfdata_facts *f, struct bytes *b)
{
	struct sysinfo si;

	(void)f;
	if (!sysinfo(&si))
		bytes_u64(b, (uint64_t)si.totalram * si.mem_unit / 1024);
}

static void put_cmdline(const struct perfdata_facts *f, struct bytes *b)
{
	if (f->argc <= 0)
		return;
	bytes_u32(b, (uint32_t)f->argc);
	for (int i = 0; i < f->argc; i++)
		put_string(b, f->argv[i]);
}

static void put_event_desc(const struct perfdata_facts *f, struct bytes *b)
{
	bytes_u32(b, (uint32_t)f->n_events);
	bytes_u32(b, ATTR_SIZE);
	for (size_t i = 0; i < f->n_events; i++) {
		const struct perfdata_event *e = &f->events[i];

		bytes_put(b, e->attr, ATTR_SIZE);
		bytes_u32(b, (uint32_t)e->n_ids);
		put_string(b, e->name);
		bytes_put(b, e->ids, e->n_ids * sizeof *e->ids);
	}
}

static void put_sample_time(const struct perfdata_facts *f, struct bytes *b)
{
	if (!f->last_sample_ns)
		return;
	bytes_u64(b, f->first_sample_ns);
	bytes_u64(b, f->last_sample_ns);
}

static void put_end_time(const struct perfdata_facts *f, struct bytes *b)
{
	if (f->end_ns)
		bytes_u64(b, f->end_ns);
}

static void put_counted(const struct perfdata_facts *f, struct bytes *b)
{
	if (!f->counted)
		return;
	bytes_u64(b, f->counted);
	bytes_u64(b, f->sampled);
	bytes_u64(b, f->hypervisor_took);
}

static void put_clockid(const struct perfdata_facts *f, struct bytes *b)
{
	struct timespec res;

	if (f->has_clock && !clock_getres(ATTR_CLOCK, &res))
		bytes_u64(b, (uint64_t)res.tv_sec * 1000000000 + (uint64_t)res.tv_nsec);
}

static void put_clock_data(const struct perfdata_facts *f, struct bytes *b)
{
	if (!f->has_clock)
		return;
	bytes_u32(b, 1); /* version */
	bytes_u32(b, ATTR_CLOCK);
	bytes_u64(b, f->clock_wall_ns);
	bytes_u64(b, f->clock_ns);
}

void perfdata_compressed_feature(const struct perfdata_facts *f, struct bytes *b)
{
	if (!f->compress_level)
		return;
	bytes_u32(b, 1); /* version */
	bytes_u32(b, COMPRESSED_ZSTD);
	bytes_u32(b, (uint32_t)f->compress_level);
	bytes_u32(b, f->data_bytes ? (uint32_t)(f->raw_bytes / f->data_bytes) : 1);
	/* Limit on what one record decompresses to: readers allocate their buffers by it. */
	bytes_u32(b, 65536);
}

static void put_tracing_data(const struct perfdata_facts *f, struct bytes *b)
{
	if (f->n_tracing_data)
		bytes_put(b, f->tracing_data, f->n_tracing_data);
}

static void put_build_ids(const struct perfdata_facts *f, struct bytes *b)
{
	if (f->n_build_ids)
		bytes_put(b, f->build_ids, f->n_build_ids);
}

static void put_bundle(const struct perfdata_facts *f, struct bytes *b)
{
	if (f->n_bundle)
		bytes_put(b, f->bundle, f->n_bundle);
}

/* Sorted by bit, as the section table must be. A row that writes nothing is left out. */
static const struct feature_row {
	unsigned bit; /* enum perfdata_feature, FEATURE_BUNDLE */
	void (*put)(const struct perfdata_facts *f, struct bytes *b);
} rows[] = {
	{FEATURE_TRACING_DATA, put_tracing_data},
	{FEATURE_BUILD_ID, put_build_ids},
	{FEATURE_HOSTNAME, put_hostname},
	{FEATURE_OSRELEASE, put_osrelease},
	{FEATURE_VERSION, put_version},
	{FEATURE_ARCH, put_arch},
	{FEATURE_NRCPUS, put_nrcpus},
	{FEATURE_CPUDESC, put_cpudesc},
	{FEATURE_CPUID, put_cpuid},
	{FEATURE_TOTAL_MEM, put_total_mem},
	{FEATURE_CMDLINE, put_cmdline},
	{FEATURE_EVENT_DESC, put_event_desc},
	{FEATURE_SAMPLE_TIME, put_sample_time},
	{FEATURE_CLOCKID, put_clockid},
	{FEATURE_COMPRESSED, perfdata_compressed_feature},
	{FEATURE_CLOCK_DATA, put_clock_data},
	{FEATURE_BUNDLE, put_bundle},
	{FEATURE_END_TIME, put_end_time},
	{FEATURE_COUNTED, put_counted},
};

#define N_ROWS (sizeof rows / sizeof *rows)

static bool is_known_at_end(unsigned bit)
{
	return bit == FEATURE_SAMPLE_TIME || bit == FEATURE_BUILD_ID;
}

/* The entries of the section are records already, but for their type. */
static void put_build_id_records(const struct bytes *section, struct bytes *out)
{
	struct perf_event_header h;

	for (size_t at = 0; at + sizeof h <= section->vec.n; at += h.size) {
		memcpy(&h, section->vec.v + at, sizeof h);
		if (h.size < sizeof h || h.size > section->vec.n - at)
			return;
		h.type = RECORD_BUILD_ID;
		bytes_put(out, &h, sizeof h);
		bytes_put(out, section->vec.v + at + sizeof h, h.size - sizeof h);
	}
}

void perfdata_feature_records(const struct perfdata_facts *facts, bool at_end, struct bytes *out)
{
	for (size_t i = 0; i < N_ROWS; i++) {
		const unsigned bit = rows[i].bit;
		struct perf_event_header h = {.type = RECORD_HEADER_FEATURE};
		struct bytes body = {0};

		/* perf ends at the records of features that it does not know. */
		if (bit == FEATURE_TRACING_DATA || bit == FEATURE_BUNDLE ||
		    bit == FEATURE_END_TIME || bit == FEATURE_COUNTED ||
		    is_known_at_end(bit) != at_end)
			continue;
		rows[i].put(facts, &body);
		if (body.vec.n)
			bytes_zeros(&body, (8 - body.vec.n % 8) % 8);
		if (bit == FEATURE_BUILD_ID) {
			put_build_id_records(&body, out);
		} else if (body.vec.n && sizeof h + 8 + body.vec.n <= UINT16_MAX) {
			h.size = (uint16_t)(sizeof h + 8 + body.vec.n);
			bytes_put(out, &h, sizeof h);
			bytes_u64(out, bit);
			bytes_put(out, body.vec.v, body.vec.n);
		}
		out->failed |= body.failed;
		bytes_done(&body);
	}
}

int perfdata_features(const struct perfdata_facts *facts, uint64_t off, struct bytes *out,
		      uint64_t bits[4])
{
	struct perfdata_section table[N_ROWS];
	struct bytes body = {0};
	size_t n = 0;
	int rc;

	memset(bits, 0, 4 * sizeof *bits);
	for (size_t i = 0; i < N_ROWS; i++) {
		size_t start = body.vec.n;

		rows[i].put(facts, &body);
		if (body.vec.n == start)
			continue;
		table[n++] = (struct perfdata_section){start, body.vec.n - start};
		bits[rows[i].bit / 64] |= 1ull << rows[i].bit % 64;
	}
	for (size_t i = 0; i < n; i++)
		table[i].offset += off + n * sizeof *table;
	bytes_put(out, table, n * sizeof *table);
	bytes_put(out, body.vec.v, body.vec.n);
	rc = body.failed || out->failed ? -1 : 0;
	bytes_done(&body);
	return rc;
}
