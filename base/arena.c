/* arena.c - blocks of doubling size in a list. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
	struct arena_block *prev;
	size_t size;
};

enum { ALIGN = 16, FIRST_BLOCK = 4096, LAST_BLOCK = 1 << 20 };

static int grow(struct arena *a, size_t need)
{
	size_t size = FIRST_BLOCK;
	struct arena_block *b;

	if (a->blocks)
		size = a->blocks->size < LAST_BLOCK ? a->blocks->size * 2 : LAST_BLOCK;
	if (size < need)
		size = need;
	if (size > SIZE_MAX - ALIGN)
		return -1;
	b = calloc(1, ALIGN + size); /* the kernel has cleared the pages of large ones */
	if (!b)
		return -1;
	b->prev = a->blocks;
	b->size = size;
	a->blocks = b;
	a->next = (char *)b + ALIGN;
	a->left = size;
	a->total_bytes += size;
	return 0;
}

_Static_assert(sizeof(struct arena_block) <= ALIGN, "block header fits the first slot");

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	if (size > SIZE_MAX - ALIGN)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (size > a->left && grow(a, size))
		return NULL;
	p = a->next;
	a->next += size;
	a->left -= size;
	return p;
}

void *arena_memdup(struct arena *a, const void *src, size_t n)
{
	void *p = arena_alloc(a, n ? n : 1);

	if (p && n)
		memcpy(p, src, n);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p;

	if (n == SIZE_MAX)
		return NULL;
	p = arena_alloc(a, n + 1);
	if (p && n)
		memcpy(p, s, n);
	return p;
}

void arena_done(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *prev = b->prev;

		free(b);
		b = prev;
	}
	*a = (struct arena){0};
}
