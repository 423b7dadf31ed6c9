/* packed_stream.h - a stream that compresses text on its way to a file. */
#ifndef CMD_PACKED_STREAM_H
#define CMD_PACKED_STREAM_H

#include <stdio.h>

enum pack { PACK_NONE, PACK_GZIP, PACK_ZSTD };

/* By the suffix of a path, ".gz" or ".zst", whose length is stored in *n; else PACK_NONE and 0. */
enum pack pack_of(const char *path, size_t *n);
/* Returns a stream that compresses everything written to it into `to`, which stays open; the end is
 * written when the stream is closed. Equal input gives equal bytes. NULL when out of memory. */
FILE *pack_open(FILE *to, enum pack kind);

#endif
