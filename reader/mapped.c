/* mapped.c - ranges of pages that are let go together. */
#include "reader/mapped.h"

#include <stdbool.h>

#include "base/pages.h"

/* So much waits, at most, but for parts of large pages. */
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

/* The longest goes up to its last boundary of large pages: a part of one would have all of it
 * mapped again, in small pages. */
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

/* A range that these bytes continue, which are then part of it; NULL: none. */
static struct mapped_range *join(struct mapped_done *d, uint8_t *start, uint8_t *end)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++) {
		struct mapped_range *r = &d->ranges[i];

		if (!r->start || (r->end != start && r->start != end))
			continue;
		if (r->end == start)
			r->end = end;
		else
			r->start = start;
		return r;
	}
	return NULL;
}

static struct mapped_range *empty_range(struct mapped_done *d)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++)
		if (!d->ranges[i].start)
			return &d->ranges[i];
	return NULL;
}

/* As a range, or part of ranges: of the two that it may lie between, one takes the other. */
static void put(struct mapped_done *d, struct mapped_range bytes)
{
	struct mapped_range *r = join(d, bytes.start, bytes.end);

	if (r) {
		bytes = *r;
		*r = (struct mapped_range){0};
		if (join(d, bytes.start, bytes.end))
			return;
	}
	while (!(r = empty_range(d)))
		forget_longest(d);
	*r = bytes;
}

static bool waits(const struct mapped_done *d, const uint8_t *start, const uint8_t *end)
{
	for (size_t i = 0; i < MAPPED_RANGES; i++)
		if (start >= d->ranges[i].start && end <= d->ranges[i].end)
			return true;
	return false;
}

void mapped_done_add(struct mapped_done *d, uint8_t *start, size_t n)
{
	if (waits(d, start, start + n))
		return;
	put(d, (struct mapped_range){start, start + n});
	d->bytes += n;
	if (d->bytes >= WAITING_BYTES)
		forget_longest(d);
}
