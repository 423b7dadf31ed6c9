/* splitter.h - cuts a stream of bytes into records, and finds back when it is damaged. Private to
 * reader/.
 *
 * The bytes of the stream lie in blocks; the splitter looks at what is left of the current one.
 * When it needs more to decide it says so, and its owner adds bytes behind, moving the rest to a
 * fresh block if this one is full. */
#ifndef READER_SPLITTER_H
#define READER_SPLITTER_H

#include "base/prefetch.h"
#include "reader/block.h"
#include "reader/format.h"

/* The writer of COMPRESSED2 cuts its data into records of this many bytes of payload. */
#define COMPRESSED2_PAYLOAD_MAX 65519u

struct record {
	uint32_t type;
	uint16_t misc;
	uint32_t size; /* with the header */
	uint32_t off;  /* in the splitter's block */
	uint64_t tail; /* bytes that follow outside of size: payload, or the rest of the record */
};

struct splitter {
	struct block *block; /* pinned; NULL before the first byte */
	uint32_t rd;	     /* in block: the next byte */
	uint32_t synced_at;  /* in block: from here to rd there are records, or what follows them */
	uint32_t patience;   /* in block: when there is so much, it is worth to look back again */
	bool swap;
	bool is_pipe;		     /* TRACING_DATA has a tail, and text may follow at the end */
	bool eof;		     /* nothing comes behind the block */
	bool lost_sync;		     /* looking for records */
	bool saw_odd;		     /* compressed data, whose sizes are no whole words */
	bool at_features;	     /* the last record in step was one */
	bool cut_off;		     /* because the last one is longer than what is left */
	uint8_t good_align;	     /* of the last record in step, modulo 8 */
	uint8_t lost_align;	     /* of where it should have gone on */
	bool saw_magic;		     /* the damage is the start of another recording */
	bool wrong_size;	     /* the damage is a size that was too large, and put right */
	uint64_t max_tail;	     /* bytes that can follow behind the block */
	uint64_t bad_off, bad_bytes; /* damage found: for the owner to count and to clear */
};

enum split { SPLIT_RECORD, SPLIT_MORE, SPLIT_END };

enum split splitter_next(struct splitter *s, struct record *r);

/* The header at p, where one is, in our byte order. */
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

/* Does the next record follow the last, with no damage to be counted in between? */
static inline bool splitter_in_step(const struct splitter *s)
{
	return s->block && !s->lost_sync && !s->bad_bytes && !s->saw_magic;
}

/* Where a place in the block lies in its stream, modulo 8. */
static inline uint8_t splitter_align(const struct splitter *s, uint32_t off)
{
	return (s->block->data_off + off) & 7;
}

/* Fetches the first `least` bytes of a later record, as if those from here on were all of one size,
 * as they mostly are. Of small ones, what lies behind those that the processor fetches by itself.
 */
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

/* In step: takes the next record if it is a sample of at least `least` bytes (not less than a
 * header's), as nearly all are, and all there. *off is where in the block. False: splitter_next()
 * has to look. */
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
	s->rd += h.size;
	splitter_expect((uintptr_t)s->block->data + s->rd, h.size, least);
	return true;
}

/* Moves what is not yet split to a new block, where bytes are added then. `mapped`: where the first
 * of these bytes is, when the blocks are places in a mapped file; else NULL. */
int splitter_roll(struct splitter *s, struct block_store *store, uint8_t *mapped, struct err *err);
/* What is left of a record will not go on: it counts as damage, and records begin behind it. */
void splitter_abandon_rest(struct splitter *s);
/* Lets go of the block. */
void splitter_done(struct splitter *s, struct block_store *store);

#endif
