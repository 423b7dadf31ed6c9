/* recorded_code.c - code in the data section, made into the section that jit_codes_give() takes. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "reader/file.h"
#include "reader/format.h"
#include "reader/reader.h"
#include "reader/record.h"
#include "reader/splitter.h"

enum { HEADER = sizeof(struct recorded_code), ENTRY_HEAD = 24, SECTION_HEAD = 8 };

/* Small records are read many at a time, the contents of large ones are not. */
enum { AHEAD_BYTES = 4096 };

struct collecting {
	struct perf_file *f;
	uint8_t rec[UINT16_MAX + 1], ahead[AHEAD_BYTES];
	uint64_t ahead_off; /* of `ahead` in the file */
	size_t n_ahead;
	size_t entry; /* where in `code` the frame at hand has its head; 0: there is none */
	uint64_t packed;
	uint32_t pid;
	uint16_t frame; /* the last one's number */
	/* Since the last mark. What a recorder writes after its first mark stands behind it. */
	struct hash_table whole; /* by contents: frames do not have equal ones */
	uint64_t seed;
	uint64_t n_cut; /* of which a part is missing */
	bool is_open;	/* frames or parts of them, and no mark behind them yet */
	bool lost_end;
};

static int put(struct perf_file *f, const void *p, size_t n)
{
	if (vec_reserve(&f->code, f->code.n + n))
		return err_nomem(&f->err);
	memcpy(f->code.v + f->code.n, p, n);
	f->code.n += n;
	return 0;
}

static int put_head(struct collecting *c, uint64_t bytes)
{
	static const uint32_t magic[2] = {RUNTIME_CODE_MAGIC, RUNTIME_CODE_VERSION};
	const uint32_t whose[2] = {c->pid, 0};
	const uint64_t sizes[2] = {bytes, c->packed};
	int rc = c->f->code.n ? 0 : put(c->f, magic, sizeof magic);

	c->entry = c->f->code.n;
	rc = rc ? rc : put(c->f, whose, sizeof whose);
	return rc ? rc : put(c->f, sizes, sizeof sizes);
}

/* A frame of which something is missing is none. */
static void drop_open(struct collecting *c)
{
	if (!c->entry)
		return;
	c->f->code.n = c->entry;
	c->entry = 0;
	c->n_cut++;
}

static int begin(struct collecting *c, const struct recorded_code *h)
{
	drop_open(c);
	c->frame = h->frame;
	c->pid = h->pid;
	c->packed = h->packed;
	return put_head(c, h->bytes);
}

static bool continues(const struct collecting *c, const struct recorded_code *h)
{
	return c->entry && h->frame == c->frame && h->pid == c->pid && h->packed == c->packed &&
	       h->at == c->f->code.n - c->entry - ENTRY_HEAD;
}

/* The frame at hand is whole. One that is there a second time is not used. */
static int finish(struct collecting *c)
{
	struct perf_file *f = c->f;
	const uint64_t sum = hash_bytes_seeded(c->seed, f->code.v + c->entry, f->code.n - c->entry);
	const bool is_new = hash_get(&c->whole, sum) == HASH_NONE;

	if (!is_new)
		f->code.n = c->entry;
	c->entry = 0;
	return is_new && hash_put(&c->whole, sum, 0) ? err_nomem(&f->err) : 0;
}

/* How many of the frames up to the number `last` are not there. It counts modulo 2^16. */
static uint64_t count_missing(const struct collecting *c, uint16_t last)
{
	const int64_t more = (int16_t)(uint16_t)(last - (uint16_t)c->whole.n);

	return more > 0 ? (uint64_t)more : 0;
}

static void begin_numbers(struct collecting *c)
{
	hash_done(&c->whole);
	c->whole = (struct hash_table){0};
	c->n_cut = 0;
	c->is_open = false;
	c->frame = 0;
}

/* The data end, or another recording begins (`cat` of streams), without a mark. is_cut: it is known
 * that data are missing here, and a frame that begins is no damage then. */
static void end_without_mark(struct collecting *c, bool is_cut)
{
	const bool begun = is_cut && c->entry;
	uint64_t missing = count_missing(c, c->frame);

	drop_open(c);
	missing = missing > c->n_cut ? missing : c->n_cut;
	c->f->n_code_cut += missing - (begun && missing);
	c->lost_end |= c->is_open && !is_cut;
	begin_numbers(c);
}

/* The last one has the number of the last frame; the first one, of a stream, has 0. */
static void take_mark(struct collecting *c, uint16_t number)
{
	uint64_t missing;

	if (!number) {
		end_without_mark(c, false);
		return;
	}
	drop_open(c);
	missing = count_missing(c, number);
	c->f->n_code_cut += missing > c->n_cut ? missing : c->n_cut;
	begin_numbers(c);
}

static struct recorded_code read_head(struct buf *b)
{
	struct recorded_code h = {0};

	buf_seek(b, offsetof(struct recorded_code, version));
	h.version = buf_u16(b);
	h.frame = buf_u16(b);
	h.pid = buf_u32(b);
	h.bytes = buf_u64(b);
	h.packed = buf_u64(b);
	h.at = buf_u64(b);
	return h;
}

static int take_piece(struct collecting *c, struct buf b)
{
	const struct recorded_code h = read_head(&b);
	const bool is_known = h.version == RECORDED_CODE_VERSION;
	uint64_t n;
	int rc = 0;

	if (!h.packed && is_known) {
		take_mark(c, h.frame);
		return 0;
	}
	c->is_open = true;
	if (is_known && !h.at)
		rc = begin(c, &h);
	if (rc)
		return rc;
	if (!is_known || h.at >= h.packed || !continues(c, &h)) {
		/* Several pieces of a frame without its first one count once. */
		c->n_cut += !c->entry && h.frame != c->frame;
		drop_open(c);
		c->frame = h.frame;
		return 0;
	}
	n = h.packed - h.at < buf_left(&b) ? h.packed - h.at : buf_left(&b);
	rc = put(c->f, b.p, (size_t)n);
	return !rc && h.at + n == h.packed ? finish(c) : rc;
}

static bool is_code(const uint8_t *rec, size_t n, bool swap)
{
	return recorded_code_is(rec, n) && header_at(rec, swap).type == RECORD_EVENT_TYPE;
}

int note_recorded_code(struct perf_file *f)
{
	if (!f->records.size)
		file_note(f, NOTE_CODE,
			  "code that runtimes made is in it, but cannot be used of a stream: write "
			  "it to a file first, for names and whole stacks of that code");
	return 0;
}

/* Files of perf have none of these records: they are not searched. A recorder that was killed has
 * not written its version, and in a pipe that may come as a record. */
static bool may_hold_code(const struct perf_file *f)
{
	const char *version = f->info.version;

	return f->info.is_pipe || !version || str_starts_with(version, "unspool ");
}

/* Behind damage: the next such record from off on, or `end`. */
static uint64_t search(struct collecting *c, uint64_t off, uint64_t end)
{
	const size_t at = offsetof(struct recorded_code, magic);
	struct err ignored;

	while (off < end) {
		const size_t want = end - off < sizeof c->rec ? (size_t)(end - off) : sizeof c->rec;
		ssize_t n = byte_source_pread(&c->f->source, off, c->rec, want, &ignored);

		for (ssize_t i = 0; i + HEADER <= n; i++)
			if (c->rec[i + (ssize_t)at] == 0xff &&
			    is_code(c->rec + i, HEADER, c->f->swap))
				return off + (uint64_t)i;
		if (n < HEADER)
			break;
		off += (uint64_t)n - HEADER + 1;
	}
	return end;
}

/* What is at off, *n bytes: HEADER of them or more, unless the file ends. */
static const uint8_t *look(struct collecting *c, uint64_t off, size_t *n)
{
	const uint64_t end = c->ahead_off + c->n_ahead;
	struct err ignored;

	if (off < c->ahead_off || off + HEADER > end) {
		ssize_t got =
			byte_source_pread(&c->f->source, off, c->ahead, sizeof c->ahead, &ignored);

		c->ahead_off = off;
		c->n_ahead = got < 0 ? 0 : (size_t)got;
	}
	*n = c->n_ahead - (size_t)(off - c->ahead_off);
	return c->ahead + (off - c->ahead_off);
}

/* Of another recording in the same stream: no record. */
static bool is_pipe_header(const struct perf_file *f, const uint8_t *p, size_t n)
{
	const struct perfdata_pipe_header h = {.magic = PERFDATA_MAGIC, .size = sizeof h};

	return f->info.is_pipe && n >= sizeof h && !memcmp(p, &h, sizeof h);
}

static int collect(struct collecting *c, uint64_t off, uint64_t end)
{
	struct perf_file *f = c->f;
	struct err ignored;
	int rc = 0;

	while (!rc && off < end && end - off >= sizeof(struct perf_event_header)) {
		size_t n;
		const uint8_t *p = look(c, off, &n);
		struct perf_event_header h = {0};

		if (is_pipe_header(f, p, n)) {
			end_without_mark(c, false);
			off += sizeof(struct perfdata_pipe_header);
			continue;
		}
		if (n >= sizeof h)
			h = header_at(p, f->swap);
		if (h.size < sizeof h || h.size > end - off) {
			off = search(c, off + 1, end);
			continue;
		}
		if (is_code(p, n, f->swap) &&
		    byte_source_pread(&f->source, off, c->rec, h.size, &ignored) == h.size)
			rc = take_piece(c, buf_make(c->rec, h.size, off, f->swap));
		off += h.size;
	}
	end_without_mark(c, f->stats.interrupted || f->stats.truncated);
	return rc;
}

static void note_missing(struct collecting *c)
{
	struct perf_file *f = c->f;
	const unsigned long long n = f->n_code_cut;

	f->stats.damaged |= n || c->lost_end;
	if (n)
		file_note(
			f, NOTE_CODE,
			"of the code that runtimes made %llu piece%s missing or damaged: what was "
			"in %s has no names",
			n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them");
	if (c->lost_end)
		file_note(f, NOTE_CODE_END,
			  "the recording ends too early: some of the code that runtimes made may "
			  "be missing, and has no names then");
}

int perf_file_recorded_code(struct perf_file *f, const uint8_t **ret, size_t *size, struct err *err)
{
	struct collecting *c = calloc(1, sizeof *c);
	int rc;

	*ret = NULL;
	*size = 0;
	if (!c)
		return err_nomem(err);
	c->f = f;
	c->seed = hash_secret();
	f->code.n = f->n_code_cut = 0;
	rc = f->records.size && may_hold_code(f)
		     ? collect(c, f->records.offset, f->records.offset + f->records.size)
		     : 0;
	note_missing(c);
	hash_done(&c->whole);
	free(c);
	if (rc)
		*err = f->err;
	if (f->code.n == SECTION_HEAD) /* nothing of it was whole */
		f->code.n = 0;
	*ret = f->code.n ? f->code.v : NULL;
	*size = f->code.n;
	return rc;
}
