/* remote.h - the memory of another process, which goes on running. Private to runtimes/. */
#ifndef RUNTIMES_REMOTE_H
#define RUNTIMES_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { REMOTE_PAGE = 4096, REMOTE_PAGES = 256, REMOTE_NAME_MAX = 4096 };

/* Small reads come from a cache of pages, which are as old as the last remote_renew(). */
struct remote {
	int fd;
	bool is_gone;	 /* nothing of it can be read any more */
	uint64_t budget; /* reads that are left; when there are none all reads fail */
	struct remote_page {
		uint64_t addr; /* + 1; 0: empty */
		uint8_t bytes[REMOTE_PAGE];
	} * pages; /* direct-mapped by page number */
};

/* By /proc/PID/mem, which needs the rights of ptrace, but does not stop the process. Returns 0, or
 * negative with *err, when nothing is to be closed. */
int remote_open(struct remote *r, pid_t pid, struct err *err);
void remote_close(struct remote *r);
/* Forgets the cached pages, and allows `budget` reads. */
void remote_renew(struct remote *r, uint64_t budget);
/* Forgets the cached pages. */
void remote_forget(struct remote *r);

/* All return false, and zeros, if not everything can be read. */
bool remote_read(struct remote *r, uint64_t addr, void *to, size_t n);
bool remote_u8(struct remote *r, uint64_t addr, uint8_t *ret);
bool remote_u16(struct remote *r, uint64_t addr, uint16_t *ret);
bool remote_u32(struct remote *r, uint64_t addr, uint32_t *ret);
bool remote_u64(struct remote *r, uint64_t addr, uint64_t *ret);
/* A text that ends with NUL within `size` bytes, which must be printable ASCII or UTF-8. */
bool remote_text(struct remote *r, uint64_t addr, char *to, size_t size);

#endif
