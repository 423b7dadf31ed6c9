/* block.h - blocks of records, with a limit on how many of them stay in memory. Private to reader/.
 *
 * Records wait in blocks until all records with earlier times are known. When the window is full, a
 * block gives up its memory. Its bytes are read again later: from the plain file they came from,
 * or, where that is impossible (pipes, decompressed data), from a temporary file to which they are
 * written first. A block counts the records in it that wait (refs) and its users that look at its
 * bytes (pins), and is freed when both are 0.
 *
 * A block that is read again may have to give up its memory before all of it was used: when there
 * are more runs of waiting records than blocks in the window, only one record of it may be used. So
 * it is read in pages, and the more of them were wanted, the more are read at once. A page is read
 * only once while the block is in memory, because other threads may be looking at it.
 *
 * Blocks of a mapped file are pages of that file. They are not allocated, but the resident pages
 * are kept within the window as well, by unmapping those of blocks that only wait. */
#ifndef READER_BLOCK_H
#define READER_BLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/mapped.h"

/* many times the largest record size, 65535 bytes */
#define BLOCK_BYTES (512u << 10)
#define BLOCK_PAGE  4096u
#define BLOCK_PAGES (BLOCK_BYTES / BLOCK_PAGE)

struct block {
	uint64_t no;
	uint8_t *data;			  /* BLOCK_BYTES; NULL: not in memory */
	uint32_t n;			  /* bytes used */
	uint32_t refs;			  /* waiting records */
	uint32_t pins;			  /* being filled, or held by a batch */
	uint8_t held_by;		  /* bit i: batch i has a pin */
	bool mapped;			  /* data is a place in the mapped file */
	bool spilled;			  /* its copy is in the temporary file */
	bool partial;			  /* was read again: data has only the pages marked here */
	uint64_t pages[BLOCK_PAGES / 64]; /* a bit each */
	uint32_t ahead;			  /* so many are read next */
	int fd;				  /* where to read it again at file_off; -1: nowhere */
	uint64_t file_off;		  /* in fd, or in the temporary file once spilled */
	uint64_t data_off; /* of the first byte in its (decompressed) data stream, for messages */
};

struct block_store {
	VEC(struct block *) table; /* table.v[no - first_no]; NULL: freed */
	uint64_t first_no;
	VEC(struct block *) resident;
	VEC(uint8_t *) spare;
	size_t window; /* limit on buffers in memory; exceeded only if more are pinned */
	size_t n_buffers;
	size_t n_mapped;	 /* blocks */
	struct mapped_done done; /* blocks without pins */
	int spill_fd;		 /* -1 until needed */
	uint64_t spill_end;
};

void block_store_init(struct block_store *s, size_t window_bytes);
void block_store_done(struct block_store *s);

/* Returns an empty, pinned block, or NULL with *err. If `mapped` is not NULL the block's bytes are
 * there. */
struct block *block_new(struct block_store *s, uint8_t *mapped, struct err *err);
/* The slow path of block_fetch(): reads bytes of a block again. */
int block_reload(struct block_store *s, struct block *b, uint32_t off, uint32_t n, struct err *err);
/* Makes sure that n bytes from off on (or as many as the block has) are in memory. If the block is
 * not pinned, they stay only until the next call for another block. Returns 0, or negative with
 * *err. */
static inline int block_fetch(struct block_store *s, struct block *b, uint32_t off, uint32_t n,
			      struct err *err)
{
	return b->data && !b->partial ? 0 : block_reload(s, b, off, n, err);
}
/* The block with a number given by block_new(). */
static inline struct block *block_at(const struct block_store *s, uint64_t no)
{
	assert(no >= s->first_no && no - s->first_no < s->table.n);
	return s->table.v[no - s->first_no];
}
/* Must be called before a mapped file is unmapped, when its blocks are no longer used. */
void block_store_forget(struct block_store *s);
void block_unpin(struct block_store *s, struct block *b);
/* The slow path of block_unref(): frees what is no longer needed. */
void block_drop(struct block_store *s, struct block *b);
static inline void block_unref(struct block_store *s, struct block *b)
{
	assert(b->refs);
	if (!--b->refs)
		block_drop(s, b);
}

#endif
