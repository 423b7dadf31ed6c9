/* record_writer.h - private: records to the data section of a file, compressed by a thread of its
 * own.
 *
 * One thread appends records and closes rounds. A helper thread compresses and writes blocks; after
 * each block the file's data.size is brought up to date, so the file is whole at any moment. The
 * compressed data are zstd frames, flushed at the end of each PERF_RECORD_COMPRESSED
 * (tools/perf/Documentation/perf.data-file-format.txt). perf writes one frame without a checksum;
 * here frames end now and then, behind a whole record, so that damage costs only the frame that it
 * is in, and have checksums, so that it is noticed.
 */
#ifndef CAPTURE_RECORD_WRITER_H
#define CAPTURE_RECORD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Input of one PERF_RECORD_COMPRESSED. zstd's output for it fits into a record (65535 bytes) even
 * when nothing can be compressed, so that a record always ends with a whole zstd block: readers
 * take a record that decompresses to nothing for an error. */
#define RECORD_WRITER_PIECE_BYTES 65024

/* The most that one frame holds before compression. */
#define RECORD_WRITER_FRAME_BYTES ((size_t)4 << 20)

struct record_writer; /* opaque */

struct record_writer_options {
	int fd;
	uint64_t data_off;	 /* where the data section begins in the file */
	uint64_t data_bytes;	 /* what it holds already */
	uint64_t size_field_off; /* where the header keeps data.size (u64) */
	int level;		 /* of zstd; 0: write the records as they are */
	size_t queue_bytes;	 /* blocks waiting for the helper beyond which the writer is full */
	size_t reserve_bytes; /* disk space kept free behind the data for what finishes the file */
};

int record_writer_start(struct record_writer **ret, const struct record_writer_options *opt,
			struct err *err);

/* Room for a record of at most n <= 65542 bytes; NULL when out of memory. Valid until the commit.
 */
uint8_t *record_writer_reserve(struct record_writer *s, size_t n);
/* The first n bytes of the room now are a whole record. */
void record_writer_commit(struct record_writer *s, size_t n);
/* Copies a record. 0, or -1 when out of memory. */
int record_writer_append(struct record_writer *s, const void *rec, size_t n);

/* The helper is behind: samples should wait in their rings. */
bool record_writer_is_full(struct record_writer *s);
/* Bytes appended since the last record_writer_end_round(). */
size_t record_writer_round_bytes(const struct record_writer *s);
/* Hands everything over to the helper, followed by PERF_RECORD_FINISHED_ROUND. 0, or -1 when out of
 * memory. */
int record_writer_end_round(struct record_writer *s);
/* errno of the first failed write, or 0. Later blocks are thrown away. */
int record_writer_error(struct record_writer *s);

struct record_writer_totals {
	uint64_t raw_bytes;    /* appended */
	uint64_t data_bytes;   /* in the file: data.size */
	uint64_t lost_samples; /* appended, but not in the file because of the error */
};

/* Hands everything over, waits for the helper, and frees the writer. Returns 0 or a positive errno
 * of the first failed write; the totals say what is in the file. NULL is allowed. */
int record_writer_finish(struct record_writer *s, struct record_writer_totals *ret);

#endif
