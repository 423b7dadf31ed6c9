/* pieces.c - collects the ranges of a file with holes. */
#include "cut/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* Ranges closer than this become one: a row in the list takes more. */
enum { NEAR_BYTES = 48 };

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

void pieces_done(struct pieces *p)
{
	vec_done(&p->v);
	vec_done(&p->stubs);
	arena_done(&p->owned);
}

/* ---- in order ----------------------------------------------------------------------------- */

static bool is_own(const struct pieces *p, const struct bundle_range *r)
{
	return r->off < p->size && r->bytes == p->bytes + r->off;
}

/* Adds the part of r from `from` on to the end of the sorted ones; joins neighbours that are both
 * the file's own bytes. */
static void append(const struct pieces *p, struct bundle_range *out, size_t *n,
		   const struct bundle_range *r, uint64_t from)
{
	struct bundle_range *last = *n ? &out[*n - 1] : NULL;
	struct bundle_range cut = {from, r->off + r->size - from, r->bytes + (from - r->off)};

	if (last && is_own(p, last) && is_own(p, &cut) &&
	    cut.off - (last->off + last->size) <= NEAR_BYTES)
		last->size = cut.off + cut.size - last->off;
	else
		out[(*n)++] = cut;
}

/* Changed copies come before the file's own bytes at the same place, so that they win. */
static int by_offset(const void *a, const void *b)
{
	const struct bundle_range *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

int pieces_finish(struct pieces *p)
{
	struct bundle_range *out;
	uint64_t end = 0;
	size_t i, n = 0;

	if (p->nomem)
		return -1;
	out = malloc((p->v.n + 1) * sizeof *out);
	if (!out)
		return -1;
	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, by_offset);
	for (i = 0; i < p->v.n; i++) {
		const struct bundle_range *r = &p->v.v[i];

		if (r->off + r->size <= end)
			continue;
		append(p, out, &n, r, r->off > end ? r->off : end);
		end = r->off + r->size;
	}
	free(p->v.v);
	p->v.v = out;
	p->v.cap = p->v.n + 1;
	p->v.n = n;
	return 0;
}
