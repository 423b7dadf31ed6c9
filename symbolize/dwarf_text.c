/* dwarf_text.c - writes and reads strings of packed tables. */
#include "symbolize/dwarf_text.h"

#include <stdlib.h>

#include "base/buf.h"

/* A piece is copied when it is as long as a near one; the long ones are looked for first. A record
 * takes at most a third of the string, and has no more new bytes at once: else the next string with
 * these bytes had nothing to copy from. */
enum { NEAR = 8, FAR = 32, HASH_BITS = 18, RECORD_PART = 3, NEW_MAX = 16, NUMBER_MAX = 10 };

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

/* The two ends: what is between them is seen when the piece is compared. */
static uint32_t far_hash(const char *p)
{
	return (uint32_t)(hash_mix(word_at(p), word_at(p + FAR - 8)) >> (64 - HASH_BITS));
}

static void put_number(struct pack_bytes *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		out->v[out->n++] = (uint8_t)(v | 0x80);
	out->v[out->n++] = (uint8_t)v;
}

static size_t common(const char *a, const char *b, size_t max)
{
	size_t n = 0;

	while (n < max && a[n] == b[n])
		n++;
	return n;
}

/* The longest piece of the text that a string with `left` more bytes goes on with; 0: none that is
 * worth it. Text offset 0 is an empty string, so that 0 can stand for nothing. */
static size_t find_piece(const struct text_writer *w, const char *s, size_t left, uint32_t *at)
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

static void put_new(struct pack_bytes *out, const char *s, size_t n)
{
	if (!n)
		return;
	put_number(out, n << 1);
	memcpy(out->v + out->n, s, n);
	out->n += n;
}

/* Appends the string as a record, when that pays. There is room for it. */
static bool put_record(struct text_writer *w, const char *s, size_t len)
{
	struct pack_bytes *out = &w->records;
	size_t begin = out->n, at = 0, new = 0, n;
	uint32_t piece;

	put_number(out, len);
	for (; at < len; at += n) {
		n = find_piece(w, s + at, len - at, &piece);
		if (!n) {
			n = 1;
			if (++new > NEW_MAX)
				break;
			continue;
		}
		put_new(out, s + at - new, new);
		new = 0;
		put_number(out, n << 1 | 1);
		put_number(out, piece);
		if ((out->n - begin) * RECORD_PART > len)
			break;
	}
	if (at == len)
		put_new(out, s + at - new, new);
	if (at == len && (out->n - begin) * RECORD_PART <= len)
		return true;
	out->n = begin;
	return false;
}

static void put_text(struct text_writer *w, const char *s, size_t len)
{
	uint32_t at = (uint32_t)w->text.n;
	size_t i;

	memcpy(w->text.v + at, s, len + 1);
	w->text.n += len + 1;
	for (i = 0; i + NEAR <= len; i++) {
		w->near[near_hash(s + i)] = at + (uint32_t)i;
		if (i + FAR <= len)
			w->far[far_hash(s + i)] = at + (uint32_t)i;
	}
}

static int prepare(struct text_writer *w)
{
	w->near = calloc((size_t)1 << HASH_BITS, sizeof *w->near);
	w->far = calloc((size_t)1 << HASH_BITS, sizeof *w->far);
	if (!w->near || !w->far || vec_reserve(&w->text, 1))
		return -ERR_NOMEM;
	w->text.v[w->text.n++] = 0;
	return 0;
}

int text_add(struct text_writer *w, const char *s, uint32_t *ref)
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
		    vec_reserve(&w->records, w->records.n + 2 * len + 4 * (size_t)NUMBER_MAX))
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

void text_writer_done(struct text_writer *w)
{
	vec_done(&w->text);
	vec_done(&w->records);
	vec_done(&w->strings);
	vec_done(&w->refs);
	hash_done(&w->known);
	free(w->near);
	free(w->far);
	*w = (struct text_writer){0};
}

/* ---- reading ----------------------------------------------------------------------------- */

static const char *read_text(struct pack_file *f, uint32_t off)
{
	const struct pack_part_at *part = &f->h.part[PACK_TEXT];
	const char *s, *nul;

	if (off >= part->size)
		return NULL;
	/* Looked for in bytes that are not checked yet, in the part all the same. */
	s = (const char *)f->body + part->off + off;
	nul = memchr(s, 0, part->size - off);
	return nul ? (const char *)dwarf_pack_bytes(f, PACK_TEXT, off, (uint64_t)(nul - s) + 1)
		   : NULL;
}

/* Appends pieces until there are len bytes. */
static bool put_together(struct pack_file *f, struct buf *b, char *to, uint64_t len)
{
	uint64_t n, head;
	const uint8_t *from;

	for (; len; len -= n, to += n) {
		head = buf_uleb(b);
		n = head >> 1;
		if (!n || n > len)
			return false;
		from = head & 1 ? dwarf_pack_bytes(f, PACK_TEXT, buf_uleb(b), n) : buf_take(b, n);
		if (!from)
			return false;
		memcpy(to, from, n);
	}
	return true;
}

static const char *read_record(struct pack_file *f, uint32_t off)
{
	const struct pack_part_at *part = &f->h.part[PACK_RECORDS];
	struct buf b = buf_make(f->body + part->off, part->size, 0, false);
	uint64_t len;
	char *s;

	buf_seek(&b, off);
	len = buf_uleb(&b);
	if (!buf_ok(&b) || len >= PACK_STRING_MAX || len >= f->budget)
		return NULL;
	f->budget -= len;
	s = arena_alloc(&f->strings, len + 1);
	/* Where the record ends is seen when it is read: checked then, before it is believed. */
	if (!s || !put_together(f, &b, s, len) ||
	    !dwarf_pack_bytes(f, PACK_RECORDS, off, buf_off(&b) - off))
		return NULL;
	return s;
}

const char *text_read(struct pack_file *f, uint32_t ref)
{
	const char *s;

	if (!ref)
		return NULL;
	s = ref & 1 ? read_record(f, ref >> 1) : read_text(f, ref >> 1);
	f->damaged |= !s;
	return s;
}
