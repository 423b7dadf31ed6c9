/* splitter.c - recognises record headers, also after damage. */
#include "reader/splitter.h"

#include "base/buf.h"
#include "reader/format.h"

enum { HEADER = sizeof(struct perf_event_header), COMPRESSED2_HEADER = HEADER + 8 };

/* So many records must follow each other until a position after damage is trusted. */
#define CHAIN 3

enum { PATIENCE = 4096 };

enum verdict { GOOD, BAD, UNDECIDED };

static struct buf bytes_at(const struct splitter *s, uint32_t off)
{
	return buf_make(s->block->data + off, s->block->n - off, 0, s->swap);
}

static bool is_known(uint32_t type)
{
	return (type > 0 && type < RECORD_KERNEL_END) ||
	       (type >= RECORD_HEADER_ATTR && type < RECORD_USER_END) ||
	       (type >= RECORD_SIMPLEPERF && type < RECORD_SIMPLEPERF_END);
}

static inline void header_read(const struct splitter *s, uint32_t off, struct record *r)
{
	const struct perf_event_header h = header_at(s->block->data + off, s->swap);

	*r = (struct record){.type = h.type, .misc = h.misc, .size = h.size, .off = off};
}

/* Is there a valid header at off? Not all writers use sizes that are multiples of 8. */
static enum verdict looks_like_header(const struct splitter *s, uint32_t off, struct record *r)
{
	if (s->block->n - off < HEADER)
		return s->eof ? BAD : UNDECIDED;
	header_read(s, off, r);
	return is_known(r->type) && r->size >= HEADER ? GOOD : BAD;
}

/* Does a valid header follow at off, perhaps after a few records of types that are not known yet?
 */
static enum verdict leads_to_header(const struct splitter *s, uint32_t off)
{
	struct record r;

	for (int i = 0; i < CHAIN; i++) {
		enum verdict v = looks_like_header(s, off, &r);

		if (v != BAD || s->block->n - off < HEADER || !r.type || is_known(r.type) ||
		    r.size < HEADER || r.size % 8)
			return v;
		if (r.size >= s->block->n - off)
			return !s->eof ? UNDECIDED : r.size == s->block->n - off ? GOOD : BAD;
		off += r.size;
	}
	return BAD;
}

/* Since 6.16 perf writes several COMPRESSED2 records at once and sets one size only, in 16 bits. If
 * that is too small for data_size, then data_size is right and there is no padding. */
static enum verdict compressed2_size(const struct splitter *s, struct record *r)
{
	struct buf b = bytes_at(s, r->off);
	uint64_t data_size, total;

	if (buf_left(&b) < COMPRESSED2_HEADER)
		return s->eof ? BAD : UNDECIDED;
	buf_skip(&b, HEADER);
	data_size = buf_u64(&b);
	total = data_size + COMPRESSED2_HEADER;
	if (total < data_size || total <= r->size)
		return r->size < COMPRESSED2_HEADER ? BAD : GOOD;
	if (((total + 7) & 0xfff8) != r->size)
		return BAD;
	r->size = COMPRESSED2_HEADER;
	r->tail = data_size;
	return GOOD;
}

/* In simpleperf's records misc is the upper half of the size. Records above 64 KiB are lists of
 * versions that did not split them yet: u32 size, bytes, padding. */
static bool is_big_simpleperf(const struct record *r)
{
	return r->type == RECORD_SIMPLEPERF_KERNEL_SYMBOL ||
	       r->type == RECORD_SIMPLEPERF_TRACING_DATA;
}

static enum verdict big_size(const struct splitter *s, struct record *r)
{
	enum { PADDING_MAX = 63 };
	const uint64_t size = (uint64_t)r->misc << 16 | r->size;
	struct buf b = bytes_at(s, r->off);
	uint64_t least;

	if (buf_left(&b) < HEADER + 4)
		return s->eof ? BAD : UNDECIDED;
	buf_skip(&b, HEADER);
	least = HEADER + 4 + (uint64_t)buf_u32(&b);
	/* Otherwise misc has its usual meaning. */
	if (size >= least && size - least <= PADDING_MAX) {
		r->tail = size - HEADER;
		r->size = HEADER;
	}
	return GOOD;
}

/* The size of the payload that follows the record; it is in the record's first field. */
static enum verdict tail_size(const struct splitter *s, struct record *r)
{
	struct buf b = bytes_at(s, r->off);

	if (r->type == RECORD_COMPRESSED2)
		return compressed2_size(s, r);
	if (is_big_simpleperf(r) && r->misc)
		return big_size(s, r);
	if (r->type != RECORD_AUXTRACE && (r->type != RECORD_TRACING_DATA || !s->is_pipe))
		return GOOD;
	if (buf_left(&b) < HEADER + 8)
		return s->eof ? BAD : UNDECIDED;
	buf_skip(&b, HEADER);
	r->tail = r->type == RECORD_AUXTRACE ? buf_u64(&b) : buf_u32(&b);
	return GOOD;
}

/* Compressed data, and header features in pipes, which perf 6.1 pads to multiples of 4 only. */
static bool may_be_odd(uint32_t type)
{
	return type == RECORD_COMPRESSED || type == RECORD_HEADER_FEATURE;
}

/* Do records begin here, after damage? The rest of a record that was cut off at the end of the data
 * has no records in it, but may contain copies of records (stacks of perf itself do). There, only
 * records that go on to the end of the data show that the size of the cut record was wrong. */
static enum verdict chain_check(const struct splitter *s, uint32_t off)
{
	struct record r;
	enum verdict v;

	for (int i = 0; i < CHAIN || s->cut_off; i++) {
		if (i && s->eof && off == s->block->n)
			return GOOD;
		v = looks_like_header(s, off, &r);
		if (v != GOOD)
			return v;
		if (r.size % 8 && !may_be_odd(r.type))
			return BAD;
		if (r.size > s->block->n - off)
			return s->eof ? BAD : UNDECIDED;
		off += r.size;
	}
	return GOOD;
}

/* Sets after how many more bytes the question is asked again, so that it is not asked for every
 * byte of a slow pipe. */
static void be_patient(struct splitter *s)
{
	s->patience = s->block->n + PATIENCE < BLOCK_BYTES ? s->block->n + PATIENCE : BLOCK_BYTES;
}

/* Compressed data has an odd size, as mostly, and no header follows: the damage is in what follows,
 * unless records begin inside of this one. */
static enum verdict compressed_stands(struct splitter *s, const struct record *r)
{
	const uint32_t end = r->off + r->size;
	bool undecided = false;
	struct record inner;

	if (s->block->n < s->patience && !s->eof)
		return UNDECIDED;
	for (uint32_t off = r->off + HEADER; off < end; off++) {
		enum verdict v = looks_like_header(s, off, &inner);

		if (v == GOOD)
			v = chain_check(s, off);
		if (v == GOOD)
			return BAD;
		undecided |= v == UNDECIDED;
	}
	if (undecided)
		be_patient(s);
	return undecided ? UNDECIDED : GOOD;
}

/* Checks a record that directly follows the one before. */
static inline enum verdict record_check(struct splitter *s, struct record *r)
{
	const uint32_t left = s->block->n - s->rd;
	enum verdict v;

	if (left < HEADER)
		return s->eof ? BAD : UNDECIDED;
	header_read(s, s->rd, r);
	if (r->type == PERF_RECORD_SAMPLE && r->size >= HEADER && r->size <= left &&
	    r->size % 8 == 0)
		return GOOD; /* the checks below would accept it, too; most are samples */
	v = tail_size(s, r);
	if (v != GOOD)
		return v;
	if (r->size < HEADER)
		return BAD;
	if (r->size > left) {
		s->cut_off = s->eof && is_known(r->type) && r->size % 8 == 0;
		return s->eof ? BAD : UNDECIDED;
	}
	if (r->tail)
		return r->tail <= s->max_tail || r->tail - s->max_tail <= left - r->size ? GOOD
											 : BAD;
	if (is_known(r->type) && r->size % 8 == 0)
		return GOOD;
	/* An odd size or an unknown type: accepted if a known record follows, or if there are too
	 * few bytes to know. */
	if (s->eof && (r->size == left || (is_known(r->type) && left - r->size < HEADER)))
		return GOOD;
	v = leads_to_header(s, s->rd + r->size);
	return v == BAD && r->type == RECORD_COMPRESSED ? compressed_stands(s, r) : v;
}

/* Does the header of another pipe begin here? */
static bool is_pipe_header(const struct splitter *s)
{
	struct buf b = bytes_at(s, s->rd);
	const uint8_t *magic = buf_take(&b, 8);

	return magic && !memcmp(magic, s->swap ? "2ELIFREP" : PERFDATA_MAGIC, 8) &&
	       buf_u64(&b) == sizeof(struct perfdata_pipe_header);
}

/* Can records begin at rd? All sizes are multiples of 8 except those of compressed data and of
 * features. So in a stream without compressed data, after its features, a record begins at the same
 * offset modulo 8 as the place where records were lost, or as the last valid record. Anything else
 * is a coincidence. */
static bool may_begin_at(const struct splitter *s)
{
	const uint8_t align = splitter_align(s, s->rd);

	return align == s->lost_align || align == s->good_align || s->saw_odd || s->at_features ||
	       (s->block->n - s->rd >= HEADER &&
		may_be_odd(header_at(s->block->data + s->rd, s->swap).type));
}

/* Looks for the next place where records begin. */
static enum verdict resync(struct splitter *s, struct record *r)
{
	enum verdict v = BAD;
	uint32_t start = s->rd;

	for (; s->rd < s->block->n; s->rd++) {
		if (!may_begin_at(s))
			continue;
		v = chain_check(s, s->rd);
		if (v == GOOD)
			v = record_check(s, r);
		if (v != BAD)
			break;
	}
	s->bad_bytes += s->rd - start;
	s->synced_at = s->rd;
	s->lost_sync = v != GOOD;
	s->cut_off &= s->lost_sync;
	return v;
}

/* The start of the last record before rd; rd if it cannot be found. */
static uint32_t last_record(const struct splitter *s)
{
	uint32_t at = s->synced_at, last = s->rd;
	struct record r;

	while (at < s->rd && s->rd - at >= HEADER) {
		header_read(s, at, &r);
		if (r.size < HEADER)
			break;
		last = at;
		at += r.size;
	}
	return at == s->rd ? last : s->rd;
}

/* Do valid records continue at off, after rd? A full block gets no more bytes, so those in it must
 * be enough. */
static enum verdict goes_on_at(const struct splitter *s, uint32_t off)
{
	struct record r;
	enum verdict v;

	if (off >= s->block->n)
		return !s->eof ? UNDECIDED : off == s->block->n ? GOOD : BAD;
	v = chain_check(s, off);
	return v == UNDECIDED && s->block->n == BLOCK_BYTES ? looks_like_header(s, off, &r) : v;
}

/* A record whose size is too large includes the records after it. There is no header at rd, where
 * it seems to end; but records that begin inside of it follow each other and continue after rd: go
 * back to the first of these. (Copies of records in a stack end inside of it.) */
static enum verdict look_back(struct splitter *s)
{
	/* By word: the records that begin there continue after rd. */
	bool leads_on[UINT16_MAX / 8 + 1];
	const uint32_t last = last_record(s), words = (s->rd - last) / 8;
	uint32_t found = s->rd;
	bool undecided = false;
	struct record r;

	if ((s->rd - last) % 8 || words >= sizeof leads_on)
		return BAD;
	if (s->block->n < s->patience && !s->eof)
		return UNDECIDED;
	for (uint32_t i = words; i-- > 1;) {
		const uint32_t off = last + 8 * i;
		enum verdict v;

		leads_on[i] = false;
		if (looks_like_header(s, off, &r) != GOOD || r.size % 8 || off + r.size == s->rd)
			continue;
		v = off + r.size > s->rd       ? goes_on_at(s, off + r.size)
		    : leads_on[i + r.size / 8] ? GOOD
					       : BAD;
		leads_on[i] = v == GOOD;
		undecided |= v == UNDECIDED;
		if (leads_on[i])
			found = off;
	}
	if (found == s->rd) {
		s->synced_at = last;
		be_patient(s);
		return undecided ? UNDECIDED : BAD;
	}
	s->wrong_size = true;
	s->bad_off = s->block->data_off + last;
	s->rd = s->synced_at = found;
	return GOOD;
}

static void lose_sync(struct splitter *s)
{
	if (!s->bad_bytes)
		s->bad_off = s->block->data_off + s->rd;
	s->lost_sync = true;
	s->lost_align = splitter_align(s, s->rd);
	/* If two pipes were written to one file, the records of the second follow its header. */
	while (is_pipe_header(s)) {
		s->saw_magic = true;
		s->lost_sync = false;
		s->bad_bytes += sizeof(struct perfdata_pipe_header);
		s->rd += sizeof(struct perfdata_pipe_header);
	}
}

/* In step, but there is no header at rd, or an unusual one. */
static enum verdict stumble(struct splitter *s, struct record *r, enum verdict v)
{
	const enum verdict back = s->cut_off || is_pipe_header(s) ? BAD : look_back(s);

	if (back == GOOD)
		return record_check(s, r);
	if (v == UNDECIDED || back == UNDECIDED)
		return UNDECIDED;
	lose_sync(s);
	return s->lost_sync ? BAD : record_check(s, r);
}

/* The next record: the one that follows, or the first one after damage. */
static inline enum verdict find_record(struct splitter *s, struct record *r)
{
	enum verdict v = BAD;

	if (!s->lost_sync) {
		v = record_check(s, r);
		if (v == BAD || (v == UNDECIDED && s->block->n - s->rd >= HEADER &&
				 (!is_known(r->type) || r->size % 8)))
			v = stumble(s, r, v);
	}
	return v == BAD ? resync(s, r) : v;
}

enum split splitter_next(struct splitter *s, struct record *r)
{
	if (!s->block || s->rd == s->block->n)
		return s->eof ? SPLIT_END : SPLIT_MORE;
	if (find_record(s, r) != GOOD)
		return s->eof ? SPLIT_END : SPLIT_MORE;
	s->good_align = splitter_align(s, s->rd);
	s->saw_odd |= r->size % 8 && r->type == RECORD_COMPRESSED;
	s->at_features = r->type == RECORD_HEADER_FEATURE;
	s->rd += r->size;
	/* Records are mostly as large as their neighbours: prefetch the header of a later one. */
	__builtin_prefetch((const void *)((uintptr_t)s->block->data + s->rd + 4 * r->size));
	return SPLIT_RECORD;
}

int splitter_roll(struct splitter *s, struct block_store *store, uint8_t *mapped, struct err *err)
{
	struct block *old = s->block, *fresh;

	if (mapped && old)
		mapped -= old->n - s->rd;
	fresh = block_new(store, mapped, err);

	if (!fresh)
		return -(int)err->code;
	if (old) {
		fresh->n = old->n - s->rd;
		if (!mapped)
			memcpy(fresh->data, old->data + s->rd, fresh->n);
		fresh->data_off = old->data_off + s->rd;
		fresh->fd = old->fd;
		fresh->file_off = old->file_off + s->rd;
		old->n = s->rd;
		block_unpin(store, old);
	}
	s->block = fresh;
	s->rd = s->synced_at = s->patience = 0;
	return 0;
}

void splitter_abandon_rest(struct splitter *s)
{
	struct block *b = s->block;

	if (!b)
		return;
	if (b->n > s->rd && !s->bad_bytes)
		s->bad_off = b->data_off + s->rd;
	s->bad_bytes += b->n - s->rd;
	s->rd = s->synced_at = b->n;
	s->lost_sync = s->cut_off = false;
}

void splitter_done(struct splitter *s, struct block_store *store)
{
	if (s->block)
		block_unpin(store, s->block);
	s->block = NULL;
}
