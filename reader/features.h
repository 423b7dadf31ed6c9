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
	/* Where it is in the file; size 0: it came as a record of a pipe. */
	struct perfdata_section at;
	uint8_t *data; /* NULL until read */
	size_t size;
};

/* Zeroed: none. */
struct features {
	struct feature_section v[FEATURE_N];
	const struct byte_source *source;
};

/* Stores a copy of a feature that came as a record. Returns 0, or -1 when out of memory. */
int features_give(struct features *fs, unsigned bit, const uint8_t *p, size_t n);
/* Reads the bytes of a feature if the file has it. Returns 0, or negative with *err. */
int features_load(struct features *fs, unsigned bit, struct err *err);
/* The bytes of a feature, which are read at the first call; NULL if absent, unreadable or out of
 * memory. */
const uint8_t *features_get(struct features *fs, unsigned bit, size_t *size);
void features_done(struct features *fs);

/* feature_parse.c: parses the features that the reader itself uses: info, event names, build ids.
 * Returns negative only when out of memory. */
int feature_parse(struct perf_file *f, unsigned bit, struct buf b);
bool feature_is_parsed(unsigned bit);
/* header_text.c: perf's name of a feature, or "unknown". */
const char *feature_name(unsigned bit);
/* Parses one BUILD_ID entry, of the header's feature or of a record in a pipe. Returns as
 * feature_parse(). */
int build_id_record(struct perf_file *f, struct buf rec, bool has_pid);

#endif
