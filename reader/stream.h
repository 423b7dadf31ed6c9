/* stream.h - one stream of records: a data section, a file of a directory, a pipe. Private to
 * reader/.
 */
#ifndef READER_STREAM_H
#define READER_STREAM_H

#include "reader/file.h"
#include "reader/inflate.h"

struct stream {
	struct source source;
	uint64_t pos, end; /* in source; a pipe ends at UINT64_MAX */
	struct splitter split;
	struct inflate *inflate; /* NULL until the first compressed record */
	/* Payload that follows a record: its type, what is left of it, and, for COMPRESSED2, what
	 * is left of the record within. */
	uint32_t tail_type;
	uint64_t tail_left, inner_left;
	uint64_t last_time;   /* of the last record that had one */
	bool round;	      /* a FINISHED_ROUND came by */
	VEC(uint8_t) tracing; /* payload of TRACING_DATA */
};

/* Adds the stream of source bytes [pos, end) to f. On success it owns the source if that owns its
 * descriptor. */
int stream_add(struct perf_file *f, const struct source *source, uint64_t pos, uint64_t end);
void stream_free(struct perf_file *f, struct stream *st);
/* Reads on until something may leave the order (1) or the stream ends (0). */
int stream_pump(struct perf_file *f, struct stream *st);

/* record.c: does with a record of the stream what its type demands, now or by entering it into the
 * order. */
int record_take(struct perf_file *f, struct stream *st, struct block *b, const struct record *r);

#endif
