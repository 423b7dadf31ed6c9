/* packed_stream.c - fopencookie(3) over zlib and zstd. */
#include "base/packed_stream.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"

enum { CHUNK = 1 << 16, ZSTD_LEVEL = 3 };

struct packer {
	FILE *to;
	z_stream z;
	ZSTD_CStream *zstd; /* NULL: gzip */
	unsigned char out[CHUNK];
};

enum pack pack_of(const char *path, size_t *n)
{
	enum pack kind = str_ends_with(path, ".gz")    ? PACK_GZIP
			 : str_ends_with(path, ".zst") ? PACK_ZSTD
						       : PACK_NONE;

	*n = kind == PACK_GZIP ? 3 : kind == PACK_ZSTD ? 4 : 0;
	return kind;
}

/* 0 or -1. */
static int put(struct packer *p, size_t n)
{
	return fwrite(p->out, 1, n, p->to) == n ? 0 : -1;
}

static int run_gzip(struct packer *p, const char *s, size_t n, bool last)
{
	p->z.next_in = (Bytef *)(uintptr_t)s;
	p->z.avail_in = (uInt)n;
	do {
		p->z.next_out = p->out;
		p->z.avail_out = CHUNK;
		/* With a valid stream and room, deflate() cannot fail. */
		deflate(&p->z, last ? Z_FINISH : Z_NO_FLUSH);
		if (put(p, CHUNK - p->z.avail_out))
			return -1;
	} while (!p->z.avail_out);
	return 0;
}

static int run_zstd(struct packer *p, const char *s, size_t n, bool last)
{
	ZSTD_inBuffer in = {s, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {p->out, CHUNK, 0};

		left = ZSTD_compressStream2(p->zstd, &out, &in,
					    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left) || put(p, out.pos))
			return -1;
	} while (in.pos < in.size || (last && left));
	return 0;
}

static int run(struct packer *p, const char *s, size_t n, bool last)
{
	return p->zstd ? run_zstd(p, s, n, last) : run_gzip(p, s, n, last);
}

static ssize_t on_write(void *cookie, const char *s, size_t n)
{
	size_t done, part;

	for (done = 0; done < n; done += part) {
		part = n - done < 1u << 30 ? n - done : 1u << 30;
		if (run(cookie, s + done, part, false))
			return 0;
	}
	return (ssize_t)n;
}

static int on_close(void *cookie)
{
	struct packer *p = cookie;
	int rc = run(p, NULL, 0, true);

	if (p->zstd)
		ZSTD_freeCStream(p->zstd);
	else
		deflateEnd(&p->z);
	free(p);
	return rc;
}

FILE *pack_open(FILE *to, enum pack kind)
{
	static const cookie_io_functions_t calls = {.write = on_write, .close = on_close};
	const int gzip_wrapper = 16;
	struct packer *p = calloc(1, sizeof *p);
	bool begun = false;
	FILE *f;

	if (!p)
		return NULL;
	p->to = to;
	if (kind == PACK_ZSTD) {
		p->zstd = ZSTD_createCStream();
		begun = p->zstd && !ZSTD_isError(ZSTD_initCStream(p->zstd, ZSTD_LEVEL));
	} else {
		begun = deflateInit2(&p->z, 6, Z_DEFLATED, 15 + gzip_wrapper, 8,
				     Z_DEFAULT_STRATEGY) == Z_OK;
	}
	f = begun ? fopencookie(p, "w", calls) : NULL;
	if (!f) {
		ZSTD_freeCStream(p->zstd);
		deflateEnd(&p->z); /* of a zeroed stream: nothing */
		free(p);
	}
	return f;
}
