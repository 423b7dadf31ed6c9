/* packed.c - one row per packer, one loop for all of them; lines on top. */
#include "input/packed.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { BUFFER = 1 << 17, XZ_MEMORY = 256 << 20 };

enum step { STEP_ON, STEP_END, STEP_DAMAGED };

struct piece {
	const uint8_t *in;
	size_t n_in;
	uint8_t *out;
	size_t n_out;
};

struct unpacker {
	uint8_t magic[6];
	uint8_t n_magic;
	void *(*begin)(void); /* NULL when out of memory */
	/* Uses input and fills output; both advance. Behind the end of a member another may follow.
	 */
	enum step (*step)(void *state, struct piece *p);
	void (*end)(void *state);
};

static void *plain_begin(void)
{
	static char none;

	return &none;
}

static enum step plain_step(void *state, struct piece *p)
{
	size_t n = p->n_in < p->n_out ? p->n_in : p->n_out;

	(void)state;
	memcpy(p->out, p->in, n);
	*p = (struct piece){p->in + n, p->n_in - n, p->out + n, p->n_out - n};
	return STEP_ON;
}

static void plain_end(void *state)
{
	(void)state;
}

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

static enum step gzip_step(void *state, struct piece *p)
{
	z_stream *z = state;
	int rc;

	z->next_in = (Bytef *)(uintptr_t)p->in;
	z->avail_in = (uInt)p->n_in;
	z->next_out = p->out;
	z->avail_out = (uInt)p->n_out;
	rc = inflate(z, Z_NO_FLUSH);
	*p = (struct piece){z->next_in, z->avail_in, z->next_out, z->avail_out};
	if (rc == Z_STREAM_END)
		inflateReset(z);
	return rc == Z_STREAM_END		 ? STEP_END
	       : rc == Z_OK || rc == Z_BUF_ERROR ? STEP_ON
						 : STEP_DAMAGED;
}

static void gzip_end(void *state)
{
	inflateEnd(state);
	free(state);
}

static void *xz_begin(void)
{
	static const lzma_stream zero = LZMA_STREAM_INIT;
	lzma_stream *z = malloc(sizeof *z);

	if (!z)
		return NULL;
	*z = zero;
	if (lzma_stream_decoder(z, XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static enum step xz_step(void *state, struct piece *p)
{
	lzma_stream *z = state;
	lzma_ret rc;

	z->next_in = p->in;
	z->avail_in = p->n_in;
	z->next_out = p->out;
	z->avail_out = p->n_out;
	rc = lzma_code(z, p->n_in ? LZMA_RUN : LZMA_FINISH);
	*p = (struct piece){z->next_in, z->avail_in, z->next_out, z->avail_out};
	return rc == LZMA_STREAM_END		       ? STEP_END
	       : rc == LZMA_OK || rc == LZMA_BUF_ERROR ? STEP_ON
						       : STEP_DAMAGED;
}

static void xz_end(void *state)
{
	lzma_end(state);
	free(state);
}

static void *zstd_begin(void)
{
	return ZSTD_createDStream();
}

static enum step zstd_step(void *state, struct piece *p)
{
	ZSTD_inBuffer in = {p->in, p->n_in, 0};
	ZSTD_outBuffer out = {p->out, p->n_out, 0};
	size_t rc = ZSTD_decompressStream(state, &out, &in);

	*p = (struct piece){p->in + in.pos, p->n_in - in.pos, p->out + out.pos, p->n_out - out.pos};
	return ZSTD_isError(rc) ? STEP_DAMAGED : rc == 0 ? STEP_END : STEP_ON;
}

static void zstd_end(void *state)
{
	ZSTD_freeDStream(state);
}

/* The last is for all other files. */
static const struct unpacker unpackers[] = {
	{{0x1f, 0x8b}, 2, gzip_begin, gzip_step, gzip_end},
	{{0xfd, '7', 'z', 'X', 'Z', 0}, 6, xz_begin, xz_step, xz_end},
	{{0x28, 0xb5, 0x2f, 0xfd}, 4, zstd_begin, zstd_step, zstd_end},
	{{0}, 0, plain_begin, plain_step, plain_end},
};

static const struct unpacker *unpacker_for(const uint8_t *head, size_t n)
{
	const struct unpacker *u = unpackers;

	while (u->n_magic && (n < u->n_magic || memcmp(head, u->magic, u->n_magic)))
		u++;
	return u;
}

/* Bytes of the file behind those that are not unpacked yet. */
static int refill(struct input_source *s, struct err *err)
{
	ssize_t n;

	memmove(s->in, s->in + s->in_at, s->in_n);
	s->in_at = 0;
	do
		n = read(s->fd, s->in + s->in_n, BUFFER - s->in_n);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(err, errno, s->name, "read");
	s->in_n += (size_t)n;
	s->ended = !n;
	return 0;
}

int input_open(struct input_source *s, const char *path, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");

	*s = (struct input_source){.name = is_stdin ? "standard input" : path};
	s->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return err_errno(err, errno, s->name, "open");
	s->in = malloc(BUFFER);
	s->out = malloc(BUFFER);
	if (!s->in || !s->out)
		return err_nomem(err);
	while (s->in_n < sizeof unpackers->magic && !s->ended)
		if (refill(s, err))
			return -(int)err->code;
	s->unpacker = unpacker_for(s->in, s->in_n);
	s->between = !s->unpacker->n_magic;
	s->state = s->unpacker->begin();
	return s->state ? 0 : err_nomem(err);
}

void input_close(struct input_source *s)
{
	if (s->state)
		s->unpacker->end(s->state);
	if (s->fd >= 0)
		close(s->fd);
	free(s->in);
	free(s->out);
	text_done(&s->text);
}

/* Some unpacked bytes, or the end. */
static int unpack(struct input_source *s, struct err *err)
{
	s->out_at = s->out_n = 0;
	while (!s->out_n && !s->damaged) {
		struct piece p;
		enum step step;
		size_t before;

		if (!s->in_n && !s->ended && refill(s, err))
			return -(int)err->code;
		before = s->in_n;
		p = (struct piece){s->in + s->in_at, s->in_n, s->out, BUFFER};
		step = s->unpacker->step(s->state, &p);
		s->in_at += before - p.n_in;
		s->in_n = p.n_in;
		s->out_n = BUFFER - p.n_out;
		if (step == STEP_END)
			s->between = true;
		else if (before != p.n_in)
			s->between = !s->unpacker->n_magic;
		s->damaged = step == STEP_DAMAGED;
		if (!s->out_n && s->ended && (!s->in_n || before == p.n_in)) {
			s->damaged |= !s->between;
			return 0;
		}
	}
	return 0;
}

ssize_t input_bytes(struct input_source *s, void *to, size_t n, struct err *err)
{
	if (s->out_at == s->out_n && unpack(s, err))
		return -(ssize_t)err->code;
	if (n > s->out_n - s->out_at)
		n = s->out_n - s->out_at;
	memcpy(to, s->out + s->out_at, n);
	s->out_at += n;
	return (ssize_t)n;
}

int input_line(struct input_source *s, char **line, size_t *n, struct err *err)
{
	const uint8_t *at, *end;
	size_t have, room;

	s->text.n = 0;
	do {
		if (s->out_at == s->out_n && unpack(s, err))
			return -(int)err->code;
		have = s->out_n - s->out_at;
		at = s->out + s->out_at;
		end = have ? memchr(at, '\n', have) : NULL;
		if (end)
			have = (size_t)(end - at);
		room = LINE_MAX_BYTES - s->text.n;
		text_add(&s->text, at, have < room ? have : room);
		s->out_at += have + (end != NULL);
	} while (!end && have);
	if (!end && !s->text.n)
		return 0;
	s->line++;
	while (s->text.n && s->text.s[s->text.n - 1] == '\r')
		s->text.n--;
	*n = s->text.n;
	text_char(&s->text, '\0');
	*line = s->text.s;
	return s->text.failed ? err_nomem(err) : 1;
}

/* ---- looking at the beginning ---------------------------------------------------------------- */

/* What comes first in a pipe, which stays in it. */
static size_t peek_pipe(int fd, uint8_t *to, size_t n)
{
	int copy[2];
	ssize_t got, all = 0;

	if (pipe2(copy, O_CLOEXEC))
		return 0;
	got = tee(fd, copy[1], n, 0);
	close(copy[1]);
	while (got > 0 && (got = read(copy[0], to + all, n - (size_t)all)) > 0)
		all += got;
	close(copy[0]);
	return (size_t)all;
}

static size_t peek_bytes(const char *path, uint8_t *to, size_t n)
{
	bool is_stdin = !strcmp(path, "-");
	struct stat st;
	ssize_t got = 0;
	off_t at;
	/* What has no size (a FIFO, a device) is read once, by its reader. */
	int fd = is_stdin				   ? STDIN_FILENO
		 : !stat(path, &st) && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC)
							   : -1;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	if (S_ISFIFO(st.st_mode))
		return peek_pipe(fd, to, n);
	at = is_stdin ? lseek(fd, 0, SEEK_CUR) : 0;
	if (S_ISREG(st.st_mode) && at >= 0)
		got = pread(fd, to, n, at);
	if (!is_stdin)
		close(fd);
	return got > 0 ? (size_t)got : 0;
}

size_t input_peek(const char *path, char *to, size_t n)
{
	uint8_t packed[1 << 14];
	size_t n_packed = peek_bytes(path, packed, sizeof packed);
	const struct unpacker *u = unpacker_for(packed, n_packed);
	struct piece p = {packed, n_packed, (uint8_t *)to, n};
	void *state = n_packed ? u->begin() : NULL;
	size_t before;

	while (state && p.n_in && p.n_out) {
		before = p.n_in + p.n_out;
		if (u->step(state, &p) != STEP_ON || p.n_in + p.n_out == before)
			break;
	}
	if (state)
		u->end(state);
	to[n - p.n_out] = '\0';
	return n - p.n_out;
}
