/* record_writer.h - private: writes records to the data section of a file; a thread compresses
 * them.
 *
 * One thread appends records and closes rounds. A helper thread compresses and writes blocks; after
 * each block it updates the file's data.size, so the file is valid at any moment. The compressed
 * data are zstd frames, flushed at the end of each PERF_RECORD_COMPRESSED
 * (tools/perf/Documentation/perf.data-file-format.txt). perf writes one frame without a checksum.
 * Here frames end from time to time, after a whole record, so that damage affects only one frame,
 * and they have checksums, so that it is detected. */
#ifndef CAPTURE_RECORD_WRITER_H
#define CAPTURE_RECORD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/window.h"

/* Input of one PERF_RECORD_COMPRESSED. zstd's output for it fits into a record (65535 bytes) even
 * if it cannot be compressed, so that a record always ends with a whole zstd block: readers treat a
 * record that decompresses to nothing as an error. */
#define RECORD_WRITER_PIECE_BYTES 65024

/* Limit on the data in one frame, before compression. */
#define RECORD_WRITER_FRAME_BYTES ((size_t)4 << 20)

struct record_writer; /* opaque */

struct record_writer_options {
	int fd;
	bool is_pipe;		 /* written in one go; the next three mean nothing */
	struct window *window;	 /* keeps the data in memory, and there is no file; NULL */
	uint64_t data_off;	 /* where the data section begins in the file */
	uint64_t data_bytes;	 /* what it holds already */
	uint64_t size_field_off; /* where the header keeps data.size (u64) */
	int level;		 /* of zstd; 0: write the records as they are */
	size_t queue_bytes;	 /* the writer is full when more bytes wait for the helper */
	size_t reserve_bytes;	 /* disk space kept free after the data, for the end of the file */
	uint64_t end_ns;	 /* of a spill: CLOCK_MONOTONIC, the end of the window */
};

int record_writer_start(struct record_writer **ret, const struct record_writer_options *opt,
			struct err *err);

/* Returns room for a record of at most n <= 65542 bytes, valid until the commit. NULL when out of
 * memory. */
uint8_t *record_writer_reserve(struct record_writer *s, size_t n);
/* Adds the first n bytes of that room as a record. */
void record_writer_commit(struct record_writer *s, size_t n);
/* Adds a copy of a record. Returns 0, or -1 when out of memory. */
int record_writer_append(struct record_writer *s, const void *rec, size_t n);

/* Likewise one that is not compressed again, and stands between those that are; it is left out
 * where the disk is full. Not with a window. */
int record_writer_append_packed(struct record_writer *s, const void *rec, size_t n);

/* Is the helper so far behind that samples should wait in their rings? */
bool record_writer_is_full(struct record_writer *s);
/* Bytes appended since the last record_writer_end_round(). */
size_t record_writer_round_bytes(const struct record_writer *s);
/* Passes everything to the helper, followed by PERF_RECORD_FINISHED_ROUND. Returns 0, or -1 when
 * out of memory. */
int record_writer_end_round(struct record_writer *s);
/* Waits until the helper has written all rounds. */
void record_writer_flush(struct record_writer *s);
/* What has gone to the file so far: data.size. */
uint64_t record_writer_data_bytes(struct record_writer *s);
/* errno of the first failed write, or 0. Blocks after a failed write are discarded. */
int record_writer_error(struct record_writer *s);

/* ---- with a fork ----------------------------------------------------------------------------- */

/* Keeps the helper from working until record_writer_release(): a fork() in between has everything
 * as it is. */
void record_writer_hold(struct record_writer *s);
void record_writer_release(struct record_writer *s);
/* In the process that was forked meanwhile, which has no helper: instead of the release. */
void record_writer_forked(struct record_writer *s);
/* Frees the writer and writes nothing: a process that was forked ends the file. */
void record_writer_leave(struct record_writer *s);

/* ---- with a window -------------------------------------------------------------------------- */

struct window_totals {
	uint64_t samples, first_sample_ns; /* that the window had */
};

/* Ends the helper and writes what the window has to a file; what is appended later goes there at
 * once. Failures are told by record_writer_finish(). */
void record_writer_spill(struct record_writer *s, const struct record_writer_options *to,
			 struct window_totals *ret);

struct record_writer_totals {
	uint64_t raw_bytes;    /* appended */
	uint64_t data_bytes;   /* in the file: data.size */
	uint64_t lost_samples; /* appended, but not in the file because of the error */
};

/* Passes everything to the helper, waits for it, and frees the writer. Returns 0, or the positive
 * errno of the first failed write; the totals describe what is in the file. NULL is allowed. */
int record_writer_finish(struct record_writer *s, struct record_writer_totals *ret);

#endif
