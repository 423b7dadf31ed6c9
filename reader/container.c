/* container.c - reads the header of a recording and the tables it points to.
 *
 * Source of truth: tools/perf/Documentation/perf.data-file-format.txt. Offsets and sizes are used
 * only as far as the file reaches. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/file.h"
#include "reader/format.h"
#include "reader/record.h"
#include "reader/record_stream.h"
#include "reader/byte_source.h"

struct header {
	uint64_t size, attr_size;
	struct perfdata_section attrs, data, event_types;
	uint8_t features[FEATURE_N / 8];
};

static int not_ours(struct perf_file *f, ssize_t n, const char *what)
{
	if (!n)
		what = "it is empty";
	return err_set(&f->err, ERR_FORMAT, f->source.name, "this is no perf.data: %s", what);
}

/* Finds the byte order by the magic. */
static int read_magic(struct perf_file *f, ssize_t n)
{
	static const struct {
		char magic[8] NONSTRING;
		bool reversed;
	} ours[] = {
		{PERFDATA_MAGIC, false},
		{{'2', 'E', 'L', 'I', 'F', 'R', 'E', 'P'}, true},
		{PERFDATA_MAGIC_V1, false},
		{{'E', 'L', 'I', 'F', 'F', 'R', 'E', 'P'}, true},
	};
	static const struct {
		const char *magic;
		uint8_t n;
		const char *what;
	} others[] = {
		{"\177ELF", 4, "it is an ELF file"},
		{"DTiJ", 4, "it is a jitdump"},
		{"JiTD", 4, "it is a jitdump"},
		{"SIMPLEPERF", 10, "it is a report of simpleperf"},
		{"PK\3\4", 4, "it is a zip file"},
		{"BZh", 3, "it is packed with bzip2"},
		{"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16,
		 "it is a CPU profile of gperftools (go tool pprof -proto makes pprof of it)"},
		{"\0\0\0\0\0\0\0\0", 8,
		 "it begins with zeros, as where a recorder that writes its header last "
		 "(simpleperf) was killed"},
	};
	const uint8_t *head = f->source.head;
	size_t i;

	for (i = 0; n >= 16 && i < sizeof ours / sizeof *ours; i++) {
		if (memcmp(head, ours[i].magic, 8) != 0)
			continue;
		/* The magic was written as a number, in the byte order of the writer. */
		f->is_big_endian = ours[i].reversed;
		f->swap = ours[i].reversed != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
		f->info.is_big_endian = f->is_big_endian;
		f->is_v1 = i >= 2;
		return 0;
	}
	for (i = 0; i < sizeof others / sizeof *others; i++)
		if (n >= others[i].n && !memcmp(head, others[i].magic, others[i].n))
			return not_ours(f, n, others[i].what);
	return not_ours(f, n, "it begins with something else");
}

static struct perfdata_section read_section(struct buf *b)
{
	struct perfdata_section s = {.offset = buf_u64(b)};

	s.size = buf_u64(b);
	return s;
}

/* The bits were written as an array of unsigned long. Big-endian writers with 32-bit longs are
 * recognised by a bit that all of them set. */
static void read_feature_bits(const struct perf_file *f, const uint8_t *raw, uint8_t *bits)
{
	static const unsigned always_set[] = {FEATURE_HOSTNAME, FEATURE_CMDLINE};
	static const unsigned words[] = {8, 4};

	if (!f->is_big_endian) {
		memcpy(bits, raw, FEATURE_N / 8);
		return;
	}
	for (unsigned t = 0; t < 4; t++) {
		unsigned word = words[t % 2], bit = always_set[t / 2];

		for (unsigned i = 0; i < FEATURE_N / 8; i++)
			bits[i] = raw[i - i % word + (word - 1 - i % word)];
		if (bits[bit / 8] >> bit % 8 & 1)
			return;
	}
	memset(bits, 0, FEATURE_N / 8);
	bits[0] = 1u << FEATURE_BUILD_ID;
}

static int read_header(struct perf_file *f, struct header *h)
{
	struct byte_source *s = &f->source;
	ssize_t n = byte_source_peek(s, sizeof(struct perfdata_header), &f->err);
	struct buf b;
	const uint8_t *bits;

	if (n < 0)
		return (int)n;
	b = buf_make(s->head, (size_t)n, 0, f->swap);
	buf_skip(&b, 8);
	h->size = buf_u64(&b);
	h->attr_size = buf_u64(&b);
	h->attrs = read_section(&b);
	h->data = read_section(&b);
	h->event_types = read_section(&b);
	bits = buf_take(&b, FEATURE_N / 8);
	if (!bits)
		return err_set(&f->err, ERR_DAMAGED, s->name, "cut off inside of the header");
	if (h->size < sizeof(struct perfdata_header))
		return err_at(&f->err, ERR_DAMAGED, s->name, 8, "header of %llu bytes",
			      (unsigned long long)h->size);
	if (h->attr_size < PERF_ATTR_SIZE_VER0 + sizeof(struct perfdata_section))
		return err_at(&f->err, ERR_DAMAGED, s->name, 16, "attributes of %llu bytes",
			      (unsigned long long)h->attr_size);
	read_feature_bits(f, bits, h->features);
	/* The section itself may have been cut off. */
	f->info.is_simpleperf |=
		h->features[FEATURE_SIMPLEPERF_META_INFO / 8] >> FEATURE_SIMPLEPERF_META_INFO % 8 &
		1;
	return 0;
}

/* Reads a section, or the part of it that is inside the file. Returns NULL if that is empty, or
 * with *rc when out of memory. */
static uint8_t *load(struct perf_file *f, struct perfdata_section at, size_t *size, int *rc)
{
	uint8_t *p;
	ssize_t n;

	*size = 0;
	if (at.offset >= f->source.size)
		return NULL;
	if (at.size > f->source.size - at.offset)
		at.size = f->source.size - at.offset;
	p = malloc(at.size ? at.size : 1);
	if (!p) {
		*rc = err_nomem(&f->err);
		return NULL;
	}
	n = byte_source_pread(&f->source, at.offset, p, at.size, &f->err);
	if (n < 0) {
		*rc = (int)n;
		free(p);
		return NULL;
	}
	*size = (size_t)n;
	return p;
}

static int read_ids(struct perf_file *f, struct perfdata_section ids)
{
	size_t size;
	int rc = 0;
	uint8_t *p = load(f, ids, &size, &rc);
	struct buf b = buf_make(p, size, ids.offset, f->swap);

	while (!rc && buf_left(&b) >= 8)
		if (events_add_id(&f->events, f->events.v.n - 1, buf_u64(&b)))
			rc = err_nomem(&f->err);
	free(p);
	return rc;
}

static bool section_fits(const struct perf_file *f, struct perfdata_section s)
{
	return s.offset <= f->source.size && s.size <= f->source.size - s.offset;
}

/* Sections of ids do not overlap, so all of them together must fit into the file. */
static bool ids_fit(const struct perf_file *f, struct perfdata_section s)
{
	return section_fits(f, s) && s.size / 8 <= f->source.size / 8 - f->events.n_ids;
}

/* Reads an attr and the place of its ids. That is in the last 16 bytes of the entry; some writers
 * put it right after the attr. */
static int read_attr(struct perf_file *f, struct buf entry)
{
	struct buf peek = entry, attr = entry, body;
	struct perfdata_section ids, other;
	uint32_t size, most = (uint32_t)buf_left(&entry) - 16;
	int rc;

	buf_skip(&peek, 4);
	size = buf_u32(&peek);
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size > most || size < PERF_ATTR_SIZE_VER0)
		size = most;
	body = buf_sub(&attr, size);
	other = read_section(&attr);
	buf_skip(&entry, most);
	ids = read_section(&entry);
	if (!section_fits(f, ids) && section_fits(f, other))
		ids = other;
	rc = file_add_event(f, body);
	if (rc)
		return rc;
	if (!ids_fit(f, ids)) {
		f->stats.damaged = true;
		file_note(f, NOTE_NO_IDS, "ids of event %zu lie outside of the file",
			  f->events.v.n - 1);
		return 0;
	}
	return read_ids(f, ids);
}

static int read_attrs(struct perf_file *f, const struct header *h)
{
	size_t size;
	int rc = 0;
	uint8_t *p;
	struct buf b;

	if (h->attrs.size / h->attr_size > EVENTS_MAX || h->attr_size > UINT32_MAX)
		return err_at(&f->err, ERR_LIMIT, f->source.name, 24, "more than %d events",
			      EVENTS_MAX);
	p = load(f, h->attrs, &size, &rc);
	b = buf_make(p, size, h->attrs.offset, f->swap);
	while (!rc && buf_left(&b) >= h->attr_size)
		rc = read_attr(f, buf_sub(&b, h->attr_size));
	free(p);
	if (!rc && !f->events.v.n)
		rc = err_at(&f->err, ERR_DAMAGED, f->source.name, h->attrs.offset,
			    "the recording has no events");
	return rc;
}

/* A bundle that the end of the file cuts: each of its entries is told by a sum of its own whether
 * it is whole. It is the last section, and the largest. */
static bool cut_bundle_fits(struct perf_file *f, struct perfdata_section *s, uint64_t left)
{
	const uint64_t size = f->source.size;

	if (s->offset >= size || size - s->offset > left)
		return false;
	f->stats.damaged = true;
	file_note(f, NOTE_FEATURE,
		  "the file ends %" PRIu64 " bytes before its header section %d (%s) does",
		  s->size - (size - s->offset), FEATURE_BUNDLE, feature_name(FEATURE_BUNDLE));
	s->size = size - s->offset;
	return true;
}

/* After the data there is one table entry for each feature bit that is set, including unknown bits.
 * The sections do not overlap, so all of them together fit into the file, and may be held in
 * memory. */
static int read_feature_table(struct perf_file *f, const struct header *h, uint64_t off)
{
	struct perfdata_section table = {off, FEATURE_N * sizeof(struct perfdata_section)};
	size_t size;
	int rc = 0;
	uint8_t *p = load(f, table, &size, &rc);
	struct buf b = buf_make(p, size, off, f->swap);
	uint64_t left = f->source.size;

	f->features->source = &f->source;
	for (unsigned bit = 0; !rc && bit < FEATURE_N; bit++) {
		struct feature_section *s = &f->features->v[bit];
		struct perfdata_section at;

		if (!(h->features[bit / 8] >> bit % 8 & 1))
			continue;
		at = read_section(&b);
		if (s->present)
			continue;
		s->at = at;
		s->present = buf_ok(&b) && section_fits(f, s->at) && s->at.size <= left;
		if (!s->present && buf_ok(&b) && bit == FEATURE_BUNDLE && !section_fits(f, s->at))
			s->present = cut_bundle_fits(f, &s->at, left);
		if (s->present) {
			left -= s->at.size;
			continue;
		}
		f->stats.damaged = true;
		file_note(f, NOTE_FEATURE, "header section %u (%s) lies outside of the file", bit,
			  feature_name(bit));
	}
	free(p);
	return rc;
}

/* Of sections that are not behind the data, as the end of the file is missing: what capture wrote
 * before the data (struct perfdata_early). */
static int read_early_features(struct perf_file *f, const struct header *h)
{
	struct perfdata_section at = {h->attrs.offset + h->attrs.size,
				      sizeof(struct perfdata_early)};
	struct header early = *h;
	size_t size;
	int rc = 0;
	uint8_t *p = load(f, at, &size, &rc);
	const bool is_ours = size == at.size && !memcmp(p, PERFDATA_EARLY_MAGIC, 8);

	if (is_ours)
		read_feature_bits(f, p + 8, early.features);
	free(p);
	return is_ours ? read_feature_table(f, &early, at.offset + at.size) : rc;
}

static bool has_features(const struct header *h)
{
	uint8_t any = 0;

	for (size_t i = 0; i < sizeof h->features; i++)
		any |= h->features[i];
	return any;
}

static bool lacks_features(const struct perf_file *f, const struct header *h)
{
	for (unsigned bit = 0; bit < FEATURE_N; bit++)
		if (h->features[bit / 8] >> bit % 8 & 1 && !f->features->v[bit].present)
			return true;
	return false;
}

static int parse_features(struct perf_file *f)
{
	for (unsigned bit = 0; bit < FEATURE_N; bit++) {
		size_t size;
		const uint8_t *p;
		int rc;

		if (!f->features->v[bit].present || !feature_is_parsed(bit))
			continue;
		rc = features_load(f->features, bit, &f->err);
		if (rc == -ERR_NOMEM)
			return rc;
		if (rc) {
			f->stats.damaged = true;
			file_note(f, NOTE_FEATURE, "header section %u (%s): %s", bit,
				  feature_name(bit), f->err.what);
			continue;
		}
		p = features_get(f->features, bit, &size);
		rc = feature_parse(f, bit,
				   buf_make(p, size, f->features->v[bit].at.offset, f->swap));
		if (rc)
			return rc;
	}
	return 0;
}

/* Event names of perf versions before EVENT_DESC: entries {config, name[64]}, used for tracepoints.
 */
static int read_event_types(struct perf_file *f, struct perfdata_section at)
{
	enum { NAME = 64 };
	size_t size;
	int rc = 0;
	uint8_t *p;
	struct buf b;

	if (f->features->v[FEATURE_EVENT_DESC].present)
		return 0;
	p = load(f, at, &size, &rc);
	b = buf_make(p, size, at.offset, f->swap);
	while (!rc && buf_left(&b) >= 8 + NAME) {
		uint64_t config = buf_u64(&b);

		if (names_by_config(f, PERF_TYPE_TRACEPOINT, config,
				    (const char *)buf_take(&b, NAME), NAME))
			rc = err_nomem(&f->err);
	}
	free(p);
	return rc;
}

/* The data section, as far as the file reaches. Clears *features if the header cannot be trusted
 * about the sections after the data. */
static struct perfdata_section data_section(struct perf_file *f, const struct header *h,
					    bool *features)
{
	struct perfdata_section data = h->data;

	*features = true;
	if (data.offset > f->source.size)
		data.offset = f->source.size;
	if (!data.size) {
		/* It is written last, so the recorder was ended before that. */
		*features = false;
		data.size = f->source.size - data.offset;
		f->stats.interrupted = data.size != 0;
		f->stats.damaged |= f->stats.interrupted;
		if (data.size)
			file_note(f, NOTE_INTERRUPTED,
				  "the recording was interrupted (is its recorder still running?); "
				  "all that was written is used");
	} else if (data.size > f->source.size - data.offset) {
		*features = false;
		f->stats.truncated = f->stats.damaged = true;
		f->stats.lost_bytes += data.size - (f->source.size - data.offset);
		file_note(f, NOTE_TRUNCATED, "the file ends %llu bytes before its data does",
			  (unsigned long long)(data.size - (f->source.size - data.offset)));
		data.size = f->source.size - data.offset;
	}
	return data;
}

/* Some recorders update data.size while they run, but still write the features at the end. capture
 * is one: its data begins with HEADER_FEATURE records, which otherwise only pipes have. */
static int note_unfinished(struct perf_file *f, const struct header *h)
{
	struct perfdata_section first = {h->data.offset, sizeof(uint32_t)};
	uint8_t *p;
	size_t size;
	struct buf b;
	int rc = 0;

	if (has_features(h) || h->data.size < sizeof(struct perf_event_header))
		return 0;
	p = load(f, first, &size, &rc);
	b = buf_make(p, size, first.offset, f->swap);
	if (buf_u32(&b) == RECORD_HEADER_FEATURE && !f->stats.interrupted) {
		f->stats.interrupted = f->stats.damaged = true;
		file_note(f, NOTE_INTERRUPTED,
			  "the recording was interrupted before its header was finished; all that "
			  "was written is used");
	}
	free(p);
	return rc;
}

static uint64_t later(uint64_t end, struct perfdata_section s)
{
	return s.offset + s.size > end ? s.offset + s.size : end;
}

/* `cat a.data b.data`: the header tells of one recording only. */
static int note_second(struct perf_file *f, const struct header *h, struct perfdata_section data)
{
	struct perfdata_section magic = {0, 8};
	uint64_t entries = 0;
	size_t size;
	uint8_t *p;
	int rc = 0;

	magic.offset = later(later(data.offset + data.size, h->attrs), h->event_types);
	for (unsigned bit = 0; bit < FEATURE_N; bit++) {
		entries += h->features[bit / 8] >> bit % 8 & 1;
		if (f->features->v[bit].present)
			magic.offset = later(magic.offset, f->features->v[bit].at);
	}
	magic.offset = later(magic.offset,
			     (struct perfdata_section){data.offset + data.size,
						       entries * sizeof(struct perfdata_section)});
	p = load(f, magic, &size, &rc);
	if (size == magic.size && !memcmp(p, f->source.head, size)) {
		f->stats.damaged = true;
		file_note(f, NOTE_CONCATENATED,
			  "another recording begins at offset %#llx, which is not read: give each "
			  "in a file of its own",
			  (unsigned long long)magic.offset);
	}
	free(p);
	return rc;
}

/* Adds a stream of the file itself; the descriptor still belongs to the file. */
static int main_stream(struct perf_file *f, uint64_t pos, uint64_t end)
{
	struct byte_source borrowed = f->source;

	borrowed.owns_fd = false;
	return record_stream_add(f, &borrowed, pos, end);
}

/* simpleperf stores the records of what existed before the recording in a header section. */
static int init_map_stream(struct perf_file *f)
{
	const struct feature_section *s = &f->features->v[FEATURE_SIMPLEPERF_INIT_MAP];

	return s->present && f->info.is_simpleperf
		       ? main_stream(f, s->at.offset, s->at.offset + s->at.size)
		       : 0;
}

static int open_file(struct perf_file *f)
{
	struct header h;
	struct perfdata_section data;
	bool features;
	int rc = f->source.seekable ? 0 : byte_source_spool(&f->source, &f->err);

	rc = rc ? rc : read_header(f, &h);
	rc = rc ? rc : read_attrs(f, &h);
	if (rc)
		return rc;
	f->data = h.data;
	data = data_section(f, &h, &features);
	if (features && has_features(&h))
		rc = read_feature_table(f, &h, data.offset + data.size);
	if (!rc && (!features || !f->features->v[FEATURE_VERSION].present || lacks_features(f, &h)))
		rc = read_early_features(f, &h);
	if (!rc && features)
		rc = note_second(f, &h, data);
	rc = rc ? rc : note_unfinished(f, &h);
	rc = rc ? rc : parse_features(f);
	rc = rc ? rc : read_event_types(f, h.event_types);
	rc = rc ? rc : file_settle_names(f);
	f->rounds_hold = true;
	f->records = data;
	rc = rc ? rc : init_map_stream(f);
	rc = rc ? rc : main_stream(f, data.offset, data.offset + data.size);
	if (!rc && f->features->v[FEATURE_DIR_FORMAT].present)
		rc = directory_add_streams(f);
	return rc;
}

static int open_pipe(struct perf_file *f)
{
	enum {
		HEADER = sizeof(struct perfdata_pipe_header),
		HEAD = HEADER + sizeof(struct recorded_code)
	};
	struct byte_source *s = &f->source;
	uint8_t header[HEADER];
	ssize_t n = s->seekable ? 0 : byte_source_peek(s, HEAD, &f->err);

	/* What comes at its end is needed from the beginning on. */
	if (n == HEAD && recorded_code_is(s->head + HEADER, HEAD - HEADER))
		n = byte_source_spool(s, &f->err);
	if (n >= 0)
		n = byte_source_read(s, header, sizeof header, &f->err);
	if (n < 0)
		return (int)n;
	f->info.is_pipe = true;
	f->rounds_hold = true;
	if (s->seekable)
		f->records = (struct perfdata_section){sizeof header, s->size - sizeof header};
	return main_stream(f, sizeof header, s->seekable ? s->size : UINT64_MAX);
}

int container_open(struct perf_file *f)
{
	const char *why;
	int rc = byte_source_unwrap(&f->source, &why, &f->err);
	struct buf b;
	ssize_t n;

	if (rc)
		return rc;
	if (why) {
		f->stats.truncated = f->stats.damaged = true;
		file_note(f, NOTE_PACKED, "%s", why);
	}
	n = byte_source_peek(&f->source, sizeof(struct perfdata_pipe_header), &f->err);
	if (n < 0)
		return (int)n;
	rc = read_magic(f, n);
	if (rc)
		return rc;
	b = buf_make(f->source.head, (size_t)n, 0, f->swap);
	buf_skip(&b, 8);
	return buf_u64(&b) == sizeof(struct perfdata_pipe_header) ? open_pipe(f) : open_file(f);
}
