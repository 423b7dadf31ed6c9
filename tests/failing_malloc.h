/* failing_malloc.h - replaces malloc and friends by ones that fail when told to, and count. For one
 * source file per program; not with sanitizers, whose allocators cannot be replaced. */
#ifndef TESTS_FAILING_MALLOC_H
#define TESTS_FAILING_MALLOC_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifndef SANITIZED

#include <stdlib.h>

static long allocations_left = -1; /* before the one that fails; negative: none does */
static long allocations_live;

/* The C library's own names, so that these definitions win over malloc and friends. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);
extern void __libc_free(void *p);

static int fails_now(void)
{
	return allocations_left >= 0 && allocations_left-- == 0;
}

static void *counted(void *p)
{
	allocations_live += p != NULL;
	return p;
}

void *malloc(size_t size)
{
	return fails_now() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : counted(__libc_calloc(n, size));
}

void *aligned_alloc(size_t align, size_t size)
{
	return fails_now() ? NULL : counted(__libc_memalign(align, size));
}

void *realloc(void *p, size_t size)
{
	void *ret = fails_now() ? NULL : __libc_realloc(p, size);

	allocations_live += ret && !p;
	return ret;
}

void free(void *p)
{
	allocations_live -= p != NULL;
	__libc_free(p);
}

#endif

#endif
