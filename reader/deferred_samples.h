/* deferred_samples.h - samples whose user call chain is recorded later. Private to reader/.
 *
 * Since Linux 6.19 the kernel may record the user part of a chain only when the thread returns to
 * user space: the sample's chain then ends with a marker and a cookie, and a later
 * CALLCHAIN_DEFERRED record of the same thread has the user part for all its samples with this
 * cookie. Until then copies of these samples' records wait here. */
#ifndef READER_DEFERRED_SAMPLES_H
#define READER_DEFERRED_SAMPLES_H

#include "base/hash.h"
#include "base/vec.h"
#include "reader/format.h"
#include "reader/reader.h"

/* When more samples wait, the oldest is delivered without its user chain. */
#define DEFERRED_SAMPLES_MAX	   65536
#define DEFERRED_SAMPLES_MAX_BYTES (8u << 20)

struct held {
	struct held *prev, *next; /* all, oldest first */
	struct held *next_of_tid;
	uint64_t cookie;
	/* the state when the sample was due in time order */
	const struct event *event;
	const struct address_space *space, *kernel;
	const char *comm;
	uint64_t epoch;
	uint64_t data_off;
	uint32_t tid;
	bool user_is_gone; /* struct perf_sample */
	struct perf_event_header h;
	uint8_t record[]; /* of h.size bytes */
};

/* Of a thread of which samples wait. */
struct held_list {
	struct held *first, *last;
	uint32_t tid;
};

/* Zeroed: no sample waits. */
struct deferred_samples {
	struct hash_table by_tid; /* -> lists */
	VEC(struct held_list) lists;
	struct held *oldest, *newest;
	size_t n, bytes;
};

/* Adds h, whose fields are filled in, and takes ownership. Returns 0, or -1 when out of memory. */
int deferred_samples_add(struct deferred_samples *d, struct held *h);
/* Removes and returns the oldest sample of a thread, or of all threads. The caller frees it. NULL
 * if there is none. */
struct held *deferred_samples_take(struct deferred_samples *d, uint32_t tid);
struct held *deferred_samples_take_oldest(struct deferred_samples *d);
void deferred_samples_done(struct deferred_samples *d);

static inline bool deferred_samples_is_full(const struct deferred_samples *d)
{
	return d->n >= DEFERRED_SAMPLES_MAX || d->bytes >= DEFERRED_SAMPLES_MAX_BYTES;
}

#endif
