/* feature_parse.c - one function per header feature that the reader uses, and the table of them.
 *
 * Source: tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c. */
#include <stdlib.h>
#include <string.h>

#include "reader/features.h"
#include "reader/file.h"

/* Reads a string: u32 length (padded), then bytes with a NUL among them. Returns "" if it is empty,
 * NULL at the end of the section. */
static const char *take_string(struct perf_file *f, struct buf *b)
{
	uint32_t len = buf_u32(b);
	const uint8_t *p = buf_take(b, len);

	return p ? arena_strndup(&f->arena, (const char *)p, strnlen((const char *)p, len)) : NULL;
}

/* The available processors come before the online ones, unlike in perf's own description. */
static int parse_n_cpus(struct perf_file *f, struct buf *b)
{
	f->info.cpus_available = buf_u32(b);
	f->info.cpus_online = buf_u32(b);
	return 0;
}

static int parse_total_mem(struct perf_file *f, struct buf *b)
{
	uint64_t kib = buf_u64(b);

	f->info.total_mem_bytes = kib <= UINT64_MAX / 1024 ? kib * 1024 : 0;
	return 0;
}

static int parse_cmdline(struct perf_file *f, struct buf *b)
{
	uint32_t n = buf_u32(b), i;
	const char **argv;

	if (n > buf_left(b) / 4)
		n = (uint32_t)(buf_left(b) / 4);
	argv = arena_alloc(&f->arena, (n + 1) * sizeof *argv);
	if (!argv)
		return err_nomem(&f->err);
	for (i = 0; i < n; i++) {
		argv[i] = take_string(f, b);
		if (!argv[i])
			break;
	}
	f->info.cmdline = argv;
	f->info.n_cmdline = i;
	return 0;
}

/* Before Linux 2.6.35 there was no pid, so the path begins 4 bytes earlier. The first entry is the
 * kernel's, whose path is known. */
static bool is_without_pid(struct buf b)
{
	static const char chopped[] = "nel.kallsyms]";
	const uint8_t *path;

	buf_skip(&b, 8 + 4 + 24);
	path = buf_take(&b, sizeof chopped);
	return path && !memcmp(path, chopped, sizeof chopped);
}

/* A sequence of records {header, pid, id[24], path}. */
static int parse_build_ids(struct perf_file *f, struct buf *b)
{
	const bool has_pid = !is_without_pid(*b);

	while (buf_left(b) >= sizeof(struct perf_event_header)) {
		struct buf head = *b, rec;
		uint16_t size;

		buf_skip(&head, 6);
		size = buf_u16(&head);
		if (size < sizeof(struct perf_event_header))
			break;
		rec = buf_sub(b, size);
		if (!buf_ok(&rec))
			break;
		if (build_id_record(f, rec, has_pid))
			return -ERR_NOMEM;
	}
	return 0;
}

int build_id_record(struct perf_file *f, struct buf rec, bool has_pid)
{
	enum { ID_FIELD = 24, SIZE_BYTE = 20 };
	struct build_id id = {.size = BUILD_ID_MAX};
	uint16_t misc;
	const uint8_t *raw;
	const char *path;

	buf_skip(&rec, 4);
	misc = buf_u16(&rec);
	buf_skip(&rec, has_pid ? 2 + 4 : 2); /* size, pid */
	raw = buf_take(&rec, ID_FIELD);
	path = buf_cstr(&rec);
	if (!raw || !path)
		return 0;
	memcpy(id.bytes, raw, BUILD_ID_MAX);
	if (misc & MISC_BUILD_ID_SIZE && raw[SIZE_BYTE] <= BUILD_ID_MAX)
		id.size = raw[SIZE_BYTE];
	else /* writers that store no size fill short ids with zeros to a multiple of a word */
		while (id.size > 4 && !memcmp(id.bytes + id.size - 4, "\0\0\0\0", 4))
			id.size -= 4;
	return machine_add_build_id(f->machine, path, &id, misc) ? err_nomem(&f->err) : 0;
}

static int parse_sample_time(struct perf_file *f, struct buf *b)
{
	f->info.first_sample_ns = buf_u64(b);
	f->info.last_sample_ns = buf_u64(b);
	return 0;
}

static int parse_end_time(struct perf_file *f, struct buf *b)
{
	f->info.end_ns = buf_u64(b);
	return 0;
}

static int parse_counted(struct perf_file *f, struct buf *b)
{
	f->info.counted = buf_u64(b);
	f->info.sampled = buf_u64(b);
	f->info.hypervisor_took = buf_u64(b) == 1;
	return 0;
}

static int parse_clock_data(struct perf_file *f, struct buf *b)
{
	buf_skip(b, 4 + 4); /* version, clock id */
	f->info.clock_wall_ns = buf_u64(b);
	f->info.clock_ref_ns = buf_u64(b);
	return 0;
}

static int parse_compressed(struct perf_file *f, struct buf *b)
{
	(void)b;
	f->info.is_compressed = true;
	return 0;
}

static int parse_meta_info(struct perf_file *f, struct buf *b)
{
	(void)b;
	f->info.is_simpleperf = true;
	return 0;
}

static const struct {
	unsigned bit;
	int (*parse)(struct perf_file *f, struct buf *b);
	size_t string; /* offset in struct perf_file_info, of a feature that is a string */
} parsers[] = {
	{FEATURE_BUILD_ID, .parse = parse_build_ids},
	{FEATURE_HOSTNAME, .string = offsetof(struct perf_file_info, hostname)},
	{FEATURE_OSRELEASE, .string = offsetof(struct perf_file_info, os_release)},
	{FEATURE_VERSION, .string = offsetof(struct perf_file_info, version)},
	{FEATURE_ARCH, .string = offsetof(struct perf_file_info, arch)},
	{FEATURE_NRCPUS, .parse = parse_n_cpus},
	{FEATURE_CPUDESC, .string = offsetof(struct perf_file_info, cpu_desc)},
	{FEATURE_CPUID, .string = offsetof(struct perf_file_info, cpu_id)},
	{FEATURE_TOTAL_MEM, .parse = parse_total_mem},
	{FEATURE_CMDLINE, .parse = parse_cmdline},
	{FEATURE_SAMPLE_TIME, .parse = parse_sample_time},
	{FEATURE_COMPRESSED, .parse = parse_compressed},
	{FEATURE_CLOCK_DATA, .parse = parse_clock_data},
	{FEATURE_SIMPLEPERF_FILE, .parse = simpleperf_parse_file},
	{FEATURE_SIMPLEPERF_META_INFO, .parse = parse_meta_info},
	{FEATURE_SIMPLEPERF_FILE2, .parse = simpleperf_parse_file2},
	{FEATURE_END_TIME, .parse = parse_end_time},
	{FEATURE_COUNTED, .parse = parse_counted},
	/* name_events.c reads these when all events are known. */
	{FEATURE_EVENT_DESC, .parse = NULL},
	{FEATURE_PMU_MAPPINGS, .parse = NULL},
};

int feature_parse(struct perf_file *f, unsigned bit, struct buf b)
{
	for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++) {
		if (parsers[i].bit != bit)
			continue;
		if (parsers[i].string) {
			const char *s = take_string(f, &b);

			if (s && *s)
				*(const char **)((char *)&f->info + parsers[i].string) = s;
		}
		return parsers[i].parse ? parsers[i].parse(f, &b) : 0;
	}
	return 0;
}

bool feature_is_parsed(unsigned bit)
{
	for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++)
		if (parsers[i].bit == bit)
			return true;
	return false;
}
