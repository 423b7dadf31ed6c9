/* packed_stream.h - a stream that compresses what is written to it on its way to a file. */
#ifndef BASE_PACKED_STREAM_H
#define BASE_PACKED_STREAM_H

#include <stdio.h>

enum pack { PACK_NONE, PACK_GZIP, PACK_ZSTD };

/* By the suffix of a path, ".gz" or ".zst", whose length is stored in *n; else PACK_NONE and 0. */
enum pack pack_of(const char *path, size_t *n);
/* Returns a stream that compresses everything written to it into `to`, which stays open; the end is
 * written when the stream is closed. Equal input gives equal bytes: gzip (RFC 1952) without name
 * and time. NULL when out of memory. */
FILE *pack_open(FILE *to, enum pack kind);

#endif
