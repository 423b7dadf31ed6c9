/* zstd_stream.h - the zstd frames inside of COMPRESSED records. Private to reader/.
 *
 * The compressed records of one data stream are one frame (perf), or frames one after the other
 * (capture), whatever the records' boundaries; what comes out is a stream of records again, which
 * has a splitter of its own. */
#ifndef READER_ZSTD_STREAM_H
#define READER_ZSTD_STREAM_H

#include "reader/splitter.h"

struct zstd_stream;

struct zstd_input {
	const uint8_t *p;
	size_t n;
};

/* 0 or negative with *err. */
int zstd_stream_new(struct zstd_stream **ret, bool swap, struct err *err);
void zstd_stream_free(struct zstd_stream *z, struct block_store *store);
struct splitter *zstd_stream_splitter(struct zstd_stream *z);

/* Something is missing: the frame cannot go on. */
void zstd_stream_break(struct zstd_stream *z);
/* After damage: a new frame begins with this input, so decompression goes on. What is left of the
 * record that the damage cut is in the splitter's bad_bytes then. */
bool zstd_stream_begins_anew(struct zstd_stream *z, const struct zstd_input *in);

/* Decompresses from *in (which advances) into the splitter's block until that is full or all is
 * done. 1: there may be more, split what is there and call again; 0: all of *in is used; negative
 * with *err: -ERR_DAMAGED when the data is (the rest is useless until zstd_stream_begins_anew()),
 * -ERR_LIMIT when it grows beyond reason. */
int zstd_stream_step(struct zstd_stream *z, struct block_store *store, struct zstd_input *in,
		     struct err *err);

#endif
