/* code_copy.h - private: copies pages with code of a running process that no file has. */
#ifndef CAPTURE_CODE_COPY_H
#define CAPTURE_CODE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/code_ranges.h"
#include "runtimes/runtimes.h"

/* Of one process, at most. */
enum { CODE_COPY_MAX = 16 << 20 };

struct code_page {
	uint64_t addr;
	uint64_t print; /* a hash of the bytes that were written last; 0: none were */
};

/* A zeroed one is empty. */
struct code_copy {
	struct hash_table by_page; /* address -> index in pages */
	VEC(struct code_page) pages;
	uint64_t bytes; /* written */
	bool is_cut;	/* CODE_COPY_MAX has left something out */
	bool alone;	/* pages beside those of the addresses are left out */
	bool is_gone;	/* the process has no memory any more */
	int error;	/* errno of why it could not be read; 0: it could */
};

/* Writes into the log what has not been written of the pages with the addresses, of those beside
 * them and of those that direct jumps in them lead to; and the first page of each range that is
 * met, where JIT compilers have what all of their code uses. `again`: also what has changed of all
 * pages that were written. Out of memory is the log's `failed`, or leaves pages out. */
void code_copy_take(struct code_copy *c, pid_t pid, const struct code_ranges *ranges,
		    const uint64_t *addrs, size_t n, bool again, uint64_t now_ns,
		    struct code_log *log);
/* Forgets what was written: the process runs another program. */
void code_copy_reset(struct code_copy *c);
void code_copy_done(struct code_copy *c);

#endif
