/* feature_parse.c - one function per header feature that the reader uses, and the table of them.
 *
 * Law: tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.c. */
#include <stdlib.h>
#include <string.h>

#include "reader/features.h"
#include "reader/file.h"

/* u32 length (padded) and bytes with a NUL inside. "" when empty; NULL at the end of the section.
 */
static const char *take_string(struct perf_file *f, struct buf *b)
{
	uint32_t len = buf_u32(b);
	const uint8_t *p = buf_take(b, len);

	return p ? arena_strndup(&f->arena, (const char *)p, strnlen((const char *)p, len)) : NULL;
}

static int parse_string(struct perf_file *f, struct buf *b, const char **ret)
{
	const char *s = take_string(f, b);

	if (s && *s)
		*ret = s;
	return 0;
}

static int parse_hostname(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.hostname);
}

static int parse_os_release(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.os_release);
}

static int parse_version(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.version);
}

static int parse_arch(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.arch);
}

static int parse_cpu_desc(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.cpu_desc);
}

static int parse_cpu_id(struct perf_file *f, struct buf *b)
{
	return parse_string(f, b, &f->info.cpu_id);
}

/* Available before online, whatever perf's own description says. */
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

/* Which event of ours one entry of EVENT_DESC speaks of: that of its first id, else the one in its
 * place. */
static struct event *described_event(const struct perf_file *f, uint32_t i, struct buf ids)
{
	struct event *e = buf_left(&ids) ? events_find(&f->events, buf_u64(&ids)) : NULL;

	return e || i >= f->events.v.n ? e : f->events.v.v[i];
}

static int parse_event_desc(struct perf_file *f, struct buf *b)
{
	uint32_t n = buf_u32(b), attr_size = buf_u32(b), i;

	for (i = 0; i < n && buf_ok(b) && buf_left(b); i++) {
		uint32_t n_ids, len;
		const uint8_t *name;
		struct buf ids;
		struct event *e;

		buf_skip(b, attr_size);
		n_ids = buf_u32(b);
		len = buf_u32(b);
		name = buf_take(b, len);
		ids = buf_sub(b, 8ull * n_ids);
		if (!name || !buf_ok(&ids))
			break;
		e = described_event(f, i, ids);
		if (e && *name &&
		    events_set_name(&f->events, e->pub.index, (const char *)name, len))
			return err_nomem(&f->err);
	}
	return 0;
}

/* Records {header, pid, id[24], path}, behind each other. */
static int parse_build_ids(struct perf_file *f, struct buf *b)
{
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
		if (build_id_record(f, rec))
			return err_nomem(&f->err);
	}
	return 0;
}

int build_id_record(struct perf_file *f, struct buf rec)
{
	enum { ID_FIELD = 24, SIZE_BYTE = 20 };
	struct build_id id = {.size = BUILD_ID_MAX};
	uint16_t misc;
	const uint8_t *raw;
	const char *path;

	buf_skip(&rec, 4);
	misc = buf_u16(&rec);
	buf_skip(&rec, 2 + 4); /* size, pid */
	raw = buf_take(&rec, ID_FIELD);
	path = buf_cstr(&rec);
	if (!raw || !path)
		return 0;
	memcpy(id.bytes, raw, BUILD_ID_MAX);
	if (misc & MISC_BUILD_ID_SIZE && raw[SIZE_BYTE] <= BUILD_ID_MAX)
		id.size = raw[SIZE_BYTE];
	else /* writers without the size byte fill short ids with zeros, in steps of a word */
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
} parsers[] = {
	{FEATURE_BUILD_ID, parse_build_ids},
	{FEATURE_HOSTNAME, parse_hostname},
	{FEATURE_OSRELEASE, parse_os_release},
	{FEATURE_VERSION, parse_version},
	{FEATURE_ARCH, parse_arch},
	{FEATURE_NRCPUS, parse_n_cpus},
	{FEATURE_CPUDESC, parse_cpu_desc},
	{FEATURE_CPUID, parse_cpu_id},
	{FEATURE_TOTAL_MEM, parse_total_mem},
	{FEATURE_CMDLINE, parse_cmdline},
	{FEATURE_EVENT_DESC, parse_event_desc},
	{FEATURE_SAMPLE_TIME, parse_sample_time},
	{FEATURE_COMPRESSED, parse_compressed},
	{FEATURE_CLOCK_DATA, parse_clock_data},
	{FEATURE_SIMPLEPERF_META_INFO, parse_meta_info},
};

int feature_parse(struct perf_file *f, unsigned bit, struct buf b)
{
	for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++)
		if (parsers[i].bit == bit)
			return parsers[i].parse(f, &b);
	return 0;
}

bool feature_is_parsed(unsigned bit)
{
	for (size_t i = 0; i < sizeof parsers / sizeof *parsers; i++)
		if (parsers[i].bit == bit)
			return true;
	return false;
}

const char *feature_pmu_name(const void *arg, uint32_t type)
{
	const struct perf_file *f = arg;
	size_t size;
	const uint8_t *p = features_get(f->features, FEATURE_PMU_MAPPINGS, &size);
	struct buf b = buf_make(p, size, 0, f->swap);
	uint32_t n = buf_u32(&b);

	while (n-- && buf_ok(&b)) {
		uint32_t t = buf_u32(&b), len = buf_u32(&b);
		const uint8_t *name = buf_take(&b, len);

		if (name && t == type && memchr(name, 0, len))
			return (const char *)name;
	}
	return NULL;
}
