/* scratch.c - chunks of doubling size, filled one after the other in each round. */
#include "base/scratch.h"

enum { FIRST_CHUNK = 64 << 10, LAST_CHUNK = 4 << 20, ALIGN = 16 };

static int add_chunk(struct scratch *s, size_t n)
{
	struct scratch_chunk c = {NULL, FIRST_CHUNK};

	if (s->chunks.n)
		c.size = s->chunks.v[s->chunks.n - 1].size * 2;
	if (c.size > LAST_CHUNK)
		c.size = LAST_CHUNK;
	if (c.size < n)
		c.size = n;
	c.p = malloc(c.size);
	if (!c.p || vec_push(&s->chunks, c)) {
		free(c.p);
		return -1;
	}
	return 0;
}

/* Goes on with the first empty chunk in which n bytes have room. */
static void *next_chunk(struct scratch *s, size_t n)
{
	size_t next = s->chunks.n ? s->at + 1 : 0, i = next;
	struct scratch_chunk c;

	while (i < s->chunks.n && s->chunks.v[i].size < n)
		i++;
	if (i == s->chunks.n && add_chunk(s, n)) {
		s->failed = true;
		return NULL;
	}
	c = s->chunks.v[i];
	s->chunks.v[i] = s->chunks.v[next];
	s->chunks.v[next] = c;
	s->at = next;
	s->used = n;
	return c.p;
}

void *scratch_alloc(struct scratch *s, size_t n)
{
	char *p;

	if (n > SIZE_MAX / 4) {
		s->failed = true;
		return NULL;
	}
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!s->chunks.n || n > s->chunks.v[s->at].size - s->used)
		return next_chunk(s, n);
	p = s->chunks.v[s->at].p + s->used;
	s->used += n;
	return p;
}

void scratch_reset(struct scratch *s)
{
	s->at = s->used = 0;
	s->failed = false;
}

void scratch_done(struct scratch *s)
{
	for (size_t i = 0; i < s->chunks.n; i++)
		free(s->chunks.v[i].p);
	vec_done(&s->chunks);
	scratch_reset(s);
}
