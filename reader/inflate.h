/* inflate.h - the zstd frames inside of COMPRESSED records. Private to reader/.
 *
 * The compressed records of one data stream are one frame (perf), or frames one after the other
 * (capture), whatever the records' boundaries; what comes out is a stream of records again, which
 * has a splitter of its own. */
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

/* Something is missing: the frame cannot go on. */
void inflate_break(struct inflate *z);
/* After damage: a new frame begins with this input, so decompression goes on. What is left of the
 * record that the damage cut is in the splitter's bad_bytes then. */
bool inflate_begins_anew(struct inflate *z, const struct inflate_input *in);

/* Decompresses from *in (which advances) into the splitter's block until that is full or all is
 * done. 1: there may be more, split what is there and call again; 0: all of *in is used; negative
 * with *err: ERR_DAMAGED when the data is (the rest is useless until inflate_begins_anew()),
 * ERR_LIMIT when it grows beyond reason. */
int inflate_step(struct inflate *z, struct block_store *store, struct inflate_input *in,
		 struct err *err);

#endif
