/* record.h - the meaning of each type of record. Private to reader/.
 *
 * Each record is handled twice: when it is read (record_take), and, if it must be applied in time
 * order, when its turn has come (record_apply). */
#ifndef READER_RECORD_H
#define READER_RECORD_H

#include <sys/stat.h>

#include "reader/file.h"
#include "reader/record_stream.h"

/* One record as its function sees it. */
struct record_view {
	uint32_t type;
	uint16_t misc;
	/* Its cursor is after the header; b.data is the header, b.end the end of the record. */
	struct buf b;
	struct record_stream *stream; /* NULL when its time has come */
};

enum record_when {
	RECORD_IGNORED,
	RECORD_NOW,	/* says something about the recording as a whole */
	RECORD_ORDERED, /* it changes the meaning of later samples, or is a sample */
};

/* What may follow the fixed fields, string or list of a record. */
enum record_tail {
	TAIL_OPEN,    /* anything but whole records: those were swallowed */
	TAIL_TRAILER, /* the sample_id fields of the events, or nothing */
	TAIL_NONE,
	TAIL_OTHER, /* checked elsewhere: samples, compressed data, pieces of records */
};

struct record_row {
	enum record_when when;
	uint16_t min_size;   /* with header, without the trailer */
	uint16_t string_off; /* offset of the string that is its last field; 0: none */
	/* Returns 0 or negative. Damage is counted with file_skip() and is not an error. */
	int (*apply)(struct perf_file *f, struct record_view *v);
	uint16_t each; /* size of an item of the list after the fixed fields; 0: there is no list */
	enum record_tail tail;
};

/* Returns NULL for unknown types. */
const struct record_row *record_row(uint32_t type);

/* A view of the record at data, of n bytes (at least the header's). Inline, because a returned copy
 * would have to wait for the stores of its fields. */
static inline struct record_view record_view(const struct perf_file *f, const uint8_t *data,
					     size_t n, uint64_t data_off)
{
	const struct perf_event_header h = header_at(data, f->swap);
	struct record_view v = {h.type, h.misc, buf_make(data, n, data_off, f->swap), NULL};

	v.b.p += sizeof h;
	return v;
}

/* Returns PERF_SKIP_N if the record can be used; then *payload is the earliest place at which its
 * trailer can begin. */
enum perf_skip record_check(const struct record_row *row, const struct record_view *v,
			    size_t *payload);

/* Before Linux 3.16 (f972eb63b100) MMAP2 had no prot and flags, so the name begins in their place.
 * Read as prot, letters give a value that no mapping has. */
bool record_mmap2_lacks_prot(const struct record_view *v);
/* Maps of the files that perf inject --jit makes have the file's mode as prot (jitdump.c,
 * jit_repipe_code_load()): S_IFREG, which two letters of a name never give, and nothing above. */
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
int apply_cgroup(struct perf_file *f, struct record_view *v);
int apply_callchain_deferred(struct perf_file *f, struct record_view *v);
int apply_lost(struct perf_file *f, struct record_view *v);
int apply_lost_samples(struct perf_file *f, struct record_view *v);
/* switches.c */
int apply_switch(struct perf_file *f, struct record_view *v);
/* A COMM record: an exec begins what a thread is counted for. */
void switches_note_exec(struct perf_file *f, const struct record_view *v);
int apply_throttle(struct perf_file *f, struct record_view *v);

/* record_user.c: records of user space, most of them in pipes. */
int apply_header_attr(struct perf_file *f, struct record_view *v);
int apply_header_feature(struct perf_file *f, struct record_view *v);
int apply_event_type(struct perf_file *f, struct record_view *v);
/* recorded_code.c: says that there is code where it cannot be used. */
int note_recorded_code(struct perf_file *f);
int apply_build_id(struct perf_file *f, struct record_view *v);
int apply_event_update(struct perf_file *f, struct record_view *v);
int apply_finished_round(struct perf_file *f, struct record_view *v);

/* record_check.c: records that change nothing here; they are only checked for the items that they
 * count. */
int check_read(struct perf_file *f, struct record_view *v);
int check_text_poke(struct perf_file *f, struct record_view *v);
int check_cpu_map(struct perf_file *f, struct record_view *v);

#endif
