/* simpleperf.h - the additions of simpleperf, Android's perf, to perf.data. Private to reader/.
 *
 * Source of truth: AOSP, platform/system/extras/simpleperf: record.h (records from 32768 on),
 * record_file.h and record_file.proto (header sections from bit 128 on), dso.cpp (the base of
 * symbol addresses). */
#ifndef READER_SIMPLEPERF_H
#define READER_SIMPLEPERF_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "reader/format.h"
#include "reader/reader.h"

/* A record that was split into pieces, or whose payload did not fit into a 16-bit size, is
 * assembled in memory. The limit is far above any list of symbols. */
#define SIMPLEPERF_BIG_MAX (64u << 20)

struct symbol_file {
	struct perf_symbol_file pub;
	bool is_dex;
	VEC(struct perf_symbol) symbols;
};

struct simpleperf {
	struct arena arena; /* files and names */
	VEC(struct symbol_file *) files;
	struct strtab paths;
	VEC(struct symbol_file *) by_path; /* by id in paths: the last file of that path */
	struct hash_table by_dso_id;	   /* of DSO records -> files */
	char *kallsyms;
	size_t kallsyms_bytes;
	VEC(uint8_t) pieces; /* of SPLIT records */
	bool pieces_dropped; /* there were too many */
	/* The last CALLCHAIN record, which belongs to the sample of the same thread and time. */
	uint64_t chain_time;
	uint32_t chain_tid;
	VEC(uint64_t) chain;
	uint64_t n_unused[RECORD_SIMPLEPERF_END - RECORD_SIMPLEPERF];
};

static inline bool is_simpleperf_record(uint32_t type)
{
	return type >= RECORD_SIMPLEPERF && type < RECORD_SIMPLEPERF_END;
}

struct perf_file;
struct buf;
struct scratch;
struct record_view;

void simpleperf_done(struct simpleperf *sp);

/* May stacks have addresses in such a mapping although it is not executable? */
bool simpleperf_is_code(const struct simpleperf *sp, const char *path, uint32_t prot);

/* Parses header sections. Returns 0 or negative; damage is noted. */
int simpleperf_parse_file(struct perf_file *f, struct buf *b);
int simpleperf_parse_file2(struct perf_file *f, struct buf *b);

/* record_simpleperf.c: functions for struct record_row. */
int apply_kernel_symbol(struct perf_file *f, struct record_view *v);
int apply_dso(struct perf_file *f, struct record_view *v);
int apply_symbol(struct perf_file *f, struct record_view *v);
int apply_split(struct perf_file *f, struct record_view *v);
int apply_split_end(struct perf_file *f, struct record_view *v);
int apply_event_id(struct perf_file *f, struct record_view *v);
int apply_callchain(struct perf_file *f, struct record_view *v);
int apply_tracing_data(struct perf_file *f, struct record_view *v);
/* Handles a record that was assembled from pieces, n bytes with its header. */
int simpleperf_take_big(struct perf_file *f, const uint8_t *record, size_t n);
/* Extends the chain of s by the callers that only the last CALLCHAIN record has, if that belongs to
 * s. Returns 0, or -1 when out of memory. */
int simpleperf_chain(const struct simpleperf *sp, struct perf_sample *s, struct scratch *sc);
/* Writes the names of the records that are not used here, as "3 UNWINDING_RESULT, 1 DEBUG". False:
 * there were none. */
bool simpleperf_unused(const struct simpleperf *sp, char *out, size_t size);

/* For both sources of symbols: adds a file, and a symbol to it. NULL or -1 when out of memory. */
struct symbol_file *simpleperf_add_file(struct simpleperf *sp, const char *path, size_t len);
void symbol_file_set_type(struct symbol_file *sf, uint64_t type, uint64_t min_vaddr,
			  const uint64_t *off_of_min_vaddr);
int symbol_file_add(struct simpleperf *sp, struct symbol_file *sf, uint64_t start, uint64_t len,
		    const char *name, size_t name_len);

#endif
