/* page_spans.h - the calls and waits that the page shows below its bars of time. Private to
 * output/. */
#ifndef OUTPUT_PAGE_SPANS_H
#define OUTPUT_PAGE_SPANS_H

#include "output/formats.h"

struct page_span {
	size_t entry; /* index in the log of its beginning */
	uint64_t ns;  /* 0: an event that is neither */
	uint32_t depth;
	uint8_t end;	/* enum span_end */
	uint32_t words; /* "f(a=1) = 2", or the state of a wait: string in page_spans.texts */
};

struct page_spans {
	VEC(struct page_span) v; /* in the order of their beginnings */
	size_t n_left_out;	 /* the shortest, of more than a page has room for */
	struct strtab texts;
};

/* Fills a zeroed *ret, which must be given to page_spans_done() in any case, with the calls that
 * begin with events that are `shown`, waits, and hits of probes that are no calls. Returns 0 or
 * -ERR_NOMEM. */
int page_spans_find(struct page_spans *ret, const struct profile *p, const bool *shown,
		    struct err *err);
void page_spans_done(struct page_spans *s);

#endif
