/* splitter.h - cuts a stream of bytes into records, and finds back when it is damaged. Private to
 * reader/.
 *
 * The bytes of the stream lie in blocks; the splitter looks at what is left of the current one.
 * When it needs more to decide it says so, and its owner adds bytes behind, moving the rest to a
 * fresh block if this one is full. */
#ifndef READER_SPLITTER_H
#define READER_SPLITTER_H

#include "reader/block.h"

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
	bool swap;
	bool is_pipe;		     /* TRACING_DATA has a tail, and text may follow at the end */
	bool eof;		     /* nothing comes behind the block */
	bool lost_sync;		     /* looking for records */
	bool cut_off;		     /* because the last one is longer than what is left */
	uint8_t good_align;	     /* of the last record in step, modulo 8 */
	uint8_t lost_align;	     /* of where it should have gone on */
	bool saw_magic;		     /* the damage is the start of another recording */
	uint64_t max_tail;	     /* bytes that can follow behind the block */
	uint64_t bad_off, bad_bytes; /* damage found: for the owner to count and to clear */
};

enum split { SPLIT_RECORD, SPLIT_MORE, SPLIT_END };

enum split splitter_next(struct splitter *s, struct record *r);

/* Moves what is not yet split to a new block, where bytes are added then. `mapped`: where the first
 * of these bytes is, when the blocks are places in a mapped file; else NULL. */
int splitter_roll(struct splitter *s, struct block_store *store, uint8_t *mapped, struct err *err);
/* Lets go of the block. */
void splitter_done(struct splitter *s, struct block_store *store);

#endif
