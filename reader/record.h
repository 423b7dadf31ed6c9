/* record.h - what each type of record means. Private to reader/.
 *
 * Records are met twice: when they are read (record_take) and, if time orders them, when their time
 * has come (record_apply). */
#ifndef READER_RECORD_H
#define READER_RECORD_H

#include <sys/stat.h>

#include "reader/file.h"
#include "reader/record_stream.h"

/* One record as its function sees it. */
struct record_view {
	uint32_t type;
	uint16_t misc;
	struct buf b; /* behind the header; b.data is the header, b.end the end of the record */
	struct record_stream *stream; /* NULL when its time has come */
};

enum record_when {
	RECORD_IGNORED,
	RECORD_NOW,	/* says something about the recording as a whole */
	RECORD_ORDERED, /* changes what later samples mean, or is a sample */
};

/* What may follow the fields, the string or the list of a record. */
enum record_tail {
	TAIL_OPEN,    /* anything but whole records: those were swallowed */
	TAIL_TRAILER, /* what events give records (sample_id), or nothing */
	TAIL_NONE,
	TAIL_OTHER, /* looked at elsewhere: samples, compressed data, pieces of records */
};

struct record_row {
	enum record_when when;
	uint16_t min_size;   /* with header, without the trailer */
	uint16_t string_off; /* where its last field begins, a string; 0: none */
	/* 0 or negative; damage is counted with file_skip() and not an error. */
	int (*apply)(struct perf_file *f, struct record_view *v);
	uint16_t each; /* size of the items of a list behind the fixed fields; 0: none */
	enum record_tail tail;
};

/* NULL for unknown types. */
const struct record_row *record_row(uint32_t type);

/* A view of the record at data, whose size is n (at least that of a header). Inline, so that it is
 * made where it is wanted: a copy would wait for the fields just written. */
static inline struct record_view record_view(const struct perf_file *f, const uint8_t *data,
					     size_t n, uint64_t data_off)
{
	const struct perf_event_header h = header_at(data, f->swap);
	struct record_view v = {h.type, h.misc, buf_make(data, n, data_off, f->swap), NULL};

	v.b.p += sizeof h;
	return v;
}

/* Can the record be used? PERF_SKIP_N: yes. Then *payload is where its trailer can begin at the
 * earliest. */
enum perf_skip record_check(const struct record_row *row, const struct record_view *v,
			    size_t *payload);

/* Before Linux 3.16 (f972eb63b100) MMAP2 had no prot and flags, and its name stands in their place.
 * Letters make a prot that no mapping has. */
bool record_mmap2_lacks_prot(const struct record_view *v);
/* The files with code that perf inject --jit makes have their mode there (jitdump.c,
 * jit_repipe_code_load()): a bit that no two letters have, and nothing above. */
static inline bool record_is_file_mode(uint32_t prot)
{
	return prot <= UINT16_MAX && S_ISREG(prot);
}

/* record_apply.c: records of the kernel. */
int apply_mmap(struct perf_file *f, struct record_view *v);
int apply_mmap2(struct perf_file *f, struct record_view *v);
int apply_comm(struct perf_file *f, struct record_view *v);
int apply_fork(struct perf_file *f, struct record_view *v);
int apply_exit(struct perf_file *f, struct record_view *v);
int apply_ksymbol(struct perf_file *f, struct record_view *v);
int apply_callchain_deferred(struct perf_file *f, struct record_view *v);
int apply_lost(struct perf_file *f, struct record_view *v);
int apply_lost_samples(struct perf_file *f, struct record_view *v);
int apply_throttle(struct perf_file *f, struct record_view *v);

/* record_user.c: records of user space, most of them in pipes. */
int apply_header_attr(struct perf_file *f, struct record_view *v);
int apply_header_feature(struct perf_file *f, struct record_view *v);
int apply_event_type(struct perf_file *f, struct record_view *v);
int apply_build_id(struct perf_file *f, struct record_view *v);
int apply_event_update(struct perf_file *f, struct record_view *v);
int apply_finished_round(struct perf_file *f, struct record_view *v);

/* record_check.c: records that change nothing here; only whether what they count is there. */
int check_read(struct perf_file *f, struct record_view *v);
int check_text_poke(struct perf_file *f, struct record_view *v);
int check_cpu_map(struct perf_file *f, struct record_view *v);

#endif
