/* unwrap.h - recordings packed with gzip, xz or zstd. Private to reader/. */
#ifndef READER_UNWRAP_H
#define READER_UNWRAP_H

#include "reader/byte_source.h"

/* If the source is packed, unpacks it into a temporary file, which becomes the source; else does
 * nothing. What could be unpacked of a damaged file is kept, and *why says what is wrong, for
 * people (NULL: nothing). */
int byte_source_unwrap(struct byte_source *s, const char **why, struct err *err);

#endif
