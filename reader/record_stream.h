/* record_stream.h - one stream of records: a data section, a file of a directory, a pipe. Private
 * to reader/.
 */
#ifndef READER_RECORD_STREAM_H
#define READER_RECORD_STREAM_H

#include "reader/file.h"
#include "reader/unpack_switches.h"
#include "reader/zstd_stream.h"

/* Payload that follows a record and is not counted in its size. */
struct tail {
	uint32_t type;	     /* of the record */
	bool skip;	     /* not wanted */
	uint64_t left;	     /* bytes still to be read; 0: no payload follows */
	uint64_t inner_left; /* COMPRESSED2: of the record within */
	VEC(uint8_t) bytes;  /* kept so far */
};

struct record_stream {
	struct byte_source source;
	uint64_t pos, end; /* in source; a pipe ends at UINT64_MAX */
	struct splitter split;
	struct zstd_stream *zstd;	 /* NULL until the first compressed record */
	struct tail tail, tail_inflated; /* of the two splitters */
	struct unpacked_switches unpacked;
	uint64_t last_time; /* of the last record that had one */
	bool round;	    /* a FINISHED_ROUND came by */
	bool jumps;	    /* over payload, of which there may be most */
};

/* Adds a stream of the source's bytes [pos, end) to f. On success the stream owns the source, if
 * the source owns its descriptor. */
int record_stream_add(struct perf_file *f, const struct byte_source *source, uint64_t pos,
		      uint64_t end);
void record_stream_free(struct perf_file *f, struct record_stream *st);
/* Reads on. Returns 1 when entries may leave the order, 0 at the end of the stream, or negative. */
int record_stream_pump(struct perf_file *f, struct record_stream *st);

/* record.c: handles a record of the stream by its type: at once, or by entering it into the order.
 */
int record_take(struct perf_file *f, struct record_stream *st, struct block *b,
		const struct record *r);
/* Handles the next records of the splitter, as long as they are ordinary samples. */
int record_take_samples(struct perf_file *f, struct record_stream *st, struct splitter *s);

#endif
