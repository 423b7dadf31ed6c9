/* decompress.c - zlib, zstd and xz decompression that hostile input cannot make large. */
#include "modules/decompress.h"

#include <isa-l/igzip_lib.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/pages.h"

/* What a watcher gets at a time; each step costs a copy of the window, 32 KiB. */
enum { STEP_BYTES = 1 << 20 };

/* igzip is twice as fast as zlib and, unlike libdeflate, which is no faster, goes step by step:
 * what was inflated can be used before the rest is. Bytes behind the stream do no harm. */
static int decompress_zlib(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
			   const struct elf_watch *watch)
{
	struct inflate_state *z = malloc(sizeof *z);
	size_t done = 0;
	bool ok;

	if (!z)
		return -ERR_NOMEM;
	isal_inflate_init(z);
	z->crc_flag = ISAL_ZLIB; /* header and checksum are looked at */
	z->next_in = (uint8_t *)(uintptr_t)in;
	while (z->block_state != ISAL_BLOCK_FINISH) {
		/* avail_* are 32 bits wide. */
		size_t in_left = in_size - (size_t)(z->next_in - in), out_left = out_size - done;
		uint32_t in_step = in_left < UINT32_MAX ? (uint32_t)in_left : UINT32_MAX;
		uint32_t step = out_left < STEP_BYTES ? (uint32_t)out_left : STEP_BYTES;

		z->avail_in = in_step;
		z->next_out = out + done;
		z->avail_out = step;
		if (isal_inflate(z) != ISAL_DECOMP_OK)
			break;
		done += step - z->avail_out;
		/* Neither reads nor writes: the input ends early, or the output is full. */
		if (z->avail_in == in_step && z->avail_out == step)
			break;
		if (watch)
			watch->grew(watch->arg, out, done, out_size);
	}
	ok = z->block_state == ISAL_BLOCK_FINISH && done == out_size;
	free(z);
	return ok ? 0 : -ERR_DAMAGED;
}

static int decompress_zstd(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size)
{
	size_t n = ZSTD_decompress(out, out_size, in, in_size);

	return !ZSTD_isError(n) && n == out_size ? 0 : -ERR_DAMAGED;
}

uint64_t decompress_limit(uint64_t in_size)
{
	if (in_size <= DECOMPRESS_SMALL_BYTES / DECOMPRESS_TIMES_MAX)
		return DECOMPRESS_SMALL_BYTES;
	return in_size < DECOMPRESS_MAX_BYTES / DECOMPRESS_TIMES_MAX
		       ? in_size * DECOMPRESS_TIMES_MAX
		       : DECOMPRESS_MAX_BYTES;
}

int decompress_room(uint64_t out_size, uint8_t **ret)
{
	*ret = NULL;
	if (out_size > DECOMPRESS_MAX_BYTES || out_size > SIZE_MAX / 2)
		return -ERR_LIMIT;
	*ret = malloc(out_size ? (size_t)out_size : 1);
	if (!*ret)
		return -ERR_NOMEM;
	pages_large(*ret, (size_t)out_size);
	return 0;
}

int decompress_into(enum decompress_kind kind, const uint8_t *in, size_t in_size, uint8_t *out,
		    uint64_t out_size, const struct elf_watch *watch)
{
	return kind == DECOMPRESS_ZLIB ? decompress_zlib(in, in_size, out, (size_t)out_size, watch)
				       : decompress_zstd(in, in_size, out, (size_t)out_size);
}

int decompress_sized(enum decompress_kind kind, const uint8_t *in, size_t in_size,
		     uint64_t out_size, uint8_t **ret)
{
	int rc = -ERR_LIMIT;

	*ret = NULL;
	if (out_size <= decompress_limit(in_size))
		rc = decompress_room(out_size, ret);
	if (!rc)
		rc = decompress_into(kind, in, in_size, *ret, out_size, NULL);
	if (rc) {
		free(*ret);
		*ret = NULL;
	}
	return rc;
}

/* ---- streams of unknown size -------------------------------------------------------------- */

struct sink {
	uint8_t *p;
	size_t n, cap, max;
};

/* Room for at least one more byte. */
static int sink_grow(struct sink *s)
{
	size_t cap = s->cap ? s->cap * 2 : 1 << 16;
	uint8_t *p;

	if (s->n < s->cap)
		return 0;
	if (s->cap == s->max)
		return -ERR_LIMIT;
	if (cap > s->max)
		cap = s->max;
	p = realloc(s->p, cap);
	if (!p)
		return -ERR_NOMEM;
	s->p = p;
	s->cap = cap;
	return 0;
}

static int stream_xz(const uint8_t *in, size_t in_size, struct sink *out)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret r;
	int rc = 0;

	if (lzma_stream_decoder(&z, DECOMPRESS_STREAM_MEM_BYTES, LZMA_CONCATENATED) != LZMA_OK)
		return -ERR_NOMEM;
	z.next_in = in;
	z.avail_in = in_size;
	do {
		rc = sink_grow(out);
		if (rc)
			break;
		z.next_out = out->p + out->n;
		z.avail_out = out->cap - out->n;
		r = lzma_code(&z, LZMA_FINISH);
		out->n = out->cap - z.avail_out;
	} while (r == LZMA_OK);
	lzma_end(&z);
	if (rc)
		return rc;
	if (r == LZMA_MEM_ERROR)
		return -ERR_NOMEM;
	if (r == LZMA_MEMLIMIT_ERROR)
		return -ERR_LIMIT;
	return r == LZMA_STREAM_END ? 0 : -ERR_DAMAGED;
}

static int stream_gzip(const uint8_t *in, size_t in_size, struct sink *out)
{
	z_stream z = {0};
	int r, rc;

	if (in_size > UINT32_MAX)
		return -ERR_LIMIT;
	if (inflateInit2(&z, 15 + 16) != Z_OK) /* 15 bits of window, + 16: gzip header */
		return -ERR_NOMEM;
	z.next_in = (Bytef *)(uintptr_t)in;
	z.avail_in = (uInt)in_size;
	do {
		rc = sink_grow(out);
		if (rc)
			break;
		z.next_out = out->p + out->n;
		z.avail_out = (uInt)(out->cap - out->n);
		r = inflate(&z, Z_NO_FLUSH);
		out->n = out->cap - z.avail_out;
	} while (r == Z_OK);
	inflateEnd(&z);
	if (rc)
		return rc;
	return r == Z_STREAM_END ? 0 : -ERR_DAMAGED;
}

static int stream_zstd(const uint8_t *in, size_t in_size, struct sink *out)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer src = {in, in_size, 0};
	ZSTD_outBuffer dst;
	size_t r = 1;
	int rc = 0;

	if (!z)
		return -ERR_NOMEM;
	ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 27);
	while (!rc && (src.pos < src.size || r)) {
		size_t before = src.pos;

		rc = sink_grow(out);
		if (rc)
			break;
		dst = (ZSTD_outBuffer){out->p, out->cap, out->n};
		r = ZSTD_decompressStream(z, &dst, &src);
		/* Neither reads nor writes: the input ends inside a frame. */
		if (ZSTD_isError(r) || (src.pos == before && dst.pos == out->n))
			rc = -ERR_DAMAGED;
		out->n = dst.pos;
	}
	ZSTD_freeDStream(z);
	return rc;
}

static const struct stream_kind {
	uint8_t n_magic, magic[6];
	int (*decode)(const uint8_t *in, size_t in_size, struct sink *out);
} stream_kinds[] = {
	{3, {0x1f, 0x8b, 8}, stream_gzip},	       /* RFC 1952 2.3.1 */
	{6, {0xfd, '7', 'z', 'X', 'Z', 0}, stream_xz}, /* xz-file-format 2.1.1.1 */
	{4, {0x28, 0xb5, 0x2f, 0xfd}, stream_zstd},    /* RFC 8878 3.1.1 */
};

static const struct stream_kind *kind_of(const uint8_t *in, size_t in_size)
{
	size_t i;

	for (i = 0; i < sizeof stream_kinds / sizeof *stream_kinds; i++)
		if (in_size >= stream_kinds[i].n_magic &&
		    !memcmp(in, stream_kinds[i].magic, stream_kinds[i].n_magic))
			return &stream_kinds[i];
	return NULL;
}

bool decompress_is_stream(const uint8_t *in, size_t in_size)
{
	return kind_of(in, in_size) != NULL;
}

int decompress_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size)
{
	const struct stream_kind *kind = kind_of(in, in_size);
	uint64_t limit = decompress_limit(in_size);
	struct sink out = {.max = limit < DECOMPRESS_STREAM_MAX_BYTES
					  ? (size_t)limit
					  : DECOMPRESS_STREAM_MAX_BYTES};
	int rc = kind ? kind->decode(in, in_size, &out) : -ERR_FORMAT;

	if (rc) {
		free(out.p);
		return rc;
	}
	*ret = out.p;
	*ret_size = out.n;
	return 0;
}
