/* packed_stream.h - text that is compressed on its way into a file. */
#ifndef CMD_PACKED_STREAM_H
#define CMD_PACKED_STREAM_H

#include <stdio.h>

enum pack { PACK_NONE, PACK_GZIP, PACK_ZSTD };

/* By the end of a path, ".gz" or ".zst", whose length is then in *n; else PACK_NONE and 0. */
enum pack pack_of(const char *path, size_t *n);
/* A stream whose bytes go compressed to `to`, which stays open; the last of them when it is closed.
 * The same input gives the same bytes. NULL when out of memory. */
FILE *pack_open(FILE *to, enum pack kind);

#endif
