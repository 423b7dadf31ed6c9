/* file.h - what makes up a struct perf_file, and how its parts call each other. Private to reader/.
 *
 *	source -> stream (splitter, zstd_stream) -> order -> deliver -> batch
 *	                     |                              |
 *	                events, notes                    machine
 *
 * Functions that return int return 0 (or a count) or a negative error code, and fill perf_file.err.
 */
#ifndef READER_FILE_H
#define READER_FILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "reader/prefault.h"
#include "reader/batch_memory.h"
#include "reader/block.h"
#include "reader/deferred_samples.h"
#include "reader/events.h"
#include "reader/features.h"
#include "reader/format.h"
#include "reader/order.h"
#include "reader/reader.h"
#include "reader/return_probe.h"
#include "reader/tracing.h"
#include "reader/simpleperf.h"
#include "reader/growth.h"
#include "reader/heap.h"
#include "reader/switches.h"
#include "reader/byte_source.h"

/* Kinds of notes; each is reported once. */
enum note {
	NOTE_INTERRUPTED,
	NOTE_TRUNCATED,
	NOTE_ATTR_TAIL,
	NOTE_FEATURE,
	NOTE_RESYNC,
	NOTE_JUNK,
	NOTE_CONCATENATED,
	NOTE_COMPRESSION,
	NOTE_OVERFLOW,
	NOTE_NO_IDS,
	NOTE_UNKNOWN_FIELD,
	NOTE_SIMPLEPERF,
	NOTE_SYMBOLS,
	NOTE_MAPS_TIMEOUT,
	NOTE_LATE,
	NOTE_PACKED,
	NOTE_DIRECTORY,
	NOTE_EMPTY_PART,
	NOTE_TRACING,
	NOTE_CHAINS,
	NOTE_SWITCHES,
	NOTE_CODE,
	NOTE_CODE_END,
	NOTE_SKIPS, /* one per reason: NOTE_SKIPS + enum perf_skip */
	NOTE_N = NOTE_SKIPS + PERF_SKIP_N,
};

struct record_stream;

struct perf_file {
	struct perf_file_info info;
	struct perf_file_stats stats;
	uint64_t first_ns, last_ns; /* of the samples that were handed out; 0: none had a time */
	struct err err;
	int failed;		  /* the error code that ended reading */
	bool ended;		  /* all streams are read */
	const volatile int *stop; /* of perf_file_options, as the next */
	bool (*part_of)(void *arg, const struct map_source *src, struct map_part *ret);
	void *part_of_arg;
	bool is_directory; /* that is what was given */
	bool map;	   /* plain files are mapped */
	bool alone;	   /* unless one thread would be slower so */
	bool swap;	   /* recorded in the other byte order */
	bool is_big_endian;
	bool is_v1;		      /* of before Linux 3.3 or so */
	struct perfdata_section data; /* of a file, as its header says */
	/* Where records are, as far as the file reaches; size 0: it is read as it comes. */
	struct perfdata_section records;
	VEC(uint8_t) code;   /* recorded_code.c */
	uint64_t n_code_cut; /* frames that are not whole */

	struct arena arena; /* what lives until close */
	VEC(const char *) notes;
	bool noted[NOTE_N];
	uint32_t unknown_type; /* an example of PERF_SKIP_UNKNOWN_TYPE */

	struct byte_source source;
	VEC(struct record_stream *) streams;
	size_t stream; /* the one being read */
	struct prefault prefault;
	bool rounds_hold; /* FINISHED_ROUND speaks for all of the data */

	struct event_table events;
	/* Events before this one have been given a name if they had none. */
	size_t n_named;
	size_t n_events_before; /* of former recordings in the same stream */
	size_t n_settled;	/* how often names were settled */
	/* Events or names were added since the names were settled. */
	bool names_dirty;
	bool wants_trace;		 /* trace_fields of the options, until they are set up */
	bool wants_task_ends;		 /* likewise, all the time */
	struct tracepoints *tracepoints; /* when there are some */
	struct function_namer namer;	 /* of functions in their fields */
	struct return_probes return_probes;
	struct features *features; /* read on demand, also through a const file */
	struct machine *machine;
	struct block_store blocks;
	struct order order;
	struct batch batches[BATCHES];
	struct batch *filling; /* during perf_file_read() */
	struct deferred_samples deferred_samples;
	uint64_t chains_missing; /* of these, user chains that were not recorded */
	VEC(struct perf_task_end) task_ends;
	struct switches switches;
	struct heap heap;
	struct growth growth;
	struct simpleperf simpleperf;
	/* The last value of each counter, by id, or by id and tid. With PERF_SAMPLE_READ the period
	 * of a sample is the difference to the counter's previous value. */
	struct hash_table counters;
	VEC(uint64_t) counter_values;
	struct hash_table cgroup_ids; /* id -> index of its path */
	VEC(const char *) cgroups;    /* in the arena */
	uint64_t seq;		      /* of the next sample */
};

/* The position of a record as one number, see deliver.c. */
#define WHERE_OFF_BITS 20
_Static_assert(BLOCK_BYTES <= 1u << WHERE_OFF_BITS, "an offset in a block fits");

static inline uint64_t where_make(uint64_t block_no, uint32_t off)
{
	return block_no << WHERE_OFF_BITS | off;
}

/* warnings.c */
void file_note(struct perf_file *f, enum note kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Counts a record that could not be used. */
void file_skip(struct perf_file *f, enum perf_skip why, uint32_t type);
/* Counts n bytes at an offset that are not records. `where` is "" or says what the offset counts
 * from; `at_end`: they are the last ones. */
void file_lose(struct perf_file *f, uint64_t off, const char *where, uint64_t n, bool at_end);
/* Adds the notes with totals, after the last record. */
void file_note_totals(struct perf_file *f);

/* record_apply.c: perf_sample.cgroup for an id; NULL when out of memory, with f->err. */
const char *file_cgroup(struct perf_file *f, uint64_t id);

/* directory.c: the file to open for a path that may be a directory. NULL when out of memory. */
const char *directory_data_path(struct perf_file *f, const char *path);
/* directory.c: adds the other files of the directory as streams. */
int directory_add_streams(struct perf_file *f);

/* name_events.c: adds an event from its perf_event_attr. */
int file_add_event(struct perf_file *f, struct buf attr);
/* Gives names to the events that have none: from EVENT_DESC or META_INFO, else made up. */
int file_settle_names(struct perf_file *f);
/* Gives a name to the events of this type and config that have none. Returns 0, or -1 when out of
 * memory. */
int names_by_config(struct perf_file *f, uint32_t type, uint64_t config, const char *name,
		    size_t len);

/* container.c: reads the header and the tables it points to, and adds the streams. */
int container_open(struct perf_file *f);

/* deliver.c: takes the records that are due in time order: applies them, or adds samples to the
 * current batch until it is full. */
int deliver_ready(struct perf_file *f);
/* Delivers all waiting samples of a thread. Those with this cookie get the user chain, the others
 * go without, as their record was lost. */
int deliver_deferred(struct perf_file *f, uint32_t tid, uint64_t cookie, const uint64_t *ips,
		     size_t n);
/* Adds all waiting samples to the batch, without user chains. */
int deliver_all_held(struct perf_file *f);
/* Delivers a copy of a sample as one of a wait, with this weight, of which own_ns is its own. The
 * caller frees it. */
int deliver_weighed(struct perf_file *f, struct held *h, const struct perf_event *event,
		    uint64_t weight, uint64_t own_ns);
/* Room for one more sample at the end of the batch, NULL when out of memory, and the sample in it.
 */
struct perf_sample *deliver_room(struct batch *b);
void deliver_commit(struct perf_file *f, struct batch *b, struct perf_sample *s);
/* Delivers a sample that has no more than a thread, a time and a weight; of waits, the state and
 * the time until which they were. */
int deliver_bare(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
		 const struct perf_event *event, uint64_t weight, const char *state);
/* Delivers a sample of waits of a thread that no recorded thread ended. */
int deliver_unwoken(struct perf_file *f, uint32_t pid, uint32_t tid, uint64_t time_ns,
		    const struct perf_event *event, uint64_t weight);
/* Places a held sample in the present maps of its process. */
void held_refresh(struct perf_file *f, struct held *h, uint32_t pid, uint32_t tid, uint64_t epoch);

#endif
