/* record_stream.h - one stream of records: a data section, a file of a directory, a pipe. Private
 * to reader/.
 */
#ifndef READER_RECORD_STREAM_H
#define READER_RECORD_STREAM_H

#include "reader/file.h"
#include "reader/zstd_stream.h"

/* Payload that follows a record, outside of its size. */
struct tail {
	uint32_t type;	     /* of the record */
	bool skip;	     /* not wanted */
	uint64_t left;	     /* bytes that are still to come; 0: there is none */
	uint64_t inner_left; /* COMPRESSED2: of the record within */
	VEC(uint8_t) bytes;  /* kept so far */
};

struct record_stream {
	struct byte_source source;
	uint64_t pos, end; /* in source; a pipe ends at UINT64_MAX */
	struct splitter split;
	struct zstd_stream *zstd;	 /* NULL until the first compressed record */
	struct tail tail, tail_inflated; /* of the two splitters */
	uint64_t last_time;		 /* of the last record that had one */
	bool round;			 /* a FINISHED_ROUND came by */
	bool jumps;			 /* over payload, of which there may be most */
};

/* Adds the stream of source bytes [pos, end) to f. On success it owns the source if that owns its
 * descriptor. */
int record_stream_add(struct perf_file *f, const struct byte_source *source, uint64_t pos,
		      uint64_t end);
void record_stream_free(struct perf_file *f, struct record_stream *st);
/* Reads on until something may leave the order (1) or the stream ends (0). */
int record_stream_pump(struct perf_file *f, struct record_stream *st);

/* record.c: does with a record of the stream what its type demands, now or by entering it into the
 * order. */
int record_take(struct perf_file *f, struct record_stream *st, struct block *b,
		const struct record *r);
/* The same for the samples that come next in a splitter, as far as nothing about them is special.
 */
int record_take_samples(struct perf_file *f, struct record_stream *st, struct splitter *s);

#endif
