/* pages.h - memory with few page faults: a fault costs more than clearing the page does.
 *
 * The first six are wishes: where the kernel does not grant them everything works as before. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/* Of a large page, in bytes. */
#define PAGES_LARGE (2 << 20)

/* For fresh memory that will be filled from end to end: large pages under it, one fault for 2 MiB.
 * Only whole large pages inside of it count, so nothing else grows. */
void pages_large(void *p, size_t size);
/* As calloc(), on large pages once it is large enough, else with all pages in one go; for tables
 * that are hit all over. */
void *pages_calloc(size_t n, size_t size);
/* For fresh memory that will be filled at once: all its pages in one go. */
void pages_populate(void *p, size_t size);
/* For a mapped file that will be looked at from here to there, maybe by another thread: the page
 * faults come now. */
void pages_touch(const void *p, size_t size);
/* For a mapped file that was looked at from here to there: its pages need not stay ours. */
void pages_forget(const void *p, size_t size);

/* Zeros from now on, for memory of malloc(). Whole pages inside of it go back; should something be
 * written there again, it comes on small ones. */
void pages_empty(void *p, size_t size);

/* What was freed need not stay ours either: malloc() keeps much of it, and what is mapped next
 * comes on top. Takes a millisecond for some MB. */
void pages_give_back(void);

/* From now on pages of mapped files that are no longer there, because somebody has made the file
 * shorter, hold zeros; without this looking at them kills the process. For main(): signal handlers
 * belong to the whole process. */
void pages_survive_cuts(void);

#endif
