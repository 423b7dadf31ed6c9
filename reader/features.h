/* features.h - the header's feature sections. Private to reader/. */
#ifndef READER_FEATURES_H
#define READER_FEATURES_H

#include "base/buf.h"
#include "base/err.h"
#include "reader/format.h"
#include "reader/reader.h"
#include "reader/byte_source.h"

struct feature_section {
	bool present;
	struct perfdata_section at; /* where to read it; size 0: it came in a pipe */
	uint8_t *data;		    /* NULL until read */
	size_t size;
};

/* Zeroed: none. */
struct features {
	struct feature_section v[FEATURE_N];
	const struct byte_source *source;
};

/* A copy of bytes that came in the stream. 0, or -1 when out of memory. */
int features_give(struct features *fs, unsigned bit, const uint8_t *p, size_t n);
/* Reads the bytes of a feature, if it is there. 0 or negative with *err. */
int features_load(struct features *fs, unsigned bit, struct err *err);
/* The bytes of a feature, read when they are wanted for the first time; NULL when absent,
 * unreadable, or out of memory. */
const uint8_t *features_get(struct features *fs, unsigned bit, size_t *size);
void features_done(struct features *fs);

/* feature_parse.c: takes from a feature what the reader uses of it: info, names, build ids.
 * Negative only when out of memory. */
int feature_parse(struct perf_file *f, unsigned bit, struct buf b);
bool feature_is_parsed(unsigned bit);
/* header_text.c: as perf names it; "unknown". */
const char *feature_name(unsigned bit);
/* One BUILD_ID record: an entry of that feature, or a record of a pipe. Same result. */
int build_id_record(struct perf_file *f, struct buf rec, bool has_pid);

#endif
