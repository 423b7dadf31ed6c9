/* unwrap.c - one row per packer, one loop for all of them. */
#include "reader/unwrap.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Recordings pack to a tenth; zeros pack to nothing, but nobody needs gigabytes of them. */
#define EXPANSION_FREE	(1ull << 30)
#define EXPANSION_RATIO 1000

/* xz may ask for this much memory; its own highest preset takes 65 MiB. */
#define XZ_MEMORY (256ull << 20)

enum { CHUNK = 1 << 18 };

struct piece {
	const uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
};

/* What a step came to. At the end of a member another may follow. */
enum step { STEP_ON, STEP_END, STEP_DAMAGED, STEP_NOMEM };

struct unpacker {
	uint8_t magic[6];
	uint8_t n_magic;
	/* NULL when out of memory. */
	void *(*begin)(void);
	/* Uses input and fills output; both advance. */
	enum step (*step)(void *state, struct piece *p, bool last);
	void (*end)(void *state);
};

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

static enum step gzip_step(void *state, struct piece *p, bool last)
{
	z_stream *z = state;
	int rc;

	(void)last;
	z->next_in = (Bytef *)(uintptr_t)p->in;
	z->avail_in = (uInt)p->n_in;
	z->next_out = p->out;
	z->avail_out = (uInt)p->n_out;
	rc = inflate(z, Z_NO_FLUSH);
	p->in = z->next_in;
	p->n_in = z->avail_in;
	p->out = z->next_out;
	p->n_out = z->avail_out;
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

static enum step xz_step(void *state, struct piece *p, bool last)
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

static enum step zstd_step(void *state, struct piece *p, bool last)
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

/* ------------------------------------------------------------------------------------------ */

static const struct unpacker unpackers[] = {
	{{0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
};

struct unwrapping {
	const struct unpacker *unpacker;
	void *state;
	struct source *source;
	struct piece p;
	uint8_t *in, *out; /* CHUNK each */
	int fd;
	uint64_t n_in, n_out;
	bool eof, between; /* between members */
	const char *why;
};

static int refill(struct unwrapping *u, struct err *err)
{
	ssize_t n = source_read(u->source, u->in, CHUNK, err);

	if (n < 0)
		return (int)n;
	u->p.in = u->in;
	u->p.n_in = (size_t)n;
	u->n_in += (uint64_t)n;
	u->eof = !n;
	return 0;
}

static int flush(struct unwrapping *u, struct err *err)
{
	size_t n = CHUNK - u->p.n_out;

	u->n_out += n;
	u->p.out = u->out;
	u->p.n_out = CHUNK;
	if (u->n_out > EXPANSION_FREE && u->n_out / EXPANSION_RATIO > u->n_in)
		return err_set(err, ERR_LIMIT, u->source->name, "grows more than %d times",
			       EXPANSION_RATIO);
	return tempfile_append(u->fd, u->out, n, err);
}

/* One step: more input, a piece of output, or the end (1). */
static int unwrap_step(struct unwrapping *u, struct err *err)
{
	const struct piece before = u->p;
	const bool was_between = u->between;
	enum step did;

	if (!u->p.n_in && !u->eof)
		return refill(u, err);
	if (!u->p.n_in && u->between)
		return 1;
	did = u->unpacker->step(u->state, &u->p, u->eof);
	u->between = did == STEP_END;
	if (did == STEP_NOMEM)
		return err_nomem(err);
	if (did == STEP_DAMAGED) {
		/* What follows a complete member need not be another. */
		if (!was_between)
			u->why = "the packed file is damaged; "
				 "what came before the damage is used";
		return 1;
	}
	if (u->eof && u->p.n_out == before.n_out) {
		if (!u->between)
			u->why = "the packed file is cut off";
		return 1;
	}
	return u->p.n_out ? 0 : flush(u, err);
}

static int unwrap_all(struct unwrapping *u, struct err *err)
{
	int rc;

	u->in = malloc(CHUNK);
	u->out = malloc(CHUNK);
	u->state = u->unpacker->begin();
	if (!u->in || !u->out || !u->state)
		return err_nomem(err);
	u->p = (struct piece){u->in, 0, u->out, CHUNK};
	while (!(rc = unwrap_step(u, err)))
		;
	return rc < 0 ? rc : flush(u, err);
}

int source_unwrap(struct source *s, const char **why, struct err *err)
{
	ssize_t n = source_peek(s, sizeof unpackers->magic, err);
	struct unwrapping u = {.source = s, .fd = -1};
	int rc;

	*why = NULL;
	if (n < 0)
		return (int)n;
	for (size_t i = 0; i < sizeof unpackers / sizeof *unpackers; i++)
		if (n >= unpackers[i].n_magic &&
		    !memcmp(s->head, unpackers[i].magic, unpackers[i].n_magic))
			u.unpacker = &unpackers[i];
	if (!u.unpacker)
		return 0;
	u.fd = tempfile_open(err);
	if (u.fd < 0)
		return u.fd;
	rc = unwrap_all(&u, err);
	free(u.in);
	free(u.out);
	if (u.state)
		u.unpacker->end(u.state);
	if (rc) {
		close(u.fd);
		return rc;
	}
	source_replace(s, u.fd, u.n_out);
	*why = u.why;
	return 0;
}
