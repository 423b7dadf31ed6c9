/* gzip.h - writes a gzip stream (RFC 1952) without name and time, so that equal input gives equal
 * bytes. Private to output/. */
#ifndef OUTPUT_GZIP_H
#define OUTPUT_GZIP_H

#include <stdbool.h>
#include <stdio.h>
#include <zlib.h>

#include "base/err.h"
#include "base/text.h"

/* Or what is put into it, as it is. */
struct gzip {
	bool plain;
	z_stream z;
	FILE *out;
};

int gzip_begin(struct gzip *g, FILE *out, bool plain, struct err *err);
/* Compresses the contents of t and empties it. */
void gzip_add(struct gzip *g, struct text *t);
/* Ends the stream and frees its memory. Call it once if gzip_begin() has succeeded. */
void gzip_end(struct gzip *g);

#endif
