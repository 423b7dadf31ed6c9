/* hotspot_scopes.c - what the compiler has inlined where.
 *
 * Sources of truth: code/pcDesc.hpp, code/scopeDesc.cpp (a scope: its sender's offset, its method's
 * index, its bytecode index + 1), code/nmethod.hpp. */
#include <string.h>

#include "base/vec.h"
#include "runtimes/hotspot.h"

/* Limits, of one nmethod. */
enum { PCS_MAX = 1 << 16, SCOPES_BYTES_MAX = 4 << 20, SCOPES_MAX = 1 << 16, DEPTH_MAX = 256 };

/* The parts of an nmethod that are needed. */
struct parts {
	uint64_t metadata; /* address */
	size_t n_pcs, pc_bytes;
	uint8_t *pcs, *scopes; /* copies */
	size_t scopes_bytes;
	struct hash_table by_offset; /* of scopes in their bytes -> index */
	struct hash_table by_method; /* address -> index */
};

/* Until release 22 all is in the blob itself. */
static bool find_in_blob(struct hotspot *h, const struct hotspot_blob *b, struct parts *p,
			 uint64_t *pcs, uint64_t *scopes)
{
	uint32_t pcs_off, end, scopes_off, metadata;

	if (!hotspot_u32(h, b->at, AT_NM_PCS, &pcs_off) ||
	    !hotspot_u32(h, b->at, AT_NM_METADATA, &metadata) ||
	    !hotspot_u32(h, b->at, AT_NM_PCS_END, &end))
		return false;
	if (hotspot_u32(h, b->at, AT_NM_SCOPES_OFF, &scopes_off))
		*scopes = b->at + scopes_off;
	else if (!hotspot_u64(h, b->at, AT_NM_SCOPES, scopes))
		return false;
	*pcs = b->at + pcs_off;
	p->metadata = b->at + metadata;
	if (pcs_off > end || end > b->size || metadata > b->size || *scopes < b->at ||
	    *scopes > *pcs)
		return false;
	p->n_pcs = (end - pcs_off) / p->pc_bytes;
	p->scopes_bytes = (size_t)(*pcs - *scopes);
	return true;
}

/* Since release 25: the tables of places, then the scopes (and what may follow them) in immutable
 * data; the methods, after relocations, in mutable data. */
static bool find_outside(struct hotspot *h, const struct hotspot_blob *b, struct parts *p,
			 uint64_t *pcs, uint64_t *scopes)
{
	uint32_t pcs_off, scopes_off, size, relocations;
	uint64_t immutable, mutable;

	if (!hotspot_u64(h, b->at, AT_NM_IMMUTABLE, &immutable) ||
	    !hotspot_u64(h, b->at, AT_BLOB_MUTABLE, &mutable) ||
	    !hotspot_u32(h, b->at, AT_NM_PCS, &pcs_off) ||
	    !hotspot_u32(h, b->at, AT_NM_SCOPES_OFF, &scopes_off) ||
	    !hotspot_u32(h, b->at, AT_NM_IMMUTABLE_SIZE, &size) ||
	    !hotspot_u32(h, b->at, AT_BLOB_RELOCATION_SIZE, &relocations) || !immutable ||
	    !mutable || pcs_off > scopes_off || scopes_off > size || relocations > SCOPES_BYTES_MAX)
		return false;
	*pcs = immutable + pcs_off;
	*scopes = immutable + scopes_off;
	p->metadata = mutable + relocations;
	p->n_pcs = (scopes_off - pcs_off) / p->pc_bytes;
	p->scopes_bytes = size - scopes_off;
	return true;
}

static bool parts_find(struct hotspot *h, const struct hotspot_blob *b, struct parts *p,
		       uint64_t *pcs, uint64_t *scopes)
{
	return (hotspot_has(h, AT_NM_IMMUTABLE) ? find_outside(h, b, p, pcs, scopes)
						: find_in_blob(h, b, p, pcs, scopes)) &&
	       p->n_pcs <= PCS_MAX && p->scopes_bytes <= SCOPES_BYTES_MAX;
}

/* Adds a method once; UINT32_MAX: it is none. */
static uint32_t method_index(struct hotspot *h, struct parts *p, struct hotspot_scopes *s,
			     uint64_t method, bool *nomem)
{
	uint32_t i = hash_get(&p->by_method, method);
	const struct hotspot_method *m;

	if (i != HASH_NONE)
		return i;
	m = hotspot_method_at(h, method, nomem);
	if (!m)
		return UINT32_MAX;
	i = (uint32_t)s->methods.n;
	if (vec_push(&s->methods, (struct code_log_method){m->name, m->file}) ||
	    hash_put(&p->by_method, method, i)) {
		*nomem = true;
		return UINT32_MAX;
	}
	return i;
}

/* The scope at an offset: after those that it is inlined into, so that a chain cannot be a circle.
 * Returns 1 + its index; 0: it does not fit together. */
static uint32_t scope_at(struct hotspot *h, struct parts *p, struct hotspot_scopes *s, uint32_t off,
			 bool *nomem)
{
	struct {
		uint32_t off, method, bci;
	} chain[DEPTH_MAX];
	uint32_t n = 0, up = 0, found, i;

	for (; off; n++) {
		struct hotspot_numbers in;

		found = hash_get(&p->by_offset, off);
		if (found != HASH_NONE) {
			up = found + 1;
			break;
		}
		if (n == DEPTH_MAX || off >= p->scopes_bytes)
			return 0;
		in = hotspot_numbers(h, p->scopes + off, p->scopes_bytes - off);
		chain[n].off = off;
		off = hotspot_number(&in);
		chain[n].method = hotspot_number(&in);
		chain[n].bci = hotspot_number(&in);
		if (in.bad || !chain[n].method || off >= p->scopes_bytes)
			return 0;
	}
	while (n--) {
		struct code_log_scope scope = {.up = up};
		const struct hotspot_method *m;
		uint64_t method;

		if (s->scopes.n >= SCOPES_MAX ||
		    !remote_u64(&h->mem, p->metadata + 8ull * (chain[n].method - 1), &method))
			return 0;
		scope.method = method_index(h, p, s, method, nomem);
		if (scope.method == UINT32_MAX)
			return 0;
		m = hotspot_method_at(h, method, nomem);
		/* -1, the entry of a synchronized method, has the first line. */
		if (m)
			scope.line = hotspot_line(h, m, chain[n].bci ? chain[n].bci - 1 : 0);
		i = (uint32_t)s->scopes.n;
		if (vec_push(&s->scopes, scope) || hash_put(&p->by_offset, chain[n].off, i)) {
			*nomem = true;
			return 0;
		}
		up = i + 1;
	}
	return up;
}

static uint32_t at_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

/* The first and the last entry are sentinels, at -1 and beyond the end. */
static bool read_pcs(struct hotspot *h, const struct hotspot_blob *b, struct parts *p,
		     struct hotspot_scopes *s, bool *nomem)
{
	uint64_t last = 0;

	for (size_t i = 0; i < p->n_pcs; i++) {
		const uint8_t *row = p->pcs + i * p->pc_bytes;
		uint32_t off = at_u32(row + h->at[AT_PC_OFFSET]), scope;

		if (off >= b->end - b->begin)
			continue;
		scope = scope_at(h, p, s, at_u32(row + h->at[AT_PC_SCOPE]), nomem);
		if (!scope || off < last)
			return false;
		last = off;
		if (vec_push(&s->pcs, (struct code_log_pc){off, scope - 1})) {
			*nomem = true;
			return false;
		}
	}
	return true;
}

bool hotspot_scopes_read(struct hotspot *h, const struct hotspot_blob *b, struct hotspot_scopes *s,
			 bool *nomem)
{
	struct parts p = {.pc_bytes = (size_t)h->size[SIZE_PC]};
	uint64_t pcs, scopes;
	bool ok = false;

	*s = (struct hotspot_scopes){0};
	if (p.pc_bytes < 8 || p.pc_bytes > 64 || !hotspot_has(h, AT_PC_OFFSET) ||
	    !hotspot_has(h, AT_PC_SCOPE) || h->at[AT_PC_OFFSET] > p.pc_bytes - 4 ||
	    h->at[AT_PC_SCOPE] > p.pc_bytes - 4 || !parts_find(h, b, &p, &pcs, &scopes))
		return false;
	p.pcs = malloc(p.n_pcs * p.pc_bytes + 1);
	p.scopes = malloc(p.scopes_bytes + 1);
	*nomem |= !p.pcs || !p.scopes;
	if (p.pcs && p.scopes && remote_read(&h->mem, pcs, p.pcs, p.n_pcs * p.pc_bytes) &&
	    remote_read(&h->mem, scopes, p.scopes, p.scopes_bytes))
		ok = read_pcs(h, b, &p, s, nomem);
	free(p.pcs);
	free(p.scopes);
	hash_done(&p.by_offset);
	hash_done(&p.by_method);
	return ok;
}

void hotspot_scopes_done(struct hotspot_scopes *s)
{
	vec_done(&s->methods);
	vec_done(&s->scopes);
	vec_done(&s->pcs);
}
