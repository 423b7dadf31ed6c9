/* pages.h - memory with few page faults: a fault costs more than clearing the page.
 *
 * The first seven functions are hints: where the kernel ignores them everything works, only slower.
 */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/* size of a large page, in bytes */
#define PAGES_LARGE (2 << 20)

/* For fresh memory that will be filled from end to end: uses large pages, so one fault is enough
 * for 2 MiB. Only for large pages that lie wholly inside, so that no more memory is used. */
void pages_large(void *p, size_t size);
/* calloc() for tables that are accessed at random: on large pages if it is large enough, else with
 * all pages faulted in at once. */
void *pages_calloc(size_t n, size_t size);
/* malloc() for what will be filled from end to end, and given back soon: on large pages, the last
 * one too, from 512 KiB on. free() releases it. */
void *pages_alloc(size_t size);
/* For fresh memory that will be filled soon: faults in all its pages at once. */
void pages_populate(void *p, size_t size);
/* Takes the page faults of a range of a mapped file now, ahead of the thread that will read it. */
void pages_touch(const void *p, size_t size);
/* Unmaps the pages of a range of a mapped file that was read, so that they no longer count as
 * memory of this process. If they are read again, they are faulted in again. */
void pages_forget(const void *p, size_t size);

/* Zeroes memory that malloc() returned by giving whole pages inside of it back to the kernel. Pages
 * that are written again are small ones. */
void pages_empty(void *p, size_t size);

/* From now on what is larger than 128 KiB is the kernel's again as soon as it is freed: for
 * programs that stay. */
void pages_keep_few(void);

/* Gives freed memory that malloc() keeps back to the kernel. Takes about a millisecond for some MB.
 */
void pages_give_back(void);

/* After this call, pages of a mapped file that was truncated read as zeros instead of killing the
 * process. For main() only: it installs a handler of SIGBUS for the whole process. */
void pages_survive_cuts(void);

#endif
