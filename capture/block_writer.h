/* block_writer.h - private: writes blocks of records to the data section of a file, compressed: the
 * part of record_writer.c that knows of no threads. One thread at a time may call it; data_bytes is
 * read by others, too. After each block the header's data.size is right. */
#ifndef CAPTURE_BLOCK_WRITER_H
#define CAPTURE_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/record_writer.h"
#include "capture/window.h"

#define BLOCK_BYTES ((size_t)1 << 20)

/* Whole records, on their way to the file. */
struct block {
	struct block *next;
	size_t n;
	bool ends_round;
	bool is_packed; /* written as it is, whatever frame is open */
	uint8_t bytes[BLOCK_BYTES];
};

struct block_writer {
	struct record_writer_options opt;
	struct ZSTD_CCtx_s *zstd; /* NULL: records are written as they are */
	uint8_t *out;		  /* what becomes of a block */
	uint64_t data_bytes;	  /* data.size; written atomically */
	uint64_t lost_samples;	  /* of blocks that could not be written */
	size_t frame_bytes;	  /* before compression, in the frame that is open */
	bool no_fallocate;	  /* the file system cannot keep space free */
};

/* Returns 0, or -1 when out of memory; block_writer_done() is to be called in both cases. */
int block_writer_init(struct block_writer *s, const struct record_writer_options *opt);
void block_writer_done(struct block_writer *s);

/* Writes a block, unless writing has failed before (error, an errno or 0). Returns 0 or an errno:
 * then samples that are not in the file are counted in lost_samples. */
int block_writer_put(struct block_writer *s, const struct block *b, int error);
/* The number of samples of a block. */
uint64_t block_samples(const struct block *b);
/* Ends the last frame, so that it has its checksum. */
void block_writer_end_frame(struct block_writer *s);

/* With a window: nothing was appended for some time; what is old is dropped all the same. */
void block_writer_age_window(struct block_writer *s);
/* Writes what a window has, whatever frame is open, to the file of opt. Sets *raw_bytes to its
 * bytes before compression, and adds its samples to *ret. Returns 0 or an errno. */
int block_writer_put_window(struct block_writer *s, struct window *w, uint64_t *raw_bytes,
			    struct window_totals *ret);

#endif
