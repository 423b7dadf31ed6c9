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

/* The parts of an event's samples: first fields of one word each, then the others
 * (sample_decode.c). */
struct sample_layout {
	uint64_t words;	  /* bits of the first */
	uint16_t n_words; /* as many */
	uint8_t n_fields; /* behind them */
	bool all_known;	  /* no field is of a later version */
	bool is_exact;	  /* and nothing follows them */
	bool has_extra;	  /* some are of struct perf_sample_extra */
	/* In the order of the record; the numbers are those of sample_decode.c. */
	uint8_t fields[16];
	uint8_t n_user_regs, n_intr_regs;
};

/* Offsets in bytes, from the start of the record in samples, from its end in the sample_id trailer
 * of other records; 0: not recorded. */
struct event {
	struct perf_event pub;
	struct sample_layout layout;
	bool named;	/* the recording has the name */
	bool is_switch; /* samples are of context switches that are weighed (switches.h) */
	bool is_waking; /* samples are of sched:sched_waking: the waits that end are weighed */
	bool has_state; /* samples say what the thread was doing (task_state.h) */
	uint8_t growth; /* which part of memory-growth samples are (growth.c); 0: none */
	uint16_t sample_id_pos, sample_time_pos;
	uint16_t trailer_bytes, trailer_id_pos, trailer_time_pos;
	VEC(uint64_t) ids;
};

struct event_table {
	struct arena arena; /* struct event and names */
	VEC(struct event *) v;
	struct hash_table by_id; /* id -> index in v */
	/* True if it is the same for all events, so that records need no lookup. */
	bool same_sample_pos, same_trailer;
	/* Bit i: some event has its id at offset 8 * i (counted as in struct event). */
	uint64_t sample_id_words, trailer_id_words;
	bool asks_for_build_ids; /* some event does, in MMAP2 */
	size_t n_ids;		 /* of all events */
};

/* Reads a perf_event_attr of any size. Sets *unknown_tail if it has nonzero bytes after the fields
 * known here. */
void attr_read(struct perf_attr *a, struct buf raw, bool is_big_endian, bool *unknown_tail);

/* All functions that return int: 0, or -1 when out of memory. */
int events_add(struct event_table *t, const struct perf_attr *attr);
/* The only one of the first n that has these attributes; NULL: none has, or several. */
const struct event *events_find_equal(const struct event_table *t, size_t n,
				      const struct perf_attr *attr);
int events_add_id(struct event_table *t, size_t index, uint64_t id);
int events_set_name(struct event_table *t, size_t index, const char *name, size_t len);
void events_done(struct event_table *t);

/* The event of an id; NULL when unknown. */
struct event *events_find(const struct event_table *t, uint64_t id);
/* The slow path of events_of_sample(): there are several events. */
const struct event *events_of_sample_id(const struct event_table *t, const struct buf *rec);
/* The event of the record `rec`, which begins with its header. NULL if its id is unknown. */
static inline const struct event *events_of_sample(const struct event_table *t,
						   const struct buf *rec)
{
	return t->v.n == 1 ? t->v.v[0] : events_of_sample_id(t, rec);
}
const struct event *events_of_trailer(const struct event_table *t, const struct buf *rec);

/* Makes up a name for an event that has none, as perf does. */
void event_name_format(const struct perf_attr *a, const char *pmu, char *out, size_t size);

#endif
