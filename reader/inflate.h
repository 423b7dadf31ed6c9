/* inflate.h - the zstd frame inside of COMPRESSED records. Private to reader/.
 *
 * All compressed records of one data stream are one frame, whatever their boundaries; what comes
 * out is a stream of records again, which has a splitter of its own. */
#ifndef READER_INFLATE_H
#define READER_INFLATE_H

#include "reader/splitter.h"

struct inflate;

struct inflate_input {
	const uint8_t *p;
	size_t n;
};

/* 0 or negative with *err. */
int inflate_new(struct inflate **ret, bool swap, struct err *err);
void inflate_free(struct inflate *z, struct block_store *store);
struct splitter *inflate_splitter(struct inflate *z);

/* Another recording begins: the frame will not go on. */
void inflate_restart(struct inflate *z);

/* Decompresses from *in (which advances) into the splitter's block until that is full or all is
 * done. 1: there may be more, split what is there and call again; 0: all of *in is used; negative
 * with *err: ERR_DAMAGED when the data is (the rest is useless until a new frame begins), ERR_LIMIT
 * when it grows beyond reason. */
int inflate_step(struct inflate *z, struct block_store *store, struct inflate_input *in,
		 struct err *err);

#endif
