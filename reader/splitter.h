/* splitter.h - cuts a stream of bytes into records, and finds the next record after damage. Private
 * to reader/.
 *
 * The bytes of the stream are in blocks; the splitter works on the rest of the current block. When
 * it needs more bytes to decide, it says so; its owner then appends bytes, after moving the rest to
 * a new block if the current one is full. */
#ifndef READER_SPLITTER_H
#define READER_SPLITTER_H

#include "base/prefetch.h"
#include "reader/block.h"
#include "reader/format.h"

/* The payload size at which the writer of COMPRESSED2 splits its data into records. */
#define COMPRESSED2_PAYLOAD_MAX 65519u

struct record {
	uint32_t type;
	uint16_t misc;
	uint32_t size; /* with the header */
	uint32_t off;  /* in the splitter's block */
	/* Bytes that follow and are not counted in size: payload, or the rest of the record. */
	uint64_t tail;
};

struct splitter {
	struct block *block; /* pinned; NULL before the first byte */
	uint32_t rd;	     /* in block: the next byte */
	/* Offset in the block: from here to rd there are records, or their payload. */
	uint32_t synced_at;
	/* Offset in the block: with fewer bytes than this it is not worth looking for records
	 * again. */
	uint32_t patience;
	bool swap;
	/* TRACING_DATA is followed by payload, and the stream may end with text. */
	bool is_pipe;
	bool eof;	/* nothing comes behind the block */
	bool lost_sync; /* looking for records */
	/* The data is compressed, and its sizes are not multiples of 8. */
	bool saw_odd;
	bool at_features;	     /* the last record in step was one */
	bool cut_off;		     /* the last record is longer than the bytes that are left */
	uint8_t good_align;	     /* of the last record in step, modulo 8 */
	uint8_t lost_align;	     /* of where it should have gone on */
	bool saw_magic;		     /* the damage is the start of another recording */
	bool wrong_size;	     /* the damage is a size that was too large; it was corrected */
	uint64_t max_tail;	     /* bytes that can follow behind the block */
	uint64_t bad_off, bad_bytes; /* damage found; the owner counts and clears it */
};

enum split { SPLIT_RECORD, SPLIT_MORE, SPLIT_END };

enum split splitter_next(struct splitter *s, struct record *r);

/* Reads the header at p in native byte order. */
static inline struct perf_event_header header_at(const uint8_t *p, bool swap)
{
	struct perf_event_header h;

	memcpy(&h, p, sizeof h);
	if (swap) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	return h;
}

/* Does the next record follow the last one, without damage that has not been counted yet? */
static inline bool splitter_in_step(const struct splitter *s)
{
	return s->block && !s->lost_sync && !s->bad_bytes && !s->saw_magic;
}

/* The position of an offset of the block in its stream, modulo 8. */
static inline uint8_t splitter_align(const struct splitter *s, uint32_t off)
{
	return (s->block->data_off + off) & 7;
}

/* Prefetches the first `least` bytes of a later record, assuming that all records from here on have
 * the size of this one, as most do. For small records, prefetches beyond the distance that the
 * processor's own prefetcher covers. */
PREFETCHING void splitter_expect(uintptr_t here, uint32_t size, uint32_t least)
{
	enum { SMALL = 512, SMALL_AHEAD = 2048 };

	if (size < SMALL) {
		__builtin_prefetch((const void *)(here + SMALL_AHEAD));
		return;
	}
	for (unsigned n = 4; n <= 8; n += 4) {
		__builtin_prefetch((const void *)(here + n * size));
		__builtin_prefetch((const void *)(here + n * size + least - 8));
	}
}

/* The fast path, only for a splitter that is in step (splitter_in_step()): takes the next record if
 * it is complete and a sample of at least `least` bytes (not less than a header). Sets *off to its
 * offset in the block. False: call splitter_next(). */
static inline bool splitter_next_sample(struct splitter *s, uint32_t least, uint32_t *off)
{
	const uint32_t left = s->block->n - s->rd;
	struct perf_event_header h;

	if (left < least)
		return false;
	h = header_at(s->block->data + s->rd, s->swap);
	if (h.type != PERF_RECORD_SAMPLE || h.size < least || h.size > left || h.size % 8)
		return false;
	*off = s->rd;
	s->good_align = splitter_align(s, s->rd);
	s->at_features = false;
	s->rd += h.size;
	splitter_expect((uintptr_t)s->block->data + s->rd, h.size, least);
	return true;
}

/* Moves the bytes that are not split yet to a new block, to which bytes are then appended. If
 * blocks are parts of a mapped file, `mapped` is the address of the first of these bytes, else
 * NULL. */
int splitter_roll(struct splitter *s, struct block_store *store, uint8_t *mapped, struct err *err);
/* The rest of a cut record will not follow: counts it as damage, and looks for records after it. */
void splitter_abandon_rest(struct splitter *s);
/* Unpins the block. */
void splitter_done(struct splitter *s, struct block_store *store);

#endif
