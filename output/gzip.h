/* gzip.h - a gzip stream (RFC 1952) with the same bytes for the same input: no name, no time.
 * Private to output/. */
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
/* Compresses what t holds and empties it. */
void gzip_add(struct gzip *g, struct text *t);
/* Also frees; to be called once after gzip_begin() succeeded. */
void gzip_end(struct gzip *g);

#endif
