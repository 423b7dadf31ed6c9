/* mapped.c - ranges of pages that are unmapped together. */
#include "reader/mapped.h"

#include "base/pages.h"

/* limit on bytes that wait to be unmapped, not counting parts of large pages */
#define WAITING_BYTES ((size_t)16 << 20)

static size_t range_bytes(const struct mapped_range *r)
{
	return (size_t)(r->end - r->start);
}

static void forget(struct mapped_done *d, struct mapped_range *r, uint8_t *end)
{
	size_t n = (size_t)(end - r->start);

	pages_forget(r->start, n);
	d->bytes -= n;
	r->start = end;
	if (r->start == r->end)
		*r = (struct mapped_range){0};
}

void mapped_done_forget(struct mapped_done *d)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++)
		if (d->ranges[i].start)
			forget(d, &d->ranges[i], d->ranges[i].end);
}

/* Unmaps the longest range, up to its last boundary of large pages: unmapping a part of a large
 * page would make the kernel map the rest of it again with small pages. */
static void forget_longest(struct mapped_done *d)
{
	struct mapped_range *longest = &d->ranges[0];
	uint8_t *boundary;

	for (size_t i = 1; i < MAPPED_RANGES; i++)
		if (range_bytes(&d->ranges[i]) > range_bytes(longest))
			longest = &d->ranges[i];
	boundary = longest->end - ((uintptr_t)longest->end & (PAGES_LARGE - 1));
	forget(d, longest, boundary > longest->start ? boundary : longest->end);
}

static struct mapped_range *empty_range(struct mapped_done *d)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++)
		if (!d->ranges[i].start)
			return &d->ranges[i];
	return NULL;
}

/* Removes the ranges that overlap or adjoin `bytes` and returns their union with it. They can
 * overlap in part: when a block of which only a part was unmapped is read again. */
static struct mapped_range take_met(struct mapped_done *d, struct mapped_range bytes)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++) {
		struct mapped_range *r = &d->ranges[i];

		if (!r->start || r->start > bytes.end || r->end < bytes.start)
			continue;
		if (r->start < bytes.start)
			bytes.start = r->start;
		if (r->end > bytes.end)
			bytes.end = r->end;
		d->bytes -= range_bytes(r);
		*r = (struct mapped_range){0};
	}
	return bytes;
}

void mapped_done_add(struct mapped_done *d, uint8_t *start, size_t n)
{
	struct mapped_range bytes = take_met(d, (struct mapped_range){start, start + n});
	struct mapped_range *r;

	while (!(r = empty_range(d)))
		forget_longest(d);
	*r = bytes;
	d->bytes += range_bytes(r);
	if (d->bytes >= WAITING_BYTES)
		forget_longest(d);
}
