/* jit_frames.c - what a jitdump of ours says about frames: their size, what was inlined where. */
#include <stdlib.h>
#include <string.h>

#include "functions/jitdump.h"

/* Limits of one record. */
enum { METHODS_MAX = 1 << 16, SCOPES_MAX = 1 << 16, PCS_MAX = 1 << 16, FRAME_BYTES_MAX = 1 << 20 };

struct counts {
	uint32_t methods, scopes, pcs;
};

/* The names come last, so they are read first. */
static int read_names(struct jitdump *j, struct buf b, const struct counts *n, uint32_t *names,
		      bool *ok)
{
	buf_skip(&b, 12ull * n->scopes + 8ull * n->pcs);
	for (uint32_t i = 0; i < 2 * n->methods; i++) {
		const char *s = buf_cstr(&b);

		names[i] = s ? strtab_add_cstr(&j->strings, s) : 0;
		if (names[i] == STRTAB_FAILED)
			return -1;
	}
	*ok = buf_ok(&b);
	return 0;
}

static int read_scopes(struct jitdump *j, struct buf *b, const struct counts *n,
		       const uint32_t *names, bool *ok)
{
	for (uint32_t i = 0; i < n->scopes; i++) {
		struct jit_scope s = {.up = buf_u32(b)};
		uint32_t method = buf_u32(b);

		s.line = buf_u32(b);
		if (s.up > i || method >= n->methods) {
			*ok = false;
			return 0;
		}
		s.name = names[2 * method];
		s.file = names[2 * method + 1];
		if (vec_push(&j->scopes, s))
			return -1;
	}
	return 0;
}

static int read_pcs(struct jitdump *j, struct buf *b, const struct counts *n, bool *ok)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < n->pcs; i++) {
		struct jit_pc pc = {.end = buf_u32(b)};

		pc.scope = buf_u32(b);
		if (pc.end < last || pc.scope >= n->scopes) {
			*ok = false;
			return 0;
		}
		last = pc.end;
		if (vec_push(&j->pcs, pc))
			return -1;
	}
	return 0;
}

int jit_frame_read(struct jitdump *j, struct buf b, uint64_t *addr, uint64_t *method, uint32_t *ret)
{
	struct jit_frame f = {0};
	struct counts n;
	uint32_t *names;
	bool ok = false;
	int rc;

	*ret = 0;
	*addr = buf_u64(&b);
	f.kind = buf_u32(&b);
	f.frame_bytes = buf_u32(&b);
	f.complete_bytes = buf_u32(&b);
	n.methods = buf_u32(&b);
	n.scopes = buf_u32(&b);
	n.pcs = buf_u32(&b);
	*method = buf_u64(&b);
	if (!buf_ok(&b) || f.kind >= JIT_FRAME_KINDS || f.frame_bytes > FRAME_BYTES_MAX ||
	    f.frame_bytes % 8 || n.methods > METHODS_MAX || n.scopes > SCOPES_MAX ||
	    n.pcs > PCS_MAX || buf_left(&b) < 12ull * n.scopes + 8ull * n.pcs + 2ull * n.methods)
		return 0;
	names = calloc(2 * n.methods + 1, sizeof *names);
	if (!names)
		return -1;
	f.first_scope = (uint32_t)j->scopes.n;
	f.first_pc = (uint32_t)j->pcs.n;
	rc = read_names(j, b, &n, names, &ok);
	if (!rc && ok)
		rc = read_scopes(j, &b, &n, names, &ok);
	if (!rc && ok)
		rc = read_pcs(j, &b, &n, &ok);
	free(names);
	if (ok) {
		f.n_scopes = n.scopes;
		f.n_pcs = n.pcs;
	}
	if (rc || vec_push(&j->frames, f))
		return -1;
	*ret = (uint32_t)j->frames.n;
	return 0;
}

/* The first place that ends at or behind the offset. */
static const struct jit_pc *pc_find(const struct jitdump *j, const struct jit_frame *f,
				    uint64_t off)
{
	size_t lo = f->first_pc, hi = lo + f->n_pcs;
	const size_t end = hi;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->pcs.v[mid].end < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < end ? &j->pcs.v[lo] : NULL;
}

size_t jitdump_chain(const struct jitdump *j, const struct func *f, uint64_t ip,
		     struct jit_level *chain, size_t max)
{
	const struct jit_code *c = &j->codes.v[f->tag];
	const struct jit_frame *frame = c->frame ? &j->frames.v[c->frame - 1] : NULL;
	const struct jit_pc *pc = frame ? pc_find(j, frame, ip - f->start) : NULL;
	size_t n = 0;
	uint32_t at = pc ? pc->scope + 1 : 0;

	for (; at && n < max; n++) {
		const struct jit_scope *s = &j->scopes.v[frame->first_scope + at - 1];

		chain[n] = (struct jit_level){strtab_get(&j->strings, s->name),
					      strtab_get(&j->strings, s->file), s->line};
		at = s->up;
	}
	return n;
}

/* ---- bytecode ----------------------------------------------------------------------------- */

static int by_method(const void *pa, const void *pb)
{
	const struct jit_bytecode *a = pa, *b = pb;

	if (a->method != b->method)
		return a->method < b->method ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

void jit_bytecodes_finish(struct jitdump *j)
{
	if (j->bytecodes.n)
		qsort(j->bytecodes.v, j->bytecodes.n, sizeof *j->bytecodes.v, by_method);
}

bool jitdump_bytecode(const struct jitdump *j, uint64_t method, uint64_t time_ns, uint64_t *start,
		      uint64_t *end)
{
	const struct jit_bytecode key = {method, time_ns ? time_ns : UINT64_MAX,
					 .order = UINT32_MAX};
	size_t lo = 0, hi = j->bytecodes.n;
	const struct jit_bytecode *found;

	while (lo < hi) { /* the first behind it */
		size_t mid = lo + (hi - lo) / 2;

		if (by_method(&j->bytecodes.v[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && j->bytecodes.v[lo - 1].method == method)
		found = &j->bytecodes.v[lo - 1];
	else if (lo < j->bytecodes.n && j->bytecodes.v[lo].method == method)
		found = &j->bytecodes.v[lo];
	else
		return false;
	*start = found->range.start;
	*end = found->range.end;
	return found->is_named;
}
