/* pieces.c - collects the ranges of a file with holes. */
#include "cut/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/sort.h"
#include "base/vec.h"
#include "modules/modules.h"

enum {
	/* Ranges closer than this become one: a row in the list takes more. */
	NEAR_BYTES = 48,
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

bool sparse_begin(struct sparse *s, struct pieces *p, uint64_t off, uint64_t size)
{
	*s = (struct sparse){.p = p, .off = off, .size = size};
	if (size > 2 * p->size - p->copied) { /* tables may share their names */
		pieces_keep(p, off, size);
		return false;
	}
	p->copied += size;
	return true;
}

void sparse_add(struct sparse *s, uint64_t at, const void *bytes, size_t n)
{
	struct bundle_range *last = s->runs.n ? &s->runs.v[s->runs.n - 1] : NULL;
	const uint64_t end = last ? last->off + last->size : 0;
	const uint8_t *from = bytes;
	size_t gap = 0;

	if (at < end) {
		const uint64_t known = end - at < n ? end - at : n;

		at = end;
		from += known;
		n -= (size_t)known;
	}
	if (!n)
		return;
	if (last && at - end <= NEAR_BYTES)
		gap = (size_t)(at - end);
	else if (vec_push(&s->runs, (struct bundle_range){at, 0, NULL}))
		goto nomem;
	if (vec_reserve(&s->bytes, s->bytes.n + gap + n))
		goto nomem;
	memset(s->bytes.v + s->bytes.n, 0, gap);
	memcpy(s->bytes.v + s->bytes.n + gap, from, n);
	s->bytes.n += gap + n;
	s->runs.v[s->runs.n - 1].size += gap + n;
	return;
nomem:
	s->p->nomem = true;
}

void sparse_put(struct sparse *s)
{
	uint8_t *at = s->bytes.v;
	size_t i;

	if (s->size && vec_push(&s->p->taken, (struct elf_range){s->off, s->off + s->size}))
		s->p->nomem = true;
	if (at && vec_push(&s->p->tables, at)) {
		s->p->nomem = true;
		free(at);
		s->runs.n = 0;
	}
	for (i = 0; i < s->runs.n && !s->p->nomem; at += s->runs.v[i++].size)
		pieces_put(s->p, s->off + s->runs.v[i].off, s->runs.v[i].size, at);
	vec_done(&s->runs);
}

void pieces_done(struct pieces *p)
{
	size_t i;

	vec_done(&p->v);
	vec_done(&p->stubs);
	vec_done(&p->taken);
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

static int by_start(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds the copies, sorts, and joins what overlaps. */
static int join_taken(struct pieces *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->v.n; i++)
		if (!is_own(p, &p->v.v[i]) &&
		    vec_push(&p->taken, (struct elf_range){p->v.v[i].off, end_of(&p->v.v[i])}))
			return -1;
	if (p->taken.n)
		qsort(p->taken.v, p->taken.n, sizeof *p->taken.v, by_start);
	for (i = 0; i < p->taken.n; i++)
		if (!n || p->taken.v[i].start > p->taken.v[n - 1].end)
			p->taken.v[n++] = p->taken.v[i];
		else if (p->taken.v[i].end > p->taken.v[n - 1].end)
			p->taken.v[n - 1].end = p->taken.v[i].end;
	p->taken.n = n;
	return 0;
}

/* Takes the parts out of the file's own bytes that stand in changed copies too: code at the start
 * of a file may be its header. */
static int yield_to_copies(struct pieces *p)
{
	VEC(struct bundle_range) own = {0}, all = {0};
	const struct elf_range *taken;
	size_t i, k, first = 0;
	int rc = join_taken(p);

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
	taken = p->taken.v;
	for (i = 0; i < own.n && !rc; i++) {
		struct bundle_range r = own.v[i];
		const uint64_t end = end_of(&r);

		while (first < p->taken.n && taken[first].end <= r.off)
			first++;
		for (k = first; k < p->taken.n && taken[k].start < end && !rc; k++) {
			r.size = taken[k].start > r.off ? taken[k].start - r.off : 0;
			rc = r.size ? vec_push(&all, r) : 0;
			r.off = taken[k].end > r.off ? taken[k].end : r.off;
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
