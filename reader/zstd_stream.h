/* zstd_stream.h - the zstd frames inside of COMPRESSED records. Private to reader/.
 *
 * The compressed records of one data stream are one frame (perf) or several in a row (capture),
 * independent of record boundaries. Decompressed, they are a stream of records again, which has its
 * own splitter. */
#ifndef READER_ZSTD_STREAM_H
#define READER_ZSTD_STREAM_H

#include "reader/splitter.h"

struct zstd_stream;

struct zstd_input {
	const uint8_t *p;
	size_t n;
};

/* Returns 0, or negative with *err. */
int zstd_stream_new(struct zstd_stream **ret, bool swap, struct err *err);
void zstd_stream_free(struct zstd_stream *z, struct block_store *store);
struct splitter *zstd_stream_splitter(struct zstd_stream *z);

/* Call it when input is missing: the current frame cannot be continued. */
void zstd_stream_break(struct zstd_stream *z);
/* After damage: true if a new frame begins with this input, so that decompression can go on. The
 * rest of the record that the damage cut is then counted in the splitter's bad_bytes. */
bool zstd_stream_begins_anew(struct zstd_stream *z, const struct zstd_input *in);

/* Decompresses from *in, which advances, into the splitter's block until the block is full or the
 * input is used. Returns 1 if there may be more: split the bytes that are there and call again.
 * Returns 0 if all of *in is used, or negative with *err: -ERR_DAMAGED if the data is damaged (then
 * the rest is useless until zstd_stream_begins_anew()), -ERR_LIMIT if it grows beyond reason. */
int zstd_stream_step(struct zstd_stream *z, struct block_store *store, struct zstd_input *in,
		     struct err *err);

#endif
