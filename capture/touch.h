/* touch.h - private: stack pages that are not there yet.
 *
 * The kernel copies a stack up to the first page that is not present, and does not wait for it:
 * what is above an array that nothing has written to is missing in every sample. Reading a byte of
 * such a page through /proc/PID/mem maps the page of zeros, as a read by the program itself would,
 * and changes nothing else; the next copies go on behind it. */
#ifndef CAPTURE_TOUCH_H
#define CAPTURE_TOUCH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"

struct touch {
	struct hash_table seen; /* (thread, page) that were touched */
	uint64_t pages;		/* of that a page became there, or was */
	pid_t pid;		/* whose memory is open */
	int fd;
};

void touch_init(struct touch *t);
void touch_done(struct touch *t);
/* A copy of `tid`'s stack ended at `at`, where a page begins, though `bytes` more were asked for.
 * Each page is touched once, a bounded number of them; what cannot be read (no right, no such page)
 * is left. */
void touch_stack(struct touch *t, pid_t pid, pid_t tid, uint64_t at, uint64_t bytes);

#endif
