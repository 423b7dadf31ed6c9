/* scratch.c - chunks of one size; chunks of that size times a power of two for larger allocations.
 */
#include "base/scratch.h"

#include <stdint.h>
#include <stdlib.h>

enum { CHUNK = 1 << SCRATCH_CHUNK_BITS, ALIGN = 16 };

struct scratch_chunk {
	struct scratch_chunk *next;
	size_t size; /* of bytes[] */
	_Alignas(ALIGN) char bytes[];
};

static struct scratch_chunk *chunk_new(unsigned class)
{
	size_t size = (size_t)CHUNK << class;
	struct scratch_chunk *c = malloc(size);

	if (c)
		c->size = size - sizeof *c;
	return c;
}

/* How often the chunk size must be doubled until n bytes fit. Powers of two, because otherwise
 * stacks that grow by a frame with each batch would need a chunk of a new size every time. */
static unsigned class_of(size_t n)
{
	unsigned class = 0;

	while (n > ((size_t)CHUNK << class) - sizeof(struct scratch_chunk))
		class ++;
	return class;
}

static void push_front(struct scratch_list *l, struct scratch_chunk *c)
{
	c->next = l->first;
	l->first = c;
	if (!l->last)
		l->last = c;
}

/* Takes a spare chunk of the class, or a new one, and puts it in use. */
static struct scratch_chunk *next_chunk(struct scratch *s, unsigned class)
{
	struct scratch_chunk *c;
	unsigned from = class;

	/* A larger spare chunk may be used as well: only the pages that are needed are touched. Not
	 * for class 0, as small allocations would use up the large chunks. */
	while (class && from + 1 < SCRATCH_CLASSES && !s->spare[from])
		from++;
	c = s->spare[from];
	if (c)
		s->spare[from] = c->next;
	else
		c = chunk_new(class);
	if (c)
		push_front(class ? &s->used.large : &s->used.usual, c);
	else
		s->failed = true;
	return c;
}

void *scratch_alloc(struct scratch *s, size_t n)
{
	struct scratch_chunk *c = s->used.usual.first;
	unsigned class;
	void *p;

	if (n > SIZE_MAX / 4) {
		s->failed = true;
		return NULL;
	}
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!c || n > c->size - s->at) {
		class = class_of(n);
		c = next_chunk(s, class);
		if (!c || class) /* the current chunk stays current, for small allocations */
			return c ? c->bytes : NULL;
		s->at = 0;
	}
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
	struct scratch_chunk *c, *next;

	if (chunks.usual.first) {
		chunks.usual.last->next = s->spare[0];
		s->spare[0] = chunks.usual.first;
	}
	for (c = chunks.large.first; c; c = next) {
		unsigned class = class_of(c->size);

		next = c->next;
		c->next = s->spare[class];
		s->spare[class] = c;
	}
}

void scratch_reset(struct scratch *s)
{
	scratch_put_back(s, scratch_detach(s));
	s->failed = false;
}

static void list_join(struct scratch_list *to, const struct scratch_list *more)
{
	if (!more->first)
		return;
	more->last->next = to->first;
	to->first = more->first;
	if (!to->last)
		to->last = more->last;
}

void scratch_chunks_join(struct scratch_chunks *to, struct scratch_chunks *more)
{
	list_join(&to->usual, &more->usual);
	list_join(&to->large, &more->large);
	*more = (struct scratch_chunks){0};
}

static void free_all(struct scratch_chunk *c)
{
	struct scratch_chunk *next;

	for (; c; c = next) {
		next = c->next;
		free(c);
	}
}

void scratch_chunks_free(struct scratch_chunks *chunks)
{
	free_all(chunks->usual.first);
	free_all(chunks->large.first);
	*chunks = (struct scratch_chunks){0};
}

void scratch_done(struct scratch *s)
{
	unsigned class;

	scratch_reset(s);
	for (class = 0; class < SCRATCH_CLASSES; class ++) {
		free_all(s->spare[class]);
		s->spare[class] = NULL;
	}
}
