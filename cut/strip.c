/* strip.c - samples with call chains in place of registers and stack copies.
 *
 * Sources: perf_event.h, the comment at PERF_RECORD_SAMPLE, and perf_output_sample() for the order
 * of fields; tools/perf/Documentation/perf.data-file-format.txt for COMPRESSED. */
#include "cut/strip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "reader/format.h"
#include "reader/reader.h"

enum {
	CHUNK = 1 << 20,
	RECORD_MAX = UINT16_MAX & ~7,
	/* As capture writes them: of so many bytes zstd's output fits into one record. */
	PIECE_BYTES = 65024,
	FRAME_BYTES = 4 << 20, /* a frame ends after the record that passes this */
	LEVEL = 9,
	/* perf_event.h, struct perf_event_attr */
	ATTR_SAMPLE_TYPE = 24,
	ATTR_FLAGS = 40,
	ATTR_REGS_USER = 80,
	ATTR_STACK_USER = 88,
};

static const uint64_t copied_bits = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

/* ---- chains ---------------------------------------------------------------------------------- */

struct chain {
	uint64_t key; /* of its sample */
	size_t at, n; /* in words */
};

struct cut_chains {
	const struct perf_file *file;
	VEC(struct chain) chains;
	VEC(uint64_t) words;
	struct hash_table by_key;
	struct hash_table by_words; /* hash -> the first chain with it */
	struct hash_table events;   /* id -> event */
	uint64_t dropped, damaged;  /* records, bytes */
	uint64_t places;	    /* frames */
	bool nomem;
};

struct cut_chains *cut_chains_new(const struct perf_file *f)
{
	struct cut_chains *c = calloc(1, sizeof *c);
	size_t i, k;

	if (!c)
		return NULL;
	c->file = f;
	for (i = 0; i < perf_file_event_count(f); i++) {
		const struct perf_event *e = perf_file_event(f, i);

		for (k = 0; k < e->n_ids; k++)
			c->nomem |= hash_put(&c->events, e->ids[k], (uint32_t)i) != 0;
	}
	return c;
}

void cut_chains_free(struct cut_chains *c)
{
	if (!c)
		return;
	vec_done(&c->chains);
	vec_done(&c->words);
	hash_done(&c->by_key);
	hash_done(&c->by_words);
	hash_done(&c->events);
	free(c);
}

/* Two samples of one thread at one time differ in nothing that matters for their stack. */
static uint64_t key_of(uint64_t time_ns, uint64_t tid, uint64_t ip)
{
	return hash_mix(hash_mix(time_ns, tid), ip);
}

int cut_chains_add(struct cut_chains *c, const struct perf_sample *s, const uint64_t *ips, size_t n)
{
	const uint64_t sum = hash_bytes(ips, n * sizeof *ips);
	struct chain chain = {.key = key_of(s->time_ns, s->tid, s->ip), .at = c->words.n, .n = n};
	uint32_t old = hash_get(&c->by_words, sum);
	size_t i;

	if (old != HASH_NONE && c->chains.v[old].n == n &&
	    !memcmp(c->words.v + c->chains.v[old].at, ips, n * sizeof *ips))
		chain.at = c->chains.v[old].at;
	else
		for (i = 0; i < n; i++)
			if (vec_push(&c->words, ips[i]))
				return -ERR_NOMEM;
	if (old == HASH_NONE && hash_put(&c->by_words, sum, (uint32_t)c->chains.n))
		return -ERR_NOMEM;
	if (c->nomem || hash_put(&c->by_key, chain.key, (uint32_t)c->chains.n) ||
	    vec_push(&c->chains, chain))
		return -ERR_NOMEM;
	return 0;
}

void cut_chains_note_places(struct cut_chains *c, uint64_t n)
{
	c->places += n;
}

uint64_t cut_chains_places(const struct cut_chains *c)
{
	return c->places;
}

void cut_chains_lost(const struct cut_chains *c, uint64_t *samples, uint64_t *bytes)
{
	*samples = c->dropped;
	*bytes = c->damaged;
}

/* ---- one sample ------------------------------------------------------------------------------ */

struct fields {
	uint64_t id, ip, time_ns, tid;
};

/* The fields before the chain have a word each, in the order of the kernel. */
static void take_words(struct buf *b, uint64_t type, struct fields *f)
{
	static const uint64_t bits[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
		PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
		PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
	};
	size_t i;

	for (i = 0; i < sizeof bits / sizeof *bits; i++) {
		uint64_t v = type & bits[i] ? buf_u64(b) : 0;

		if (bits[i] == PERF_SAMPLE_IP)
			f->ip = v;
		else if (bits[i] == PERF_SAMPLE_TID)
			f->tid = v >> 32;
		else if (bits[i] == PERF_SAMPLE_TIME)
			f->time_ns = v;
	}
}

static void skip_read(struct buf *b, uint64_t format)
{
	const unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	const unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);
	uint64_t n = 1;

	if (format & PERF_FORMAT_GROUP) {
		n = buf_u64(b);
		if (n > buf_left(b) / 8 / each)
			n = buf_left(b);
	}
	buf_skip(b, 8ull * times);
	buf_skip(b, 8ull * each * n);
}

static void skip_array(struct buf *b, uint64_t n, uint64_t each)
{
	buf_skip(b, n > buf_left(b) / each ? buf_left(b) + 1 : n * each);
}

static void skip_raw(struct buf *b)
{
	uint32_t n = buf_u32(b);

	buf_skip(b, n + (-(4 + (uint64_t)n) & 7));
}

static void skip_branches(struct buf *b, uint64_t format)
{
	uint64_t n = buf_u64(b);

	if (format & BRANCH_HW_INDEX)
		buf_skip(b, 8);
	skip_array(b, n, 24);
	if (format & BRANCH_COUNTERS)
		skip_array(b, n, 8);
}

static void skip_copies(struct buf *b, const struct perf_attr *a)
{
	uint64_t n;

	if (a->sample_type & PERF_SAMPLE_REGS_USER && buf_u64(b))
		buf_skip(b, 8ull * (unsigned)__builtin_popcountll(a->sample_regs_user));
	if (!(a->sample_type & PERF_SAMPLE_STACK_USER))
		return;
	n = buf_u64(b);
	buf_skip(b, n);
	if (n)
		buf_skip(b, 8); /* how many of them are valid */
}

static void put(struct bundle_blob *out, const void *p, size_t n, bool *nomem)
{
	if (vec_reserve(out, out->n + n)) {
		*nomem = true;
		return;
	}
	if (n)
		memcpy(out->v + out->n, p, n);
	out->n += n;
}

/* Where samples of several events are mixed, all have the id at one place. */
static const struct perf_event *event_of(const struct cut_chains *c, struct buf b)
{
	const struct perf_event *first = perf_file_event(c->file, 0);
	const uint64_t type = first->attr.sample_type;
	uint32_t i;

	if (perf_file_event_count(c->file) == 1)
		return first;
	if (!(type & PERF_SAMPLE_IDENTIFIER))
		buf_skip(&b, 8ull * (!!(type & PERF_SAMPLE_IP) + !!(type & PERF_SAMPLE_TID) +
				     !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR)));
	i = hash_get(&c->events, buf_u64(&b));
	return i == HASH_NONE ? NULL : perf_file_event(c->file, i);
}

/* Makes the sample with its chain in rec[RECORD_MAX]. Returns its size; 0: it is damaged. */
static size_t make_sample(const struct cut_chains *c, const struct perf_event *e, struct buf b,
			  uint8_t *to)
{
	const uint64_t type = e->attr.sample_type;
	const uint8_t *start = b.data, *middle;
	struct perf_event_header h;
	size_t n, n_middle, n_tail, room;
	struct fields f = {0};
	uint64_t n_ips;
	uint32_t i;

	memcpy(&h, start, sizeof h);
	take_words(&b, type, &f);
	if (type & PERF_SAMPLE_READ)
		skip_read(&b, e->attr.read_format);
	n = (size_t)(b.p - start);
	if (type & PERF_SAMPLE_CALLCHAIN)
		skip_array(&b, buf_u64(&b), 8);
	middle = b.p;
	if (type & PERF_SAMPLE_RAW)
		skip_raw(&b);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(&b, e->attr.branch_sample_type);
	n_middle = (size_t)(b.p - middle);
	skip_copies(&b, &e->attr);
	n_tail = buf_left(&b);
	if (!buf_ok(&b) || n + 8 + n_middle + n_tail > RECORD_MAX)
		return 0;
	i = hash_get(&c->by_key, key_of(f.time_ns, f.tid, f.ip));
	n_ips = i == HASH_NONE ? 0 : c->chains.v[i].n;
	room = (RECORD_MAX - 8 - n - n_middle - n_tail) / 8;
	n_ips = n_ips < room ? n_ips : room;
	memcpy(to, start, n);
	memcpy(to + n, &n_ips, 8);
	n += 8;
	if (n_ips)
		memcpy(to + n, c->words.v + c->chains.v[i].at, n_ips * 8);
	n += n_ips * 8;
	memcpy(to + n, middle, n_middle);
	memcpy(to + n + n_middle, b.p, n_tail);
	h.size = (uint16_t)(n + n_middle + n_tail);
	memcpy(to, &h, sizeof h);
	return h.size;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
	struct bundle_blob *out;
	const struct cut_chains *chains;
	ZSTD_CCtx *zstd; /* NULL: records are not compressed */
	struct bundle_blob piece;
	size_t frame; /* bytes in the frame that is open */
	uint64_t dropped;
	bool failed;
};

/* What has come together becomes a record. A frame is never open without some: perf does not read a
 * record that ends a frame and holds nothing. */
static void flush(struct writer *w, bool ends_frame)
{
	struct perf_event_header h = {.type = RECORD_COMPRESSED};
	ZSTD_inBuffer in = {w->piece.v, w->piece.n, 0};
	size_t at = w->out->n, rest;
	ZSTD_outBuffer to;

	if (!w->piece.n)
		return;
	if (vec_reserve(w->out, at + UINT16_MAX)) {
		w->failed = true;
		return;
	}
	to = (ZSTD_outBuffer){w->out->v + at + sizeof h, UINT16_MAX - sizeof h, 0};
	rest = ZSTD_compressStream2(w->zstd, &to, &in, ends_frame ? ZSTD_e_end : ZSTD_e_flush);
	w->failed |= ZSTD_isError(rest) || rest || in.pos != in.size;
	h.size = (uint16_t)(sizeof h + to.pos);
	memcpy(w->out->v + at, &h, sizeof h);
	w->out->n = at + h.size;
	w->frame = ends_frame ? 0 : w->frame + w->piece.n;
	w->piece.n = 0;
}

static void emit(struct writer *w, const uint8_t *rec, size_t n)
{
	struct bundle_blob *to = w->zstd ? &w->piece : w->out;
	size_t done = 0;

	for (; w->zstd && w->piece.n + n - done > PIECE_BYTES; flush(w, false)) {
		size_t k = PIECE_BYTES - w->piece.n;

		put(to, rec + done, k, &w->failed);
		done += k;
		if (w->failed)
			return;
	}
	put(to, rec + done, n - done, &w->failed);
	if (w->zstd && w->frame + w->piece.n >= FRAME_BYTES)
		flush(w, true);
}

static void take_record(struct writer *w, const uint8_t *rec, size_t n)
{
	uint8_t made[RECORD_MAX + 8];
	struct buf b = buf_make(rec, n, 0, false);
	struct perf_event_header h;
	const struct perf_event *e;

	memcpy(&h, rec, sizeof h);
	buf_skip(&b, sizeof h);
	e = h.type == PERF_RECORD_SAMPLE ? event_of(w->chains, b) : NULL;
	if (h.type == PERF_RECORD_SAMPLE && !e) {
		w->dropped++;
		return;
	}
	if (e && e->attr.sample_type & copied_bits) {
		n = make_sample(w->chains, e, b, made);
		w->dropped += !n;
		rec = made;
	}
	if (n)
		emit(w, rec, n);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reader {
	const struct strip_input *in;
	ZSTD_DCtx *zstd;
	struct bundle_blob inner; /* of records that were decompressed; `taken` of it are used */
	size_t taken;
	uint64_t damaged; /* bytes */
};

/* Takes the records that are complete in what was decompressed. */
static void take_inner(struct reader *r, struct writer *w)
{
	struct perf_event_header h;

	while (r->inner.n - r->taken >= sizeof h) {
		memcpy(&h, r->inner.v + r->taken, sizeof h);
		if (h.size < sizeof h) { /* nothing says where the next one is */
			r->damaged += r->inner.n - r->taken;
			r->taken = r->inner.n;
			break;
		}
		if (h.size > r->inner.n - r->taken)
			break;
		take_record(w, r->inner.v + r->taken, h.size);
		r->taken += h.size;
	}
	memmove(r->inner.v, r->inner.v + r->taken, r->inner.n - r->taken);
	r->inner.n -= r->taken;
	r->taken = 0;
}

static int inflate(struct reader *r, struct writer *w, const uint8_t *p, size_t n, struct err *err)
{
	ZSTD_inBuffer in = {p, n, 0};
	size_t rc = 1;

	while (in.pos < n || rc == 0) {
		ZSTD_outBuffer to;
		const size_t before = in.pos;

		if (vec_reserve(&r->inner, r->inner.n + CHUNK))
			return err_nomem(err);
		to = (ZSTD_outBuffer){r->inner.v + r->inner.n, CHUNK, 0};
		rc = ZSTD_decompressStream(r->zstd, &to, &in);
		if (ZSTD_isError(rc)) {
			r->damaged += n - in.pos;
			ZSTD_DCtx_reset(r->zstd, ZSTD_reset_session_only);
			r->inner.n = 0;
			return 0;
		}
		r->inner.n += to.pos;
		take_inner(r, w);
		if (in.pos == before && !to.pos)
			break;
	}
	return 0;
}

/* A record of the file. Returns how many bytes it takes, or negative with *err. */
static int64_t take_outer(struct reader *r, struct writer *w, const uint8_t *rec, size_t n,
			  struct err *err)
{
	struct perf_event_header h;
	uint64_t payload;
	int rc = 0;

	memcpy(&h, rec, sizeof h);
	if (h.type == RECORD_AUXTRACE)
		return err_set(err, ERR_UNSUPPORTED, r->in->path,
			       "--strip-stacks: it holds traces of the processor (AUX)");
	if (h.type == RECORD_EVENT_TYPE && recorded_code_is(rec, n)) {
		/* It stays outside of what is compressed. */
		flush(w, true);
		put(w->out, rec, n, &w->failed);
	} else if (h.type == RECORD_COMPRESSED) {
		rc = inflate(r, w, rec + sizeof h, n - sizeof h, err);
	} else if (h.type == RECORD_COMPRESSED2 && n >= 16) {
		memcpy(&payload, rec + sizeof h, sizeof payload);
		rc = inflate(r, w, rec + 16, payload < n - 16 ? (size_t)payload : n - 16, err);
	} else {
		take_record(w, rec, n);
	}
	return rc ? rc : (int64_t)n;
}

static int take_all(struct reader *r, struct writer *w, struct err *err)
{
	uint64_t off = r->in->off, end = off + r->in->size;
	uint8_t *rec = malloc(UINT16_MAX + 1);
	int64_t n = rec ? 0 : err_nomem(err);

	for (; n >= 0 && off + sizeof(struct perf_event_header) <= end; off += (uint64_t)n) {
		size_t want = end - off < UINT16_MAX ? (size_t)(end - off) : UINT16_MAX;
		ssize_t got = pread(r->in->fd, rec, want, (off_t)off);
		struct perf_event_header h = {0};

		if (got < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (got < 0) {
			n = err_errno(err, errno, r->in->path, "read");
			break;
		}
		if ((size_t)got >= sizeof h)
			memcpy(&h, rec, sizeof h);
		if (h.size < sizeof h || h.size > got) {
			r->damaged += end - off;
			break;
		}
		n = take_outer(r, w, rec, h.size, err);
	}
	free(rec);
	return n < 0 ? (int)n : 0;
}

/* Is a record of the data compressed? Recorders that compress say so in a feature, but that may be
 * cut off. */
static bool is_compressed(const struct cut_chains *c)
{
	return perf_file_info(c->file)->is_compressed;
}

int strip_data(const struct strip_input *in, struct cut_chains *chains, struct bundle_blob *out,
	       struct err *err)
{
	struct writer w = {.out = out, .chains = chains};
	struct reader r = {.in = in, .zstd = ZSTD_createDCtx()};
	int rc = r.zstd ? 0 : err_nomem(err);

	if (is_compressed(chains)) {
		w.zstd = ZSTD_createCCtx();
		rc = w.zstd ? rc : err_nomem(err);
	}
	if (w.zstd) {
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(w.zstd, ZSTD_c_checksumFlag, 1);
	}
	if (!rc)
		rc = take_all(&r, &w, err);
	if (!rc && w.zstd)
		flush(&w, true);
	if (!rc && w.failed)
		rc = err_nomem(err);
	r.damaged += r.inner.n;
	chains->dropped = w.dropped;
	chains->damaged = r.damaged;
	ZSTD_freeCCtx(w.zstd);
	ZSTD_freeDCtx(r.zstd);
	vec_done(&w.piece);
	vec_done(&r.inner);
	return rc;
}

/* ---- what describes the samples ---------------------------------------------------------------
 */

void strip_attr(uint8_t *attr, size_t size)
{
	uint64_t type, flags;

	if (size < ATTR_STACK_USER + 4)
		return;
	memcpy(&type, attr + ATTR_SAMPLE_TYPE, sizeof type);
	memcpy(&flags, attr + ATTR_FLAGS, sizeof flags);
	if (!(type & copied_bits))
		return;
	type = (type & ~copied_bits) | PERF_SAMPLE_CALLCHAIN;
	flags &= ~(uint64_t)PERF_ATTR_EXCLUDE_CALLCHAIN_USER;
	memcpy(attr + ATTR_SAMPLE_TYPE, &type, sizeof type);
	memcpy(attr + ATTR_FLAGS, &flags, sizeof flags);
	memset(attr + ATTR_REGS_USER, 0, 8);
	memset(attr + ATTR_STACK_USER, 0, 4);
}

void strip_event_desc(uint8_t *section, size_t n)
{
	struct buf b = buf_make(section, n, 0, false);
	uint32_t events = buf_u32(&b), size = buf_u32(&b), n_ids;

	for (; events && buf_ok(&b); events--) {
		const uint8_t *attr = buf_take(&b, size);

		if (attr)
			strip_attr(section + (attr - section), size);
		n_ids = buf_u32(&b);
		buf_skip(&b, buf_u32(&b)); /* its name */
		buf_skip(&b, 8ull * n_ids);
	}
}
