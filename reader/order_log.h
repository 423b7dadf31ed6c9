/* order_log.h - compact storage of the times and positions of waiting records. Private to reader/.
 *
 * A file without rounds is complete only at its end, so that every record waits. At a few words
 * each, the entries would take a tenth of the file's size and more. Here the difference to the
 * entry before (a step) takes 6 bytes, and when there are many full pages these are moved to a
 * temporary file. Each step is read once and then discarded. */
#ifndef READER_ORDER_LOG_H
#define READER_ORDER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define ORDER_PAGE_BYTES 4096u
/* limit on full pages in memory: 8 MiB */
#define ORDER_PAGES_MAX 2048

struct order_page {
	uint8_t *data;	   /* NULL: not in memory, or gone */
	uint64_t file_off; /* of its copy, plus 1; 0: none */
	uint32_t n_unread; /* steps */
	bool used;	   /* since the hand went by */
};

struct order_step {
	uint64_t time;
	int64_t where;
};

/* In a page: u32 time, u16 where. If one of them does not fit, where is ORDER_LONG and the whole
 * step follows. */
#define ORDER_LONG	  UINT16_MAX
#define ORDER_SHORT_BYTES 6u
#define ORDER_STEP_MAX	  (ORDER_SHORT_BYTES + sizeof(struct order_step))

/* A zeroed log is empty. */
struct order_log {
	VEC(struct order_page) pages; /* pages.v[no - first_no] */
	uint64_t first_no;
	struct order_page *last; /* of pages: being written */
	/* Where the next step is written; from put_end on a new page begins. */
	uint8_t *put, *put_end;
	uint64_t end;		/* `put` as page number and offset */
	VEC(uint64_t) resident; /* full pages in memory, by number */
	size_t hand;		/* in resident: who goes next */
	uint8_t *spare;		/* a page of memory; NULL */
	int fd;			/* of the temporary file, plus 1; 0: none yet */
	uint64_t file_end;
	bool no_file; /* there is no room for it: all stays in memory */
};

/* The slow paths of the functions below: begins a page to write to; brings a page back from the
 * temporary file; releases a page that has been read. */
int order_log_begin_page(struct order_log *l);
int order_log_load(struct order_log *l, uint64_t no, struct err *err);
void order_log_drop(struct order_log *l, uint64_t no);

/* A step does not cross the end of a page: one that may not fit begins the next page. */
static inline uint64_t order_log_align(uint64_t at)
{
	const uint64_t last = ORDER_PAGE_BYTES - ORDER_STEP_MAX;

	return at % ORDER_PAGE_BYTES > last ? (at / ORDER_PAGE_BYTES + 1) * ORDER_PAGE_BYTES : at;
}

/* Appends a step; *at is its position. Returns 0, or -1 when out of memory. */
static inline int order_log_put(struct order_log *l, struct order_step step, uint64_t *at)
{
	const bool is_short = step.time <= UINT32_MAX && step.where >= 0 && step.where < ORDER_LONG;
	const uint32_t time = (uint32_t)step.time;
	const uint16_t where = is_short ? (uint16_t)step.where : ORDER_LONG;

	if (l->put >= l->put_end && order_log_begin_page(l))
		return -1;
	memcpy(l->put, &time, sizeof time);
	memcpy(l->put + 4, &where, sizeof where);
	if (!is_short)
		memcpy(l->put + ORDER_SHORT_BYTES, &step, sizeof step);
	l->last->n_unread++;
	*at = l->end;
	l->put += is_short ? ORDER_SHORT_BYTES : ORDER_STEP_MAX;
	l->end += is_short ? ORDER_SHORT_BYTES : ORDER_STEP_MAX;
	return 0;
}

/* Reads the step at *at, which can be read only once, and moves *at to the step that was appended
 * next. Returns 0, or negative with *err. */
static inline int order_log_take(struct order_log *l, uint64_t *at, struct order_step *ret,
				 struct err *err)
{
	const uint64_t from = order_log_align(*at), no = from / ORDER_PAGE_BYTES;
	struct order_page *page = &l->pages.v[no - l->first_no];
	int rc = page->data ? 0 : order_log_load(l, no, err);
	const uint8_t *p;
	uint32_t time;
	uint16_t where;

	if (rc)
		return rc;
	p = page->data + from % ORDER_PAGE_BYTES;
	memcpy(&time, p, sizeof time);
	memcpy(&where, p + 4, sizeof where);
	*ret = (struct order_step){time, where};
	if (where == ORDER_LONG)
		memcpy(ret, p + ORDER_SHORT_BYTES, sizeof *ret);
	*at = from + (where == ORDER_LONG ? ORDER_STEP_MAX : ORDER_SHORT_BYTES);
	page->used = true;
	if (!--page->n_unread)
		order_log_drop(l, no);
	return 0;
}

void order_log_done(struct order_log *l);

#endif
