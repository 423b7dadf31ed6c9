/* decompress.c - decompresses sections of a known size, and whole files, with limits against
 * hostile input. */
#include "modules/decompress.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/err.h"
#include "base/pages.h"
#include "base/unpack.h"
#include "modules/igzip.h"

/* A watcher is called after this many bytes; each step costs a copy of the window, 32 KiB. */
enum { STEP_BYTES = 1 << 20 };

/* avail_in and avail_out are 32 bits wide in both libraries. */
static uint32_t in_step(size_t left)
{
	return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}

static uint32_t out_step(size_t left)
{
	return left < STEP_BYTES ? (uint32_t)left : STEP_BYTES;
}

/* Bytes after the stream are ignored. */
static int decompress_by_zlib(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
			      const struct elf_watch *watch)
{
	z_stream z = {.next_in = (uint8_t *)(uintptr_t)in};
	size_t done = 0;
	int rc = inflateInit(&z);

	if (rc != Z_OK)
		return rc == Z_MEM_ERROR ? -ERR_NOMEM : -ERR_DAMAGED;
	while (rc == Z_OK) {
		uint32_t step = out_step(out_size - done);

		z.avail_in = in_step(in_size - (size_t)(z.next_in - in));
		z.next_out = out + done;
		z.avail_out = step;
		rc = inflate(&z, Z_NO_FLUSH); /* Z_BUF_ERROR: nothing was read or written */
		done += step - z.avail_out;
		if (watch && (rc == Z_OK || rc == Z_STREAM_END))
			watch->grew(watch->arg, out, done, out_size);
	}
	inflateEnd(&z);
	if (rc == Z_MEM_ERROR)
		return -ERR_NOMEM;
	return rc == Z_STREAM_END && done == out_size ? 0 : -ERR_DAMAGED;
}

/* igzip is twice as fast as zlib and, unlike libdeflate, which is not faster, works in steps: what
 * was inflated can be used before the rest is. */
static int decompress_by_igzip(const struct igzip *lib, const uint8_t *in, size_t in_size,
			       uint8_t *out, size_t out_size, const struct elf_watch *watch)
{
	struct inflate_state *z = malloc(sizeof *z);
	size_t done = 0;
	bool ok;

	if (!z)
		return -ERR_NOMEM;
	lib->inflate_init(z);
	z->crc_flag = ISAL_ZLIB; /* header and checksum are checked */
	z->next_in = (uint8_t *)(uintptr_t)in;
	while (z->block_state != ISAL_BLOCK_FINISH) {
		uint32_t offered = in_step(in_size - (size_t)(z->next_in - in));
		uint32_t step = out_step(out_size - done);

		z->avail_in = offered;
		z->next_out = out + done;
		z->avail_out = step;
		if (lib->inflate(z) != ISAL_DECOMP_OK)
			break;
		done += step - z->avail_out;
		/* Nothing was read or written: the input ends early, or the output is full. */
		if (z->avail_in == offered && z->avail_out == step)
			break;
		if (watch)
			watch->grew(watch->arg, out, done, out_size);
	}
	ok = z->block_state == ISAL_BLOCK_FINISH && done == out_size;
	free(z);
	return ok ? 0 : -ERR_DAMAGED;
}

static int decompress_zlib(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size,
			   const struct elf_watch *watch)
{
	const struct igzip *lib = igzip_library();

	return lib ? decompress_by_igzip(lib, in, in_size, out, out_size, watch)
		   : decompress_by_zlib(in, in_size, out, out_size, watch);
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

/* ---- streams of unknown size -------------------------------------------------------------- */

struct sink {
	uint8_t *p;
	size_t n, cap, max;
};

/* Makes room for at least one more byte. */
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

/* A file, or a section, that is compressed as a whole. */
struct stream {
	const struct unpacker *unpacker;
	void *state;
	struct piece p;
	bool between; /* a member has ended; the bytes after it need not be another member */
	struct sink out;
};

/* Returns 1 at the end. */
static int stream_step(struct stream *s)
{
	const bool was_between = s->between;
	const size_t in = s->p.n_in, out = s->out.n;
	enum unpack_step did;
	int rc;

	if (was_between && !in)
		return 1;
	rc = sink_grow(&s->out);
	if (rc)
		return rc;
	s->p.out = s->out.p + out;
	s->p.n_out = s->out.cap - out;
	did = s->unpacker->step(s->state, &s->p, true);
	s->out.n = s->out.cap - s->p.n_out;
	s->between = did == STEP_END;
	if (did == STEP_NOMEM)
		return -ERR_NOMEM;
	if (did == STEP_DAMAGED || (s->p.n_in == in && s->out.n == out))
		return was_between ? 1 : -ERR_DAMAGED;
	return 0;
}

bool decompress_is_stream(const uint8_t *in, size_t in_size)
{
	return unpacker_find(in, in_size) != NULL;
}

int decompress_stream(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size)
{
	const uint64_t limit = decompress_limit(in_size);
	struct stream s = {
		.unpacker = unpacker_find(in, in_size),
		.p = {.in = in, .n_in = in_size},
		.out.max = limit < DECOMPRESS_STREAM_MAX_BYTES ? (size_t)limit
							       : DECOMPRESS_STREAM_MAX_BYTES,
	};
	int rc;

	if (!s.unpacker)
		return -ERR_FORMAT;
	s.state = s.unpacker->begin();
	rc = s.state ? 0 : -ERR_NOMEM;
	while (!rc)
		rc = stream_step(&s);
	if (s.state)
		s.unpacker->end(s.state);
	if (rc < 0) {
		free(s.out.p);
		return rc;
	}
	*ret = s.out.p;
	*ret_size = s.out.n;
	return 0;
}
