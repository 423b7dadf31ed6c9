/* perfdata.h - private: the file around the data section: header, attributes, feature sections.
 *
 * A pipe gets the same as records (tools/perf/Documentation/perf.data-file-format.txt, "Pipe-mode
 * data"): what is known before the data section before it, the rest behind it. */
#ifndef CAPTURE_PERFDATA_H
#define CAPTURE_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/outfile.h"
#include "capture/bytes.h"

struct record_writer_options;

struct perfdata_event {
	const char *name;
	const struct perf_event_attr *attr;
	uint64_t *ids;
	size_t n_ids;
};

/* What the feature sections say. */
struct perfdata_facts {
	const struct perfdata_event *events;
	size_t n_events;
	char *const *argv; /* of the recorder */
	int argc;
	uint64_t first_sample_ns, last_sample_ns;
	uint64_t end_ns; /* of the recording; 0: not known */
	/* account_counted(); 0: not known */
	uint64_t counted, sampled;
	bool hypervisor_took;
	bool has_clock; /* times are CLOCK_MONOTONIC; the next two are one moment in both clocks */
	uint64_t clock_wall_ns, clock_ns;
	int compress_level; /* 0: not compressed */
	uint64_t raw_bytes, data_bytes;
	/* Contents of the feature; NULL: none. Left out if there is no room. */
	const uint8_t *build_ids;
	size_t n_build_ids;
	bool may_hold_code;    /* runtimes are read: recorded_code.h */
	const uint8_t *bundle; /* NULL: none */
	size_t n_bundle;
	const uint8_t *tracing_data; /* NULL: none */
	size_t n_tracing_data;
};

struct perfdata {
	int fd;
	const char *path;
	struct outplace place;
	bool is_named; /* it is a regular file there: it can be renamed, removed */
	bool is_pipe;  /* it cannot be gone back in, or is standard output */
	/* The new name of an older file with this name; "": there was none. */
	char old[NAME_MAX + 1];
	bool is_regular;     /* not /dev/null and the like */
	uint64_t data_off;   /* of the data section */
	uint64_t data_bytes; /* written by perfdata_begin() */
	uint64_t size_field_off;
};

/* Creates the file, readable only by its owner (stack copies contain secrets). An existing file is
 * renamed to PATH.old. Fails if another user has put something in its place in a folder such as
 * /tmp, before or during the call. "-" is standard output. On failure nothing stays open. */
int perfdata_create(struct perfdata *f, const char *path, struct err *err);
/* Writes header, ids, attributes and the features that are known already; the data section begins
 * after these. The header says that
 * there is no data yet. */
int perfdata_begin(struct perfdata *f, const struct perfdata_facts *facts, struct err *err);
/* What the writer of the data needs to know of the file, which perfdata_begin() has begun. Returns
 * 0 or negative with *err. */
int perfdata_writer_options(const struct perfdata *f, const struct perfdata_facts *facts,
			    struct record_writer_options *o, struct err *err);
/* Writes a record after data_bytes of data; its size must be counted in the call of
 * perfdata_finish(). */
int perfdata_append(struct perfdata *f, uint64_t data_bytes, const void *rec, size_t n,
		    struct err *err);
/* Writes the feature sections after data_bytes of data, and the final header. The file stays open.
 */
int perfdata_finish(struct perfdata *f, const struct perfdata_facts *facts, struct err *err);
/* The bytes that are in the file, or were written to the pipe, with data_bytes of data. */
uint64_t perfdata_size(const struct perfdata *f, uint64_t data_bytes);
/* Removes the file and restores the older one. */
void perfdata_discard(struct perfdata *f);
/* Closes the file. */
int perfdata_close(struct perfdata *f, struct err *err);

/* feature.c: appends the section table, for file offset `off`, and the sections, and sets the bits
 * of those that exist. */
int perfdata_features(const struct perfdata_facts *facts, uint64_t off, struct bytes *out,
		      uint64_t bits[4]);
/* The features as records, for a pipe: what is known at the start, or what only the end has shown.
 * Left out is what is larger than a record. */
void perfdata_feature_records(const struct perfdata_facts *facts, bool at_end, struct bytes *out);
/* stream_head.c: what a pipe has before its data. Returns 0, or negative with *err. */
int perfdata_stream_head(const struct perfdata_facts *facts, struct bytes *out, struct err *err);
/* The contents of the COMPRESSED feature. */
void perfdata_compressed_feature(const struct perfdata_facts *facts, struct bytes *out);

#endif
