/* events.h - the events of a recording, and where their records keep id and time. Private to
 * reader/.
 */
#ifndef READER_EVENTS_H
#define READER_EVENTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "reader/reader.h"

#define EVENTS_MAX 65536 /* more are not a recording */

/* What the samples of an event consist of: fields of one word each, then others (sample_decode.c).
 */
struct sample_layout {
	uint64_t words;	    /* bits of the first */
	uint16_t n_words;   /* as many */
	uint8_t n_fields;   /* behind them */
	bool all_known;	    /* no field is of a later version */
	bool is_exact;	    /* and nothing follows them */
	bool has_extra;	    /* some are of struct perf_sample_extra */
	uint8_t fields[16]; /* in the order of the record: numbers of sample_decode.c */
	uint8_t n_user_regs, n_intr_regs;
};

/* Positions count from the start of the record (SAMPLE) or from its end (sample_id trailer of the
 * others); 0: not recorded. */
struct event {
	struct perf_event pub;
	struct sample_layout layout;
	bool named; /* the recording has the name */
	uint16_t sample_id_pos, sample_time_pos;
	uint16_t trailer_bytes, trailer_id_pos, trailer_time_pos;
	VEC(uint64_t) ids;
};

struct event_table {
	struct arena arena; /* struct event and names */
	VEC(struct event *) v;
	struct hash_table by_id; /* id -> index in v */
	/* What holds for all events, so that records need no look-up: */
	bool same_sample_pos, same_trailer;
	uint64_t sample_id_words, trailer_id_words; /* bit i: some event has its id at 8 * i */
	bool asks_for_build_ids;		    /* some event does, in MMAP2 */
	size_t n_ids;				    /* of all events */
};

/* Reads a perf_event_attr of any size. `unknown_tail`: it has nonzero bytes that we do not know. */
void attr_read(struct perf_attr *a, struct buf raw, bool is_big_endian, bool *unknown_tail);

/* All int functions: 0, or -1 when out of memory. */
int events_add(struct event_table *t, const struct perf_attr *attr);
int events_add_id(struct event_table *t, size_t index, uint64_t id);
int events_set_name(struct event_table *t, size_t index, const char *name, size_t len);
void events_done(struct event_table *t);

/* The event of an id; NULL when unknown. */
struct event *events_find(const struct event_table *t, uint64_t id);
/* For events_of_sample(): of several events. */
const struct event *events_of_sample_id(const struct event_table *t, const struct buf *rec);
/* Whose record is this? `rec` is the whole record. NULL: its id is unknown. */
static inline const struct event *events_of_sample(const struct event_table *t,
						   const struct buf *rec)
{
	return t->v.n == 1 ? t->v.v[0] : events_of_sample_id(t, rec);
}
const struct event *events_of_trailer(const struct event_table *t, const struct buf *rec);

/* Name for an event that has none, the way perf makes it up. */
void event_name_format(const struct perf_attr *a, const char *pmu, char *out, size_t size);

#endif
