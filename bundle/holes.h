/* holes.h - private: memory with the contents of a file with holes. */
#ifndef BUNDLE_HOLES_H
#define BUNDLE_HOLES_H

#include "bundle/bundle.h"

/* While it is filled. */
struct holes {
	struct bundle_bytes bytes;
	int fd;		/* a file in memory that will be mapped; -1: bytes.v is filled itself */
	uint8_t *piece; /* neighbouring ranges, written by one call: HOLES_PIECE bytes */
	uint64_t off;	/* where the piece begins in the file */
	size_t used;
	bool failed;
};

/* `size` zeros. `filled`: how many of them there will be ranges for. Returns 0 or negative with
 * *err. */
int holes_begin(struct holes *h, uint64_t size, uint64_t filled, struct err *err);
/* Puts a range that lies inside into its place, over what is there; `holes` is a struct holes. */
int holes_put(void *holes, const struct bundle_range *r);
/* Hands the memory out: it is writable, and followed by a NUL. rc: negative if something failed
 * meanwhile: then it is only released. Returns rc, or negative with *err. */
int holes_finish(struct holes *h, int rc, struct bundle_bytes *ret, struct err *err);
/* `size` zeros and a NUL, in few pages if all of them will be written. */
int holes_room(uint64_t size, bool will_be_full, struct bundle_bytes *ret, struct err *err);

#endif
