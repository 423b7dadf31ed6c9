/* arena.h - bump allocator: many small objects, freed all at once. Not thread-safe.
 * A zeroed struct arena is ready for use. Objects never move. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks;
	char *next;
	size_t left;
	size_t total_bytes; /* allocated from the system */
};

/* 16-byte aligned, zeroed. NULL when out of memory. */
void *arena_alloc(struct arena *a, size_t size);
/* Copies n bytes and a NUL. NULL when out of memory. */
char *arena_strndup(struct arena *a, const char *s, size_t n);
/* Copies n bytes. */
void *arena_memdup(struct arena *a, const void *p, size_t n);
/* Frees everything; the arena can be used again. */
void arena_done(struct arena *a);

#endif
