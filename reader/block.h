/* block.h - blocks of records, with a limit on how many of them stay in memory. Private to reader/.
 *
 * Records wait in blocks until their time comes. When the window is full, a block gives up its
 * memory: its bytes are read again from the plain file they came from, or, where that is impossible
 * (pipes, decompressed data), from a temporary file they are written to first. Blocks are counted:
 * by records that wait (refs) and by those who look at its bytes (pins). A block without either
 * more is freed.
 *
 * Of a block that is read again not all may be wanted before it has to make room for another: where
 * more runs of records wait than blocks fit, it is one record. So it is read in pages, more of them
 * at once the more of it are wanted. A page is read once as long as the block is in memory, as
 * others may be looking at it.
 *
 * Blocks of a mapped file are pages of that file. They are always there, and no memory of the
 * process; still the pages that we hold are kept to the window, by forgetting those of blocks that
 * only wait.
 */
#ifndef READER_BLOCK_H
#define READER_BLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "reader/mapped.h"

/* Far more than a few records of the largest size, 65535 bytes. */
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
	bool partial;			  /* was read again: of data only these pages are there */
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
	size_t window; /* most buffers in memory, unless more are pinned */
	size_t n_buffers;
	size_t n_mapped;	 /* blocks */
	struct mapped_done done; /* blocks without pins */
	int spill_fd;		 /* -1 until needed */
	uint64_t spill_end;
};

void block_store_init(struct block_store *s, size_t window_bytes);
void block_store_done(struct block_store *s);

/* An empty block, pinned, or NULL with *err. Its bytes are at `mapped`, if that is not NULL. */
struct block *block_new(struct block_store *s, uint8_t *mapped, struct err *err);
/* For block_fetch(): reads the bytes of a block again. */
int block_reload(struct block_store *s, struct block *b, uint32_t off, uint32_t n, struct err *err);
/* Makes sure that the n bytes from off on, as far as the block has them, are in memory, until the
 * next call for another block unless it is pinned. 0 or negative with *err. */
static inline int block_fetch(struct block_store *s, struct block *b, uint32_t off, uint32_t n,
			      struct err *err)
{
	return b->data && !b->partial ? 0 : block_reload(s, b, off, n, err);
}
/* The block of a number that rises with block_new(). */
static inline struct block *block_at(const struct block_store *s, uint64_t no)
{
	assert(no >= s->first_no && no - s->first_no < s->table.n);
	return s->table.v[no - s->first_no];
}
/* Must be called before a file is unmapped, when its blocks are not used any more. */
void block_store_forget(struct block_store *s);
void block_unpin(struct block_store *s, struct block *b);
/* For block_unref(): frees what is not needed. */
void block_drop(struct block_store *s, struct block *b);
static inline void block_unref(struct block_store *s, struct block *b)
{
	assert(b->refs);
	if (!--b->refs)
		block_drop(s, b);
}

#endif
