/* sample_decode.h - decoding of PERF_RECORD_SAMPLE. Private to reader/. */
#ifndef READER_SAMPLE_DECODE_H
#define READER_SAMPLE_DECODE_H

#include "base/buf.h"
#include "base/scratch.h"
#include "reader/events.h"
#include "reader/reader.h"

/* PERF_SAMPLE_READ of one sample: what read(2) of the event or its group would have returned. */
struct sample_read {
	uint64_t n;	  /* values; 0: not recorded */
	unsigned n_words; /* per value, which is the first of them */
	unsigned id_word; /* 0: no id */
	struct buf values;
};

struct sample_layout sample_layout(const struct perf_attr *attr);

/* Reads the fields of a record of event ev: n bytes, behind the header. Arrays point there where
 * they are aligned and native, else into sc, where `extra` is, too. Fills everything but space,
 * kernel, comm, file_off, seq. Returns PERF_SKIP_N when all is well (but look at sc->failed), else
 * what is wrong; s is then garbage. */
enum perf_skip sample_decode(struct perf_sample *s, struct sample_read *read,
			     const struct event *ev, const uint8_t *data, size_t n, bool swap,
			     struct scratch *sc);

/* The next value of a group and its event id (0: not recorded). */
uint64_t sample_read_next(struct sample_read *r, uint64_t *id);

#endif
