/* tool_damage.c - `tool_damage [-b BYTES] [-e BYTES] FILE..`: damaged copies of recordings, and
 * what must hold for each.
 *
 * Each file is cut at every 512th byte, as a file and as a pipe, and has fields changed to values
 * that are apt to be believed too much. -b: of large files only as many cuts as are read with so
 * many bytes; all of them where headers are, which is in the first and the last 64 KiB, or so many
 * bytes as -e says. What is done depends on the file only. Prints each
 * name, its cuts, its changes, and the memory that all took so far (KiB).
 *
 * Of a cut is known what it must give: every record that is whole (walk.h), no sample more than the
 * larger cut before it, and the rest is counted as lost. */
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "tests/reader/fuzz.h"
#include "tests/reader/walk.h"

#define CUT_EVERY 512u
#define LOOK	  4096u /* before the cut: looked at again; the rest was, in the whole file */
#define SIZES	  10
#define A_FEW	  4
#define CHANGES	  40 /* the first half in the fields of the header and of records */

enum { SECONDS_EACH = 20 };

/* What is being read, for the last words of the program. */
static char doing[128];

static void print_doing(int sig)
{
	if (write(STDERR_FILENO, doing, strlen(doing)) < 0)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

struct subject {
	const char *path;
	const uint8_t *data;
	size_t size;
	bool by_pipe; /* given through a pipe */
	int fd;	      /* of a copy, when not */
	char copy[32];
	struct walk walk;
	bool is_known; /* walk tells of every cut */
};

struct bytes {
	VEC(uint8_t) v;
};

static void put(struct bytes *b, const void *p, size_t n)
{
	FUZZ_CHECK(!vec_reserve(&b->v, b->v.n + n));
	if (n)
		memcpy(b->v.v + b->v.n, p, n);
	b->v.n += n;
}

static void put_record(struct bytes *b, uint32_t type, const void *fixed, size_t n_fixed,
		       const void *rest, size_t n_rest)
{
	struct perf_event_header h = {.type = type};

	h.size = (uint16_t)(sizeof h + n_fixed + n_rest);
	put(b, &h, sizeof h);
	put(b, fixed, n_fixed);
	put(b, rest, n_rest);
}

/* The recording as perf would have written it to a pipe: attributes and header sections in records
 * of their own. Of what the walk does not understand, and of pipes, the bytes as they are. */
static struct bytes pipe_twin(const struct subject *file)
{
	enum { SECTION_MAX = 65000 };
	const uint8_t *data = file->data;
	const size_t size = file->size;
	const struct walk *w = &file->walk;
	struct bytes b = {0};
	uint64_t stride;
	size_t table = w->end;

	if (!file->is_known || w->is_pipe) {
		put(&b, data, size);
		return b;
	}
	stride = walk_word(data, 16);
	put(&b, "PERFILE2\x10\0\0\0\0\0\0\0", 16);
	for (uint64_t at = walk_word(data, 24), left = walk_word(data, 32); left >= stride;
	     at += stride, left -= stride)
		put_record(&b, RECORD_HEADER_ATTR, data + at, stride - 16,
			   data + walk_word(data, at + stride - 16),
			   walk_word(data, at + stride - 8));
	for (uint64_t bit = 0; bit < FEATURE_N; bit++) {
		uint64_t at, n;

		if (!(data[72 + bit / 8] >> bit % 8 & 1) || size - table < 16)
			continue;
		at = walk_word(data, table);
		n = walk_word(data, table + 8);
		table += 16;
		if (n && n < SECTION_MAX && at <= size && n <= size - at)
			put_record(&b, RECORD_HEADER_FEATURE, &bit, sizeof bit, data + at, n);
	}
	put(&b, data + w->start, w->end - w->start);
	return b;
}

/* ---- reading ----------------------------------------------------------------------------- */

static struct perf_file_stats read_subject(const struct subject *s, size_t size,
					   struct fuzz_how how)
{
	struct perf_file_stats st;

	snprintf(doing, sizeof doing, "the first %zu bytes of the %s\n", size,
		 s->by_pipe ? "pipe" : "file");
	alarm(SECONDS_EACH);
	if (s->by_pipe) {
		st = fuzz_as_pipe_how(s->data, size, how);
	} else {
		FUZZ_CHECK(!ftruncate(s->fd, (off_t)size));
		st = fuzz_read_how(s->copy, how);
	}
	alarm(0);
	return st;
}

/* What the walk says must be there. */
static void check_cut(const struct subject *s, size_t cut, const struct perf_file_stats *st)
{
	const struct walk *w = &s->walk;
	const size_t n = walk_count(w, cut), data_end = w->is_pipe ? cut : w->end;
	const size_t whole_end = n ? w->records.v[n - 1].end : w->start;

	if (cut < w->start)
		return;
	/* A record may be whole, and what follows it outside of its size be cut. */
	FUZZ_CHECK(st->records == n || st->records == n + 1);
	FUZZ_CHECK(st->sample_records == (n ? w->records.v[n - 1].samples : 0));
	if (st->records == n)
		FUZZ_CHECK(st->lost_bytes == data_end - whole_end);
	/* A pipe that ends between two records may be all that there was. */
	FUZZ_CHECK(st->damaged ||
		   (w->is_pipe ? st->records == n && !st->lost_bytes : cut == s->size));
}

/* From the whole down, so that the copy needs to be written once. */
struct limits {
	size_t budget; /* read for the cuts of a subject */
	size_t ends;   /* cut everywhere, whatever the budget */
};

static size_t cuts(struct subject *s, const struct limits *l)
{
	const size_t n = s->size / CUT_EVERY + 1, average = s->size / 2 + 1;
	const size_t every = average * n > l->budget ? average * n / l->budget + 1 : 1;
	struct perf_file_stats st = read_subject(s, s->size, (struct fuzz_how){0}), last = st;
	size_t done = 0;

	for (size_t i = n; i-- > 0;) {
		const size_t cut = i * CUT_EVERY;
		struct fuzz_how how = {.map = i & 1, .look_from = cut > LOOK ? cut - LOOK : 0};

		if (i % every && cut > l->ends && s->size - cut > l->ends)
			continue;
		how.skip_tables = i % 16 != 0;
		st = read_subject(s, cut, how);
		FUZZ_CHECK(st.samples <= last.samples && st.sample_records <= last.sample_records);
		if (s->is_known)
			check_cut(s, cut, &st);
		last = st;
		done++;
	}
	return done;
}

/* ---- sizes ------------------------------------------------------------------------------- */

static struct perf_file_stats read_changed(const struct subject *s)
{
	struct perf_file_stats st;

	alarm(SECONDS_EACH);
	st = s->by_pipe ? fuzz_as_pipe(s->data, s->size) : fuzz_as_file(s->data, s->size);
	alarm(0);
	return st;
}

/* Records whose size is too large: others are not taken for a part of them, if their new end is not
 * where one begins. In a stack it may look as if one did: that costs a few. */
static size_t enlarge(const struct subject *s, uint8_t *data)
{
	const struct walk *w = &s->walk;
	uint64_t r = s->size;
	size_t done = 0;

	for (unsigned i = 0; s->is_known && i < SIZES && w->records.n > 2; i++) {
		const size_t k = (r = hash_u64(r + i)) % (w->records.n - 2);
		const size_t at = w->records.v[k].end;
		struct perf_event_header h;
		uint16_t size;

		memcpy(&h, data + at, sizeof h);
		size = (uint16_t)(h.size + 8 + (r >> 32) % 4000 * 8);
		if (size % 8 || w->records.v[k + 1].end != at + h.size || at + size >= w->end ||
		    w->records.v[walk_count(w, at + size) - 1].end == at + size)
			continue;
		snprintf(doing, sizeof doing, "the record at %zu of the %s made %u bytes long\n",
			 at, s->by_pipe ? "pipe" : "file", size);
		memcpy(data + at + 6, &size, sizeof size);
		FUZZ_CHECK(read_changed(s).sample_records + A_FEW >=
			   w->records.v[w->records.n - 1].samples);
		memcpy(data + at + 6, &h.size, sizeof h.size);
		done++;
	}
	return done;
}

/* ---- changes ----------------------------------------------------------------------------- */

/* Values that overflow, wrap, or point far away. */
static const uint64_t nasty[] = {
	0,
	1,
	7,
	8,
	0xff,
	0xffff,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	1ull << 32,
	1ull << 60,
	1ull << 61,
	1ull << 63,
	UINT64_MAX / 8,
	UINT64_MAX - 7,
	UINT64_MAX,
};

struct field {
	size_t at, width;
};

/* A field of the header, of an attribute, of the table of sections, or of some record. */
static struct field some_field(const struct subject *s, uint64_t r)
{
	static const struct field header[] = {{8, 8},  {16, 8}, {24, 8}, {32, 8}, {40, 8},
					      {48, 8}, {56, 8}, {64, 8}, {72, 4}, {88, 4}};
	/* type, size, config, period, sample_type, read_format, flags, branches, registers, stack
	 */
	static const struct field attr[] = {{0, 4},  {4, 4},  {8, 8},  {16, 8}, {24, 8},
					    {32, 8}, {40, 8}, {72, 8}, {80, 8}, {88, 4}};
	static const struct field record[] = {{0, 4},  {4, 2},	{6, 2}, {8, 4},
					      {12, 4}, {16, 8}, {40, 8}};
	const struct walk *w = &s->walk;
	const size_t pick = r >> 8 & 0xffff, n = s->is_known ? w->records.n : 0;
	struct field f;

	switch (r % 4) {
	case 0:
		return header[pick % (sizeof header / sizeof *header)];
	case 1:
		f = attr[pick % (sizeof attr / sizeof *attr)];
		f.at += w->is_pipe ? 16 + 8 : 104;
		return f;
	case 2:
		if (s->is_known && !w->is_pipe && s->size - w->end >= 8 * 16)
			return (struct field){w->end + pick % 16 * 8, 8};
		__attribute__((fallthrough));
	default:
		f = record[pick % (sizeof record / sizeof *record)];
		f.at += n ? w->records.v[(r >> 24) % n].end : 16 + (r >> 24) % s->size / 8 * 8;
		return f;
	}
}

/* Anywhere, half of them where headers and attributes are. */
static struct field some_place(const struct subject *s, uint64_t r, unsigned i)
{
	static const size_t widths[] = {1, 2, 4, 8};
	const size_t head = s->size < 1024 ? s->size : 1024;

	return (struct field){(size_t)(r >> 1) % (r & 1 ? s->size : head), widths[i % 4]};
}

static size_t change(struct subject *s, uint8_t *data)
{
	size_t done = 0;
	uint64_t r = s->size;

	for (unsigned i = 0; i < CHANGES; i++) {
		uint8_t saved[8];
		struct field f;
		uint64_t value;

		r = hash_u64(r + i);
		f = i < CHANGES / 2 ? some_field(s, r) : some_place(s, r, i);
		if (f.at > s->size || f.width > s->size - f.at)
			continue;
		value = f.width == 1 ? data[f.at] ^ (1u << (r >> 60 & 7))
				     : nasty[(r >> 55) % (sizeof nasty / sizeof *nasty)];
		memcpy(saved, data + f.at, f.width);
		memcpy(data + f.at, &value, f.width);
		snprintf(doing, sizeof doing, "%zu bytes at %zu of the %s changed to %#llx\n",
			 f.width, f.at, s->by_pipe ? "pipe" : "file", (unsigned long long)value);
		read_changed(s);
		memcpy(data + f.at, saved, f.width);
		done++;
	}
	return done;
}

/* ---- files ------------------------------------------------------------------------------- */

static void damage_subject(struct subject *s, uint8_t *data, const struct limits *l, size_t done[2])
{
	s->data = data;
	s->is_known = walk_records(&s->walk, data, s->size);
	if (!s->by_pipe)
		s->fd = fuzz_file_of(data, s->size, s->copy);
	done[0] += cuts(s, l);
	if (!s->by_pipe)
		close(s->fd);
	done[1] += change(s, data) + enlarge(s, data);
}

static int damage(const char *path, const struct limits *l)
{
	FILE *in = fopen(path, "rb");
	struct subject file = {.path = path}, piped = {.path = path, .by_pipe = true};
	struct bytes data = {0}, twin;
	size_t done[2] = {0}, n;
	struct rusage used;
	char chunk[65536];

	if (!in) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	while ((n = fread(chunk, 1, sizeof chunk, in)) > 0)
		put(&data, chunk, n);
	fclose(in);
	printf("%s", path);
	fflush(stdout);
	if (data.v.n) {
		file.size = data.v.n;
		damage_subject(&file, data.v.v, l, done);
		twin = pipe_twin(&file);
		piped.size = twin.v.n;
		damage_subject(&piped, twin.v.v, l, done);
		vec_done(&twin.v);
		vec_done(&file.walk.records);
		vec_done(&piped.walk.records);
	}
	getrusage(RUSAGE_SELF, &used);
	printf(" %zu %zu %ld%s%s\n", done[0], done[1], used.ru_maxrss, file.is_known ? " F" : "",
	       piped.is_known ? " P" : "");
	vec_done(&data.v);
	return 0;
}

int main(int argc, char **argv)
{
	struct limits l = {.budget = SIZE_MAX, .ends = 64 << 10};
	int rc = 0, c;

	signal(SIGABRT, print_doing);
	signal(SIGALRM, print_doing);
#ifndef __SANITIZE_ADDRESS__ /* which reports these itself */
	signal(SIGSEGV, print_doing);
	signal(SIGBUS, print_doing);
#endif
	while ((c = getopt(argc, argv, "b:e:")) > 0)
		if (c == 'b' || c == 'e')
			*(c == 'b' ? &l.budget : &l.ends) = strtoull(optarg, NULL, 0);
	for (int i = optind; i < argc; i++)
		rc |= damage(argv[i], &l);
	return rc;
}
