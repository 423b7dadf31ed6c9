/* pieces.c - collects the ranges of a file with holes. */
#include "cut/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/sort.h"

enum {
	/* Ranges closer than this become one: a row in the list takes more. */
	NEAR_BYTES = 48,
	TABLE_BYTES = 256 << 10,
};

void pieces_put(struct pieces *p, uint64_t off, uint64_t size, const uint8_t *bytes)
{
	if (size && bytes && vec_push(&p->v, (struct bundle_range){off, size, bytes}))
		p->nomem = true;
}

void pieces_keep(struct pieces *p, uint64_t off, uint64_t size)
{
	if (off >= p->size)
		return;
	size = size < p->size - off ? size : p->size - off;
	pieces_put(p, off, size, p->bytes + off);
}

void pieces_keep_vaddr(struct pieces *p, uint64_t start, uint64_t end)
{
	size_t left;
	const uint8_t *at = start < end ? elf_image_at_vaddr(p->img, start, &left) : NULL;

	if (at)
		pieces_keep(p, (uint64_t)(at - p->bytes), end - start < left ? end - start : left);
}

uint8_t *pieces_copy(struct pieces *p, const uint8_t *bytes, uint64_t size)
{
	uint8_t *copy = bytes && size ? arena_alloc(&p->owned, (size_t)size) : NULL;

	if (copy)
		memcpy(copy, bytes, (size_t)size);
	else if (bytes && size)
		p->nomem = true;
	return copy;
}

uint8_t *pieces_zeros(struct pieces *p, uint64_t size)
{
	uint8_t *room;

	if (size > 2 * p->size - p->copied) /* tables may share their names */
		return NULL;
	p->copied += size;
	if (size < TABLE_BYTES) {
		room = arena_alloc(&p->owned, (size_t)size);
	} else {
		room = pages_alloc((size_t)size);
		if (room && vec_push(&p->tables, room)) {
			free(room);
			room = NULL;
		}
		if (room)
			memset(room, 0, (size_t)size);
	}
	p->nomem |= !room;
	return room;
}

void pieces_done(struct pieces *p)
{
	size_t i;

	vec_done(&p->v);
	vec_done(&p->stubs);
	for (i = 0; i < p->tables.n; i++)
		free(p->tables.v[i]);
	vec_done(&p->tables);
	arena_done(&p->owned);
}

/* ---- in order ----------------------------------------------------------------------------- */

static bool is_own(const struct pieces *p, const struct bundle_range *r)
{
	return r->off < p->size && r->bytes == p->bytes + r->off;
}

struct sorted {
	struct bundle_range *v;
	size_t n, cap;
}; /* a VEC() */

/* How many bytes from `at` on are zeros. */
static uint64_t zeros_at(const struct bundle_range *r, uint64_t at)
{
	uint64_t i = at, word;

	for (; i + sizeof word <= r->size; i += sizeof word) {
		memcpy(&word, r->bytes + i, sizeof word);
		if (word)
			break;
	}
	while (i < r->size && !r->bytes[i])
		i++;
	return i - at;
}

/* Most of a changed copy is zeros, as holes are: only what stands between long runs is added. */
static int append_copy(struct sorted *out, const struct bundle_range *r)
{
	uint64_t i = zeros_at(r, 0), from = i, zeros;

	if (r->size <= NEAR_BYTES) /* the file's own bytes around it are not joined */
		return vec_push(out, *r);
	while (i < r->size) {
		zeros = r->bytes[i] ? 0 : zeros_at(r, i);
		if (i + zeros < r->size && zeros <= NEAR_BYTES) {
			i += zeros + 1;
			continue;
		}
		if (vec_push(out, (struct bundle_range){r->off + from, i - from, r->bytes + from}))
			return -1;
		from = i += zeros;
	}
	return from < i ? vec_push(out,
				   (struct bundle_range){r->off + from, i - from, r->bytes + from})
			: 0;
}

/* Adds the part of r from `from` on to the end of the sorted ones; joins neighbours that are both
 * the file's own bytes. */
static int append(const struct pieces *p, struct sorted *out, const struct bundle_range *r,
		  uint64_t from)
{
	struct bundle_range *last = out->n ? &out->v[out->n - 1] : NULL;
	struct bundle_range cut = {from, r->off + r->size - from, r->bytes + (from - r->off)};

	if (!is_own(p, &cut))
		return append_copy(out, &cut);
	if (!last || !is_own(p, last) || cut.off - (last->off + last->size) > NEAR_BYTES)
		return vec_push(out, cut);
	last->size = cut.off + cut.size - last->off;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct bundle_range *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

static uint64_t end_of(const struct bundle_range *r)
{
	return r->off + r->size;
}

/* Takes the parts out of the file's own bytes that stand in changed copies too: code at the start
 * of a file may be its header. */
static int yield_to_copies(struct pieces *p)
{
	VEC(struct bundle_range) own = {0}, all = {0};
	size_t i, k, n, first = 0; /* n: copies */
	int rc = 0;

	for (i = 0; i < p->v.n && !rc; i++) {
		const struct bundle_range *r = &p->v.v[i];
		struct bundle_range *last = own.n ? &own.v[own.n - 1] : NULL;

		if (!is_own(p, r))
			rc = vec_push(&all, *r);
		else if (!last || r->off > end_of(last))
			rc = vec_push(&own, *r);
		else if (end_of(r) > end_of(last))
			last->size = end_of(r) - last->off;
	}
	n = all.n;
	for (i = 0; i < own.n && !rc; i++) {
		struct bundle_range r = own.v[i];
		const uint64_t end = end_of(&r);

		while (first < n && end_of(&all.v[first]) <= r.off)
			first++;
		for (k = first; k < n && all.v[k].off < end && !rc; k++) {
			r.size = all.v[k].off > r.off ? all.v[k].off - r.off : 0;
			rc = r.size ? vec_push(&all, r) : 0;
			r.off = end_of(&all.v[k]) > r.off ? end_of(&all.v[k]) : r.off;
			r.bytes = p->bytes + r.off;
		}
		r.size = end > r.off ? end - r.off : 0;
		if (!rc && r.size)
			rc = vec_push(&all, r);
	}
	vec_done(&own);
	vec_done(&p->v);
	p->v.v = all.v;
	p->v.n = all.n;
	p->v.cap = all.cap;
	return rc ? -1 : 0;
}

int pieces_finish(struct pieces *p)
{
	struct sorted out = {0};
	uint64_t end = 0;
	size_t i;
	int rc = 0;

	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, by_offset);
	if (p->nomem || yield_to_copies(p))
		return -1;
	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, by_offset);
	for (i = 0; i < p->v.n && !rc; i++) {
		const struct bundle_range *r = &p->v.v[i];

		if (r->off + r->size <= end)
			continue;
		rc = append(p, &out, r, r->off > end ? r->off : end);
		end = r->off + r->size;
	}
	vec_done(&p->v);
	p->v.v = out.v;
	p->v.n = out.n;
	p->v.cap = out.cap;
	return rc ? -1 : 0;
}
