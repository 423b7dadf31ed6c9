/* zstd_stream.c - decompresses zstd frames into blocks. */
#include "reader/zstd_stream.h"

#include <zstd.h>
#include <zstd_errors.h>

#include "base/err.h"

/* Records are compressed to about a tenth. Zeros are compressed to nearly nothing, but gigabytes of
 * them are of no use. */
#define EXPANSION_FREE	(1ull << 30)
#define EXPANSION_RATIO 1000

struct zstd_stream {
	ZSTD_DStream *zstd;
	struct splitter split;
	uint64_t n_in, n_out;
	bool broken; /* until a new frame begins */
};

int zstd_stream_new(struct zstd_stream **ret, bool swap, struct err *err)
{
	struct zstd_stream *z = calloc(1, sizeof *z);

	if (z)
		z->zstd = ZSTD_createDStream();
	if (!z || !z->zstd) {
		free(z);
		return err_nomem(err);
	}
	z->split.swap = swap;
	*ret = z;
	return 0;
}

void zstd_stream_free(struct zstd_stream *z, struct block_store *store)
{
	if (!z)
		return;
	splitter_done(&z->split, store);
	ZSTD_freeDStream(z->zstd);
	free(z);
}

struct splitter *zstd_stream_splitter(struct zstd_stream *z)
{
	return &z->split;
}

void zstd_stream_break(struct zstd_stream *z)
{
	z->broken = true;
}

static bool begins_frame(const struct zstd_input *in)
{
	static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	return in->n >= sizeof magic && !memcmp(in->p, magic, sizeof magic);
}

bool zstd_stream_begins_anew(struct zstd_stream *z, const struct zstd_input *in)
{
	if (!z->broken || !begins_frame(in))
		return false;
	ZSTD_DCtx_reset(z->zstd, ZSTD_reset_session_only);
	z->broken = false;
	splitter_abandon_rest(&z->split);
	return true;
}

static int damaged(struct zstd_stream *z, struct zstd_input *in, struct err *err, const char *why)
{
	z->broken = true;
	in->n = 0;
	return err_set(err, ERR_DAMAGED, NULL, "%s", why);
}

int zstd_stream_step(struct zstd_stream *z, struct block_store *store, struct zstd_input *in,
		     struct err *err)
{
	ZSTD_outBuffer out = {NULL, BLOCK_BYTES, 0};
	ZSTD_inBuffer input = {in->p, in->n, 0};
	struct block *b = z->split.block;
	size_t rc;

	if (z->broken)
		return damaged(z, in, err, "its beginning is missing");
	if (!b || b->n == BLOCK_BYTES) {
		int failed = splitter_roll(&z->split, store, NULL, err);

		if (failed)
			return failed;
		b = z->split.block;
	}
	out.dst = b->data;
	out.pos = b->n;
	rc = ZSTD_decompressStream(z->zstd, &out, &input);
	z->n_out += out.pos - b->n;
	z->n_in += input.pos;
	b->n = (uint32_t)out.pos;
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		return err_nomem(err);
	if (ZSTD_isError(rc))
		return damaged(z, in, err, ZSTD_getErrorName(rc));
	in->p += input.pos;
	in->n -= input.pos;
	if (z->n_out > EXPANSION_FREE && z->n_out / EXPANSION_RATIO > z->n_in)
		return err_set(err, ERR_LIMIT, NULL, "compressed data grows more than %d times",
			       EXPANSION_RATIO);
	/* If the block is full, zstd may hold more output. */
	return in->n || out.pos == BLOCK_BYTES;
}
