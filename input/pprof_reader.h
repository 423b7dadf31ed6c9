/* pprof_reader.h - a profile.proto that is being read. Private to input/.
 *
 * in_pprof.c goes over the message once for each kind of field and calls the readers below. They
 * return 1 for a message that is damaged (it is counted and left out), negative for an error. */
#ifndef INPUT_PPROF_READER_H
#define INPUT_PPROF_READER_H

#include "base/err.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "input/input.h"
#include "input/pprof_prune.h"
#include "input/unpacked_lines.h"
#include "profile/profile.h"

enum { PPROF_TYPES_MAX = 64 };

struct pprof_type {
	uint64_t type, unit; /* string indexes */
	uint32_t event;
	bool is_count; /* of the event of the next type */
};

struct pprof_reader {
	struct profile *p;
	const struct input_options *opt;
	struct input_result *ret;
	VEC(uint32_t) strings; /* ids of ours */
	struct pprof_type types[PPROF_TYPES_MAX];
	size_t n_types;
	struct hash_table mappings, functions, locations; /* an id of the file: ours */
	/* What drop_frames and keep_frames say: by id of a location (enum prune), and of the stack.
	 */
	struct pruner pruner;
	struct hash_table prunes;
	VEC(uint8_t) stack_prunes;
	uint64_t drop, keep; /* string indexes */
	uint64_t n_pruned, n_negative, n_uneven;
	struct text labels;  /* of the sample */
	VEC(uint32_t) stack; /* locations, leaf first, then root first */
	VEC(uint64_t) values;
	VEC(struct profile_line) lines;
	uint64_t time_ns, duration_ns, period, default_type;
};

/* Strings come last in a file, so if some are missing it was cut: r->ret says so. The first is
 * "". */
uint32_t pprof_string(struct pprof_reader *r, uint64_t index);
const char *pprof_text(struct pprof_reader *r, uint64_t index);

/* pprof_tables.c */
int pprof_read_mapping(struct pprof_reader *r, struct buf b, struct err *err);
int pprof_read_function(struct pprof_reader *r, struct buf b, struct err *err);
int pprof_read_location(struct pprof_reader *r, struct buf b, struct err *err);
/* pprof_sample.c */
int pprof_read_sample(struct pprof_reader *r, struct buf b, struct err *err);

#endif
