/* strip.h - the data of a recording with call chains in place of stack copies. Private to cut/. */
#ifndef CUT_STRIP_H
#define CUT_STRIP_H

#include "cut/cut.h"

/* Where bytes are read. */
struct strip_input {
	int fd;
	const char *path;
	uint64_t off, size; /* of the data section */
};

/* Appends the records to *out: samples that have registers or stack copies get the chain that
 * `chains` has of them instead, all others are as they were. Compressed if the input is. Returns 0,
 * or negative with *err. */
int strip_data(const struct strip_input *in, struct cut_chains *chains, struct bundle_blob *out,
	       struct err *err);
/* Changes a perf_event_attr of `size` bytes to what strip_data() writes. */
void strip_attr(uint8_t *attr, size_t size);
/* The same for the copies in the feature EVENT_DESC. */
void strip_event_desc(uint8_t *section, size_t n);

#endif
