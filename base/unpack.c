/* unpack.c - zlib, liblzma and libzstd behind one interface. */
#include "base/unpack.h"

#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* limit on the memory that xz may use; its highest preset needs 65 MiB */
#define XZ_MEMORY (256ull << 20)

/* ---- gzip -------------------------------------------------------------------------------- */

static void *gzip_begin(void)
{
	const int with_gzip_header = 15 + 16;
	z_stream *z = calloc(1, sizeof *z);

	if (z && inflateInit2(z, with_gzip_header) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static enum unpack_step gzip_step(void *state, struct piece *p, bool last)
{
	const uInt in = p->n_in < UINT_MAX ? (uInt)p->n_in : UINT_MAX;
	const uInt out = p->n_out < UINT_MAX ? (uInt)p->n_out : UINT_MAX;
	z_stream *z = state;
	int rc;

	(void)last;
	z->next_in = (Bytef *)(uintptr_t)p->in;
	z->avail_in = in;
	z->next_out = p->out;
	z->avail_out = out;
	rc = inflate(z, Z_NO_FLUSH);
	p->in = z->next_in;
	p->n_in -= in - z->avail_in;
	p->out = z->next_out;
	p->n_out -= out - z->avail_out;
	if (rc == Z_STREAM_END)
		return inflateReset(z) == Z_OK ? STEP_END : STEP_DAMAGED;
	if (rc == Z_MEM_ERROR)
		return STEP_NOMEM;
	return rc == Z_OK || rc == Z_BUF_ERROR ? STEP_ON : STEP_DAMAGED;
}

static void gzip_end(void *state)
{
	inflateEnd(state);
	free(state);
}

/* ---- xz ---------------------------------------------------------------------------------- */

static void *xz_begin(void)
{
	lzma_stream *z = calloc(1, sizeof *z);

	if (z && lzma_stream_decoder(z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static enum unpack_step xz_step(void *state, struct piece *p, bool last)
{
	lzma_stream *z = state;
	lzma_ret rc;

	z->next_in = p->in;
	z->avail_in = p->n_in;
	z->next_out = p->out;
	z->avail_out = p->n_out;
	rc = lzma_code(z, last ? LZMA_FINISH : LZMA_RUN);
	p->in = z->next_in;
	p->n_in = z->avail_in;
	p->out = z->next_out;
	p->n_out = z->avail_out;
	if (rc == LZMA_STREAM_END)
		return STEP_END;
	if (rc == LZMA_MEM_ERROR)
		return STEP_NOMEM;
	return rc == LZMA_OK || rc == LZMA_BUF_ERROR ? STEP_ON : STEP_DAMAGED;
}

static void xz_end(void *state)
{
	lzma_end(state);
	free(state);
}

/* ---- zstd -------------------------------------------------------------------------------- */

static void *zstd_begin(void)
{
	return ZSTD_createDStream();
}

static enum unpack_step zstd_step(void *state, struct piece *p, bool last)
{
	ZSTD_inBuffer in = {p->in, p->n_in, 0};
	ZSTD_outBuffer out = {p->out, p->n_out, 0};
	size_t rc = ZSTD_decompressStream(state, &out, &in);

	(void)last;
	p->in += in.pos;
	p->n_in -= in.pos;
	p->out += out.pos;
	p->n_out -= out.pos;
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return STEP_NOMEM;
	if (ZSTD_isError(rc))
		return STEP_DAMAGED;
	return rc ? STEP_ON : STEP_END;
}

static void zstd_end(void *state)
{
	ZSTD_freeDStream(state);
}

static const struct unpacker unpackers[] = {
	{{0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
};

const struct unpacker *unpacker_find(const uint8_t *head, size_t n)
{
	size_t i;

	for (i = 0; i < sizeof unpackers / sizeof *unpackers; i++)
		if (n >= unpackers[i].n_magic &&
		    !memcmp(head, unpackers[i].magic, unpackers[i].n_magic))
			return &unpackers[i];
	return NULL;
}
