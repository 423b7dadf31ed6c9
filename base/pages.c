/* pages.c - advice to the kernel about memory that malloc() gave. */
#include "base/pages.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

enum {
	/* Of x86-64, and of arm64 with pages of 4 KiB; with larger pages this helps less. */
	PAGE = 4 << 10,
	LARGE_PAGE = PAGES_LARGE,
	FEW_PAGES = 16 * PAGE,
	WORTH_LARGE = 512 << 10,
	/* How much the kernel maps at most by one fault, if it is in the page cache in small pages
	 * (fault_around_bytes of mm/memory.c). */
	FAULT_AROUND = 64 << 10,
};

static void advise(void *p, size_t size, size_t unit, int advice)
{
	uintptr_t start = ((uintptr_t)p + unit - 1) & ~(uintptr_t)(unit - 1);
	uintptr_t end = ((uintptr_t)p + size) & ~(uintptr_t)(unit - 1);

	if (p && start < end)
		(void)madvise((void *)start, end - start, advice);
}

void pages_large(void *p, size_t size)
{
	advise(p, size, LARGE_PAGE, MADV_HUGEPAGE);
}

void pages_populate(void *p, size_t size)
{
#ifdef MADV_POPULATE_WRITE
	advise(p, size, PAGE, MADV_POPULATE_WRITE);
#else
	(void)p;
	(void)size;
#endif
}

void *pages_calloc(size_t n, size_t size)
{
	void *p;

	if (n > (SIZE_MAX - LARGE_PAGE) / size)
		return NULL;
	size *= n;
	if (size < LARGE_PAGE) {
		/* Populate for writing: a fresh page that is read first is mapped to the shared
		 * zero page, and writing it later costs a second fault and a TLB flush on all
		 * processors where threads run. */
		p = calloc(1, size);
		if (size >= FEW_PAGES)
			pages_populate(p, size);
		return p;
	}
	size = (size + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
	p = aligned_alloc(LARGE_PAGE, size);
	if (!p)
		return NULL;
	pages_large(p, size);
	return memset(p, 0, size);
}

void *pages_alloc(size_t size)
{
	void *p;

	if (size < WORTH_LARGE || size > SIZE_MAX - LARGE_PAGE)
		return malloc(size ? size : 1);
	size = (size + LARGE_PAGE - 1) & ~(size_t)(LARGE_PAGE - 1);
	p = aligned_alloc(LARGE_PAGE, size);
	pages_large(p, size);
	return p;
}

void pages_touch(const void *p, size_t size)
{
	const volatile uint8_t *bytes = p;

	for (size_t i = 0; i < size; i += FAULT_AROUND)
		(void)bytes[i];
}

void pages_forget(const void *p, size_t size)
{
	advise((void *)(uintptr_t)p, size, PAGE, MADV_DONTNEED);
}

void pages_empty(void *p, size_t size)
{
	uint8_t *from = p, *to = from + size;
	uint8_t *start = from + (-(uintptr_t)from & (PAGE - 1));
	uint8_t *end = to - ((uintptr_t)to & (PAGE - 1));

	if (size >= 2 * PAGE && !madvise(start, (size_t)(end - start), MADV_DONTNEED)) {
		(void)madvise(start, (size_t)(end - start), MADV_NOHUGEPAGE);
		memset(from, 0, (size_t)(start - from));
		memset(end, 0, (size_t)(to - end));
		return;
	}
	memset(from, 0, size);
}

void pages_keep_few(void)
{
#ifdef __GLIBC__
	/* A constant one, as glibc raises it to the size of what was freed. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
#endif
}

void pages_give_back(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/* Maps a page of zeros where the file has ended. Any other cause of SIGBUS raises it again, and
 * then kills the process. */
static void on_sigbus(int no, siginfo_t *info, void *context)
{
	const size_t size = getauxval(AT_PAGESZ); /* 64 KiB on some arm64 systems */
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(size - 1);

	(void)context;
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		    MAP_FAILED)
		signal(no, SIG_DFL);
}

void pages_survive_cuts(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	sigaction(SIGBUS, &sa, NULL);
}
