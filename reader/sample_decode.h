/* sample_decode.h - decoding of PERF_RECORD_SAMPLE. Private to reader/. */
#ifndef READER_SAMPLE_DECODE_H
#define READER_SAMPLE_DECODE_H

#include "base/buf.h"
#include "base/scratch.h"
#include "reader/events.h"
#include "reader/reader.h"

/* PERF_SAMPLE_READ of one sample: the values that read(2) of the event or its group would return.
 */
struct sample_read {
	uint64_t n;	  /* values; 0: not recorded */
	unsigned n_words; /* per value, which is the first of them */
	unsigned id_word; /* 0: no id */
	struct buf values;
};

struct sample_layout sample_layout(const struct perf_attr *attr);

/* Decodes a record of event ev: n bytes, after the header. The arrays of *s point into the record
 * where they are aligned and in native byte order, else into sc; `extra` is allocated from sc.
 * Fills every member except space, kernel, comm, file_off and seq. Returns PERF_SKIP_N on success
 * (but check sc->failed), else the reason; the contents of *s are then undefined. */
enum perf_skip sample_decode(struct perf_sample *s, struct sample_read *read,
			     const struct event *ev, const uint8_t *data, size_t n, bool swap,
			     struct scratch *sc);

/* Returns the next value of a group, and its event id (0: not recorded). */
uint64_t sample_read_next(struct sample_read *r, uint64_t *id);

#endif
