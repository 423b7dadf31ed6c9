/* scratch.c - chunks of one size, larger ones for what does not fit into that. */
#include "base/scratch.h"

#include <stdint.h>
#include <stdlib.h>

enum { CHUNK = 16 << 10, ALIGN = 16 };

struct scratch_chunk {
	struct scratch_chunk *next;
	size_t size; /* of what follows */
	_Alignas(ALIGN) char bytes[];
};

/* The first spare chunk that n bytes fit into: mostly the first of all. */
static struct scratch_chunk *spare_take(struct scratch *s, size_t n)
{
	struct scratch_chunk **at = &s->spare, *c;

	while (*at && (*at)->size < n)
		at = &(*at)->next;
	c = *at;
	if (c)
		*at = c->next;
	return c;
}

static struct scratch_chunk *chunk_new(size_t n)
{
	struct scratch_chunk *c;
	size_t size = CHUNK - sizeof *c;

	if (n > size)
		size = n;
	c = malloc(sizeof *c + size);
	if (c)
		c->size = size;
	return c;
}

/* Goes on with another chunk, in which n bytes have room. */
static void *next_chunk(struct scratch *s, size_t n)
{
	struct scratch_chunk *c = spare_take(s, n);

	if (!c)
		c = chunk_new(n);
	if (!c) {
		s->failed = true;
		return NULL;
	}
	c->next = s->used.first; /* NULL for the last */
	s->used.first = c;
	if (!s->used.last)
		s->used.last = c;
	s->at = n;
	return c->bytes;
}

void *scratch_alloc(struct scratch *s, size_t n)
{
	struct scratch_chunk *c = s->used.first;
	void *p;

	if (n > SIZE_MAX / 4) {
		s->failed = true;
		return NULL;
	}
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!c || n > c->size - s->at)
		return next_chunk(s, n);
	p = c->bytes + s->at;
	s->at += n;
	return p;
}

struct scratch_chunks scratch_detach(struct scratch *s)
{
	struct scratch_chunks chunks = s->used;

	s->used = (struct scratch_chunks){0};
	return chunks;
}

void scratch_put_back(struct scratch *s, struct scratch_chunks chunks)
{
	if (!chunks.first)
		return;
	chunks.last->next = s->spare;
	s->spare = chunks.first;
}

void scratch_reset(struct scratch *s)
{
	scratch_put_back(s, scratch_detach(s));
	s->failed = false;
}

void scratch_chunks_join(struct scratch_chunks *to, struct scratch_chunks *more)
{
	if (!more->first)
		return;
	more->last->next = to->first;
	to->first = more->first;
	if (!to->last)
		to->last = more->last;
	*more = (struct scratch_chunks){0};
}

void scratch_chunks_free(struct scratch_chunks *chunks)
{
	struct scratch_chunk *c, *next;

	for (c = chunks->first; c; c = next) {
		next = c->next;
		free(c);
	}
	*chunks = (struct scratch_chunks){0};
}

void scratch_done(struct scratch *s)
{
	struct scratch_chunk *c;

	scratch_reset(s);
	while ((c = s->spare)) {
		s->spare = c->next;
		free(c);
	}
}
