/* pack_strings.c - writes and reads strings of packed tables. */
#include "dwarf/pack_strings.h"

#include <endian.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/pages.h"
#include "base/vec.h"
#include "dwarf/packed.h"

/* A piece of the text is copied if it has at least NEAR bytes; pieces of FAR bytes are looked for
 * first. A record takes at most a third of the string, and has at most NEW_MAX new bytes in a row:
 * else the next string with these bytes would have nothing to copy from. */
enum {
	NEAR = 8,
	FAR = 32,
	HASH_BITS = 18,
	RECORD_PART = 3,
	NEW_MAX = (1 << STEP_NEW_BITS) - 1,
	COPY_MAX = (1 << STEP_COPY_BITS) - 1,
	OFF_MAX = (1 << STEP_OFF_BITS) - 1
};

/* ---- writing ----------------------------------------------------------------------------- */

static uint64_t word_at(const char *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return w;
}

static uint32_t near_hash(const char *p)
{
	return (uint32_t)(word_at(p) * 0x9e3779b97f4a7c15u >> (64 - HASH_BITS));
}

/* Hashes the two ends; the bytes between them are compared later. */
static uint32_t far_hash(const char *p)
{
	return (uint32_t)(hash_mix(word_at(p), word_at(p + FAR - 8)) >> (64 - HASH_BITS));
}

static void put_number(struct pack_bytes *out, uint64_t v, unsigned bytes)
{
	for (; bytes; bytes--, v >>= 8)
		out->v[out->n++] = (uint8_t)v;
}

static size_t common(const char *a, const char *b, size_t max)
{
	size_t n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

/* Finds the longest piece of the text that s begins with, of a string with `left` more bytes.
 * Returns its length; 0: none is long enough. Offset 0 of the text is an empty string, so that 0
 * can stand for none. */
static size_t find_piece(const struct pack_string_writer *w, const char *s, size_t left,
			 uint32_t *at)
{
	const char *text = (const char *)w->text.v;
	uint32_t near, far = left >= FAR ? w->far[far_hash(s)] : 0;
	size_t n = far ? common(s, text + far, left) : 0, n_near;

	*at = far;
	if (n >= FAR || left < NEAR)
		return n >= NEAR ? n : 0;
	near = w->near[near_hash(s)];
	n_near = near ? common(s, text + near, left) : 0;
	if (n_near > n) {
		*at = near;
		n = n_near;
	}
	return n >= NEAR ? n : 0;
}

/* Writes a step: the n_new bytes that end at s, and then n bytes of the text. */
static void put_step(struct pack_bytes *out, const char *s, size_t n_new, size_t n, uint32_t off)
{
	put_number(out,
		   n_new | (uint64_t)n << STEP_NEW_BITS |
			   (uint64_t)off << (STEP_NEW_BITS + STEP_COPY_BITS),
		   STEP_BYTES);
	memcpy(out->v + out->n, s - n_new, n_new);
	out->n += n_new;
}

/* Appends the string as a record, if that is short enough. The caller has reserved memory. */
static bool put_record(struct pack_string_writer *w, const char *s, size_t len)
{
	struct pack_bytes *out = &w->records;
	size_t begin = out->n, at = 0, new = 0, n;
	uint32_t piece;

	put_number(out, len, STEP_LEN_BYTES);
	for (; at < len; at += n) {
		n = find_piece(w, s + at, len - at, &piece);
		if (!n) {
			n = 1;
			if (++new > NEW_MAX)
				break;
			continue;
		}
		n = n < COPY_MAX ? n : COPY_MAX;
		put_step(out, s + at, new, n, piece);
		new = 0;
		if ((out->n - begin) * RECORD_PART > len)
			break;
	}
	if (at == len && new)
		put_step(out, s + at, new, 0, 0);
	if (at == len && (out->n - begin) * RECORD_PART <= len)
		return true;
	out->n = begin;
	return false;
}

static void put_text(struct pack_string_writer *w, const char *s, size_t len)
{
	uint32_t at = (uint32_t)w->text.n;
	size_t i;

	memcpy(w->text.v + at, s, len + 1);
	w->text.n += len + 1;
	for (i = 0; i + NEAR <= len && at + i <= OFF_MAX; i++) {
		w->near[near_hash(s + i)] = at + (uint32_t)i;
		if (i + FAR <= len)
			w->far[far_hash(s + i)] = at + (uint32_t)i;
	}
}

static int prepare(struct pack_string_writer *w)
{
	w->near = calloc((size_t)1 << HASH_BITS, sizeof *w->near);
	w->far = calloc((size_t)1 << HASH_BITS, sizeof *w->far);
	if (!w->near || !w->far || vec_reserve(&w->text, 1))
		return -ERR_NOMEM;
	w->text.v[w->text.n++] = 0;
	return 0;
}

int pack_string_add(struct pack_string_writer *w, const char *s, uint32_t *ref)
{
	size_t len;
	uint64_t key;
	uint32_t id;

	*ref = 0;
	if (!s)
		return 0;
	if (!w->far && prepare(w))
		return -ERR_NOMEM;
	len = strnlen(s, PACK_STRING_MAX);
	key = hash_mix(hash_secret(), hash_bytes(s, len));
	id = hash_get(&w->known, key);
	if (id == HASH_NONE || strcmp(w->strings.v[id], s)) {
		if (len == PACK_STRING_MAX ||
		    w->text.n + w->records.n > INT32_MAX - PACK_STRING_MAX)
			return 1;
		if (vec_reserve(&w->text, w->text.n + len + 1) ||
		    vec_reserve(&w->records, w->records.n + len + 4 * (STEP_BYTES + NEW_MAX)))
			return -ERR_NOMEM;
		id = (uint32_t)w->strings.n;
		*ref = (uint32_t)w->records.n << 1 | 1;
		if (!put_record(w, s, len)) {
			*ref = (uint32_t)w->text.n << 1;
			put_text(w, s, len);
		}
		if (vec_push(&w->strings, s) || vec_push(&w->refs, *ref) ||
		    hash_put(&w->known, key, id))
			return -ERR_NOMEM;
	}
	*ref = w->refs.v[id];
	return 0;
}

void pack_string_writer_done(struct pack_string_writer *w)
{
	vec_done(&w->text);
	vec_done(&w->records);
	vec_done(&w->strings);
	vec_done(&w->refs);
	hash_done(&w->known);
	free(w->near);
	free(w->far);
	*w = (struct pack_string_writer){0};
}

/* ---- reading ----------------------------------------------------------------------------- */

/* COPY_SPARE bytes are copied at once: most copies are not longer. Strings are put together in
 * chunks of memory, each twice as large as the one before. Large chunks are populated at once,
 * because page faults cost more than clearing pages. */
enum { COPY_SPARE = 64, CHUNK_MIN = 4 << 10, CHUNK_MANY = 64 << 10, CHUNK_MAX = 512 << 10 };
_Static_assert(COPY_SPARE <= (int)PACK_PAD, "what is read behind a part is there");

static const char *read_text(struct pack_file *f, uint32_t off)
{
	const struct pack_part_at *part = &f->h.part[PACK_TEXT];
	const char *s, *nul;

	if (off >= part->size)
		return NULL;
	/* The NUL is looked for in bytes that are not checked yet, but within the part. */
	s = (const char *)f->body + part->off + off;
	nul = memchr(s, 0, part->size - off);
	return nul && pack_is_good(f, part->off + off, (uint64_t)(nul - s) + 1) ? s : NULL;
}

/* Copies n bytes, and may write up to COPY_SPARE - 1 bytes after them. */
static inline void copy_some(char *to, const uint8_t *from, size_t n)
{
	size_t i = 0;

	do
		memcpy(to + i, from + i, COPY_SPARE);
	while ((i += COPY_SPARE) < n);
}

/* Executes steps until len bytes are made. Returns where the steps end; NULL if they are invalid.
 */
static const uint8_t *put_together(struct pack_file *f, const uint8_t *p, char *to, uint64_t len)
{
	const struct pack_part_at *text = &f->h.part[PACK_TEXT],
				  *records = &f->h.part[PACK_RECORDS];
	const uint8_t *end = f->body + records->off + records->size;
	uint64_t step, n_new, n, off;

	for (; len; len -= n) {
		if (p + STEP_BYTES > end)
			return NULL;
		memcpy(&step, p, sizeof step);
		step = le64toh(step);
		n_new = step & NEW_MAX;
		n = step >> STEP_NEW_BITS & COPY_MAX;
		off = step >> (STEP_NEW_BITS + STEP_COPY_BITS) & OFF_MAX;
		p += STEP_BYTES;
		if (n_new + n > len || !(n_new + n) || off + n > text->size)
			return NULL;
		/* This may copy too much; the next bytes overwrite it. */
		memcpy(to, p, NEW_MAX + 1);
		p += n_new;
		to += n_new;
		len -= n_new;
		if (n && !pack_is_good(f, text->off + off, n))
			return NULL;
		copy_some(to, f->body + text->off + off, n);
		to += n;
	}
	return p <= end ? p : NULL;
}

/* Returns memory for n bytes, and for those that copies may write after them. NULL when out of
 * memory. */
static char *string_room(struct pack_file *f, size_t n)
{
	size_t size = f->chunk_bytes * 2 < CHUNK_MIN   ? CHUNK_MIN
		      : f->chunk_bytes * 2 < CHUNK_MAX ? f->chunk_bytes * 2
						       : CHUNK_MAX;
	char *s;

	n += NEW_MAX + 1 + COPY_SPARE;
	if (n > f->chunk_left) {
		size = size < n ? n : size;
		s = malloc(size);
		if (!s || vec_push(&f->chunks, s)) {
			free(s);
			return NULL;
		}
		if (size >= CHUNK_MANY)
			pages_populate(s, size);
		f->chunk_bytes = f->chunk_left = size;
		f->chunk_next = s;
	}
	return f->chunk_next;
}

static const char *read_record(struct pack_file *f, uint32_t off)
{
	const struct pack_part_at *part = &f->h.part[PACK_RECORDS];
	const uint8_t *p = f->body + part->off + off, *end;
	uint64_t len;
	char *s;

	if (off + (uint64_t)STEP_LEN_BYTES > part->size)
		return NULL;
	len = pack_number(p, (1u << 8 * STEP_LEN_BYTES) - 1);
	if (len >= PACK_STRING_MAX || len >= f->budget)
		return NULL;
	f->budget -= len;
	s = string_room(f, len + 1);
	end = s ? put_together(f, p + STEP_LEN_BYTES, s, len) : NULL;
	/* Where the record ends is known only after reading it: so it is checked now, before the
	 * string is used. */
	if (!end || !pack_is_good(f, part->off + off, (uint64_t)(end - p)))
		return NULL;
	s[len] = 0;
	f->chunk_next += len + 1;
	f->chunk_left -= len + 1;
	return s;
}

const char *pack_string_read(struct pack_file *f, uint32_t ref)
{
	const char *s;

	if (!ref)
		return NULL;
	s = ref & 1 ? read_record(f, ref >> 1) : read_text(f, ref >> 1);
	f->damaged |= !s;
	return s;
}
