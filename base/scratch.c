/* scratch.c - chunks of doubling size; after a reset one chunk takes the place of all. */
#include "base/scratch.h"

enum { FIRST_CHUNK = 64 << 10, LAST_CHUNK = 4 << 20, ALIGN = 16 };

static void *grow(struct scratch *s, size_t n)
{
	struct scratch_chunk c = {NULL, FIRST_CHUNK};

	if (s->chunks.n) {
		c.size = s->chunks.v[s->chunks.n - 1].size;
		c.size = c.size < LAST_CHUNK ? c.size * 2 : LAST_CHUNK;
	} else if (s->wanted) {
		c.size = s->wanted;
	}
	if (c.size < n)
		c.size = n;
	c.p = malloc(c.size);
	if (!c.p || vec_push(&s->chunks, c)) {
		free(c.p);
		s->failed = true;
		return NULL;
	}
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
	if (!s->chunks.n || n > s->chunks.v[s->chunks.n - 1].size - s->used)
		return grow(s, n);
	p = s->chunks.v[s->chunks.n - 1].p + s->used;
	s->used += n;
	return p;
}

void scratch_reset(struct scratch *s)
{
	s->used = 0;
	s->failed = false;
	if (s->chunks.n < 2)
		return;
	for (s->wanted = 0; s->chunks.n; s->chunks.n--) {
		s->wanted += s->chunks.v[s->chunks.n - 1].size;
		free(s->chunks.v[s->chunks.n - 1].p);
	}
}

void scratch_done(struct scratch *s)
{
	for (size_t i = 0; i < s->chunks.n; i++)
		free(s->chunks.v[i].p);
	vec_done(&s->chunks);
	s->used = 0;
}
