/* unpacked_lines.c - bytes of a file, decompressed, and lines of them. */
#include "input/unpacked_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"

enum { BUFFER = 1 << 17 };

/* Copies bytes that are not compressed. */
static enum unpack_step step(const struct input_source *s, struct piece *p)
{
	size_t n = p->n_in < p->n_out ? p->n_in : p->n_out;

	if (s->unpacker)
		return s->unpacker->step(s->state, p, s->ended && !p->n_in);
	memcpy(p->out, p->in, n);
	*p = (struct piece){p->in + n, p->n_in - n, p->out + n, p->n_out - n};
	return STEP_ON;
}

/* Appends bytes of the file to those that are not decompressed yet. */
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
	*s->bytes += (size_t)n;
	s->ended = !n;
	return 0;
}

int input_open(struct input_source *s, const char *path, uint64_t *bytes, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");

	*s = (struct input_source){.name = is_stdin ? "standard input" : path, .bytes = bytes};
	s->fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0)
		return err_errno(err, errno, s->name, "open");
	s->in = malloc(BUFFER);
	s->out = malloc(ENCODING_ROOM(BUFFER));
	if (!s->in || !s->out)
		return err_nomem(err);
	while (s->in_n < UNPACK_MAGIC_BYTES && !s->ended)
		if (refill(s, err))
			return -(int)err->code;
	s->unpacker = unpacker_find(s->in, s->in_n);
	s->between = !s->unpacker;
	s->state = s->unpacker ? s->unpacker->begin() : NULL;
	return s->unpacker && !s->state ? err_nomem(err) : 0;
}

void input_close(struct input_source *s)
{
	if (s->state)
		s->unpacker->end(s->state);
	if (s->fd >= 0)
		close(s->fd);
	free(s->in);
	free(s->out);
	free(s->raw);
	text_done(&s->text);
}

/* Makes UTF-8 of what was unpacked. */
static int decode(struct input_source *s, struct err *err)
{
	bool was_known = s->encoding.kind != ENCODING_UNKNOWN;
	size_t skip = was_known ? 0 : encoding_begin(&s->encoding, s->out, s->out_n);

	s->out_at = skip;
	if (s->encoding.kind == ENCODING_UTF8)
		return 0;
	if (!was_known) {
		s->raw = malloc(BUFFER);
		if (!s->raw)
			return err_nomem(err);
		memcpy(s->raw, s->out, s->out_n);
	}
	s->out_at = 0;
	s->out_n = encoding_convert(&s->encoding, s->raw + skip, s->out_n - skip, s->out);
	return 0;
}

/* Decompresses some bytes, or finds the end. */
static int unpack(struct input_source *s, struct err *err)
{
	s->out_at = s->out_n = 0;
	s->too_much =
		s->unpacked / UNPACKED_PER_BYTE > UNPACKED_MIN / UNPACKED_PER_BYTE + *s->bytes;
	while (s->out_at == s->out_n && !s->damaged && !s->too_much) {
		struct piece p;
		enum unpack_step did;
		size_t before;

		if (!s->in_n && !s->ended && refill(s, err))
			return -(int)err->code;
		before = s->in_n;
		p = (struct piece){s->in + s->in_at, s->in_n, s->raw ? s->raw : s->out, BUFFER};
		did = step(s, &p);
		s->in_at += before - p.n_in;
		s->in_n = p.n_in;
		s->out_n = BUFFER - p.n_out;
		s->out_at = 0;
		s->unpacked += s->unpacker ? s->out_n : 0;
		if (did == STEP_END)
			s->between = true;
		else if (before != p.n_in)
			s->between = !s->unpacker;
		if (did == STEP_NOMEM)
			return err_nomem(err);
		s->damaged = did == STEP_DAMAGED;
		if (!s->out_n && s->ended && (!s->in_n || before == p.n_in)) {
			s->damaged |= !s->between;
			return 0;
		}
		if (s->out_n && decode(s, err))
			return -ERR_NOMEM;
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

int input_rest(struct input_source *s, struct text *to, size_t max, const char *what,
	       struct err *err)
{
	const size_t step = 1 << 16;
	ssize_t n = 1;

	while (n) {
		if (to->n > max)
			return err_set(err, ERR_LIMIT, s->name, "%s of more than %zu MiB", what,
				       max >> 20);
		if (!text_reserve(to, step))
			return err_nomem(err);
		n = input_bytes(s, to->s + to->n, step, err);
		if (n < 0)
			return (int)n;
		to->n += (size_t)n;
	}
	return 0;
}

int input_look(struct input_source *s, char *to, size_t size, size_t *n, struct err *err)
{
	*n = 0;
	*to = '\0';
	if (s->out_at == s->out_n && unpack(s, err))
		return -(int)err->code;
	*n = s->out_n - s->out_at < size - 1 ? s->out_n - s->out_at : size - 1;
	memcpy(to, s->out + s->out_at, *n);
	to[*n] = '\0';
	return 0;
}

/* A line is a C string, so that a byte 0 would hide what follows it. */
static void replace_nuls(struct input_source *s)
{
	char *at = s->text.s, *end = at ? at + s->text.n : at;

	while (at < end && (at = memchr(at, '\0', (size_t)(end - at)))) {
		*at++ = '?';
		s->n_nuls++;
	}
}

int input_line(struct input_source *s, char **line, size_t *n, struct err *err)
{
	const uint8_t *at, *end;
	size_t have, room;
	bool is_cut = false;

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
		is_cut |= have > room;
	} while (!end && have);
	if (!end && !s->text.n)
		return 0;
	s->n_cut += is_cut;
	s->line++;
	while (s->text.n && s->text.s[s->text.n - 1] == '\r')
		s->text.n--;
	*n = s->text.n;
	replace_nuls(s);
	text_char(&s->text, '\0');
	*line = s->text.s;
	return s->text.failed ? err_nomem(err) : 1;
}

void input_note(struct input_result *r, const char *text, uint64_t n, bool is_loss)
{
	size_t i;

	for (i = 0; i < r->n_notes && r->notes[i].text != text; i++)
		;
	if (!n || i == INPUT_NOTES_MAX)
		return;
	r->notes[i].text = text;
	r->notes[i].n += n;
	r->notes[i].is_loss |= is_loss;
	r->n_notes = i < r->n_notes ? r->n_notes : i + 1;
}

int input_each_line(struct input_source *s, struct input_result *ret, input_line_fn *take,
		    void *reader, struct err *err)
{
	char *line;
	size_t n;
	int rc;

	while ((rc = input_line(s, &line, &n, err)) > 0) {
		rc = take(reader, line, n, err);
		if (rc < 0)
			break;
		if (rc)
			input_damaged(ret, s);
	}
	return rc;
}

/* ---- looking at the beginning ---------------------------------------------------------------- */

/* Reads the first bytes of a pipe without consuming them. */
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

bool input_is_fifo(const char *path)
{
	struct statfs fs;
	struct stat st;

	return !stat(path, &st) && S_ISFIFO(st.st_mode) &&
	       (statfs(path, &fs) || fs.f_type != PIPEFS_MAGIC);
}

/* May a file be opened twice? When a FIFO is closed its writer dies, a device has but one
 * beginning; a pipe of this process (/dev/stdin, the shell's <(command)) stays open. */
static bool can_reopen(const char *path)
{
	struct stat st;

	return !stat(path, &st) &&
	       (S_ISREG(st.st_mode) || (S_ISFIFO(st.st_mode) && !input_is_fifo(path)));
}

static size_t peek_bytes(const char *path, uint8_t *to, size_t n)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : can_reopen(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	size_t all = 0;
	ssize_t got;
	off_t at;

	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode)) {
		all = peek_pipe(fd, to, n);
	} else if (S_ISREG(st.st_mode)) {
		at = is_stdin ? lseek(fd, 0, SEEK_CUR) : 0;
		got = at >= 0 ? pread(fd, to, n, at) : 0;
		all = got > 0 ? (size_t)got : 0;
	}
	if (!is_stdin)
		close(fd);
	return all;
}

/* Unpacks as much as there is room for. Returns the number of bytes, or -1 when out of memory. */
static ssize_t unpack_head(uint8_t *packed, size_t n_packed, uint8_t *to, size_t n)
{
	struct input_source s = {.unpacker = unpacker_find(packed, n_packed)};
	struct piece p = {packed, n_packed, to, n};
	enum unpack_step did = STEP_ON;
	size_t before = 0;

	s.state = s.unpacker ? s.unpacker->begin() : NULL;
	if (s.unpacker && !s.state)
		return -1;
	while (did == STEP_ON && p.n_in && p.n_out && p.n_in + p.n_out != before) {
		before = p.n_in + p.n_out;
		did = step(&s, &p);
	}
	if (s.state)
		s.unpacker->end(s.state);
	return did == STEP_NOMEM ? -1 : (ssize_t)(n - p.n_out);
}

/* As text of UTF-8. */
static size_t convert_head(const uint8_t *raw, size_t n_raw, char *to, size_t n)
{
	struct text_encoding encoding = {0};
	size_t skip = encoding_begin(&encoding, raw, n_raw);
	/* What UTF-16 grows by must have room, too. */
	size_t room = encoding.kind == ENCODING_UTF8 ? n : n / 2;

	n_raw = n_raw - skip < room ? n_raw - skip : room;
	return n_raw ? encoding_convert(&encoding, raw + skip, n_raw, (uint8_t *)to) : 0;
}

ssize_t input_peek(const char *path, char *to, size_t n)
{
	uint8_t *packed = malloc(n), *raw = malloc(n);
	size_t n_packed = packed && raw ? peek_bytes(path, packed, n) : 0;
	ssize_t n_raw = packed && raw ? unpack_head(packed, n_packed, raw, n) : -1;

	n = n_raw > 0 ? convert_head(raw, (size_t)n_raw, to, n) : 0;
	to[n] = '\0';
	free(packed);
	free(raw);
	return n_raw < 0 ? n_raw : (ssize_t)n;
}
