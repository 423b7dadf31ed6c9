/* param_pack.c - writes what is known of the parameters at some addresses. */
#include "dwarf/param_pack.h"
#include "dwarf/params.h"

#include <string.h>

#include "base/err.h"

enum { TYPE_DEPTH_MAX = 64 };

struct packing {
	struct dwarf_packed_params *out, types, sites;
	struct hash_table known; /* address of a type -> its number */
	uint32_t n_types;
	uint64_t n_sites;
	bool failed;
};

static void put(struct packing *k, struct dwarf_packed_params *to, const void *v, size_t n)
{
	if (vec_reserve(to, to->n + n)) {
		k->failed = true;
		return;
	}
	if (n)
		memcpy(to->v + to->n, v, n);
	to->n += n;
}

static void put_uleb(struct packing *k, struct dwarf_packed_params *to, uint64_t v)
{
	do {
		const uint8_t c = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

		put(k, to, &c, 1);
		v >>= 7;
	} while (v);
}

static void put_sleb(struct packing *k, struct dwarf_packed_params *to, int64_t v)
{
	bool more = true;

	while (more) {
		uint8_t c = v & 0x7f;

		v >>= 7;
		more = !((!v && !(c & 0x40)) || (v == -1 && c & 0x40));
		c |= more ? 0x80 : 0;
		put(k, to, &c, 1);
	}
}

static void put_text(struct packing *k, struct dwarf_packed_params *to, const char *s)
{
	put_uleb(k, to, s != NULL);
	if (s)
		put(k, to, s, strlen(s) + 1);
}

static void put_expr(struct packing *k, struct dwarf_packed_params *to, const struct dwarf_expr *e)
{
	put_uleb(k, to, e->code ? (uint64_t)e->n + 1 : 0);
	if (e->code)
		put(k, to, e->code, e->n);
}

/* ---- types ---------------------------------------------------------------------------------- */

static void put_type(struct packing *k, const struct dwarf_type *t, const uint64_t *members)
{
	size_t i;

	put_uleb(k, &k->types, t->kind);
	put_uleb(k, &k->types, (t->is_signed ? TYPE_SIGNED : 0) | (t->to_text ? TYPE_TO_TEXT : 0));
	put_uleb(k, &k->types, t->bytes);
	put_text(k, &k->types, t->name);
	put_uleb(k, &k->types, t->n_enumerators);
	for (i = 0; i < t->n_enumerators; i++) {
		put_text(k, &k->types, t->enumerators[i].name);
		put_sleb(k, &k->types, t->enumerators[i].value);
	}
	put_uleb(k, &k->types, t->n_members);
	for (i = 0; i < t->n_members; i++) {
		put_text(k, &k->types, t->members[i].name);
		put_uleb(k, &k->types, t->members[i].off);
		put_uleb(k, &k->types, members[i]);
		put_uleb(k, &k->types, t->members[i].is_base);
		put_uleb(k, &k->types, t->members[i].bits);
		put_uleb(k, &k->types, t->members[i].bit_off);
	}
}

/* Its reference; those that it refers to are written before it. */
static uint64_t add_type(struct packing *k, const struct dwarf_type *t, unsigned depth)
{
	const uint32_t known = t ? hash_get(&k->known, (uintptr_t)t) : HASH_NONE;
	VEC(uint64_t) members = {0};
	size_t i;

	if (!t || k->failed || depth > TYPE_DEPTH_MAX)
		return 0;
	if (known != HASH_NONE)
		return (uint64_t)known + 1;
	for (i = 0; i < t->n_members; i++)
		if (vec_push(&members, add_type(k, t->members[i].type, depth + 1)))
			k->failed = true;
	if (!k->failed)
		put_type(k, t, members.v);
	vec_done(&members);
	if (hash_put(&k->known, (uintptr_t)t, k->n_types))
		k->failed = true;
	return (uint64_t)++k->n_types;
}

/* ---- sites ---------------------------------------------------------------------------------- */

static void put_param(struct packing *k, const struct dwarf_param *p)
{
	struct dwarf_packed_params *to = &k->sites;

	put_text(k, to, p->name);
	put_uleb(k, to, add_type(k, p->type, 0));
	put_expr(k, to, &p->where);
	put_uleb(k, to,
		 (p->is_list ? PARAM_IS_LIST : 0) | (p->is_kept ? PARAM_IS_KEPT : 0) |
			 (p->is_result ? PARAM_IS_RESULT : 0) |
			 (p->has_value ? PARAM_HAS_VALUE : 0) |
			 (p->has_entry_reg ? PARAM_HAS_REGISTER : 0));
	put_uleb(k, to, p->value);
	put_uleb(k, to, p->entry_reg);
}

static unsigned flags_of(const struct dwarf_site *s)
{
	return (s->has_result ? SITE_HAS_RESULT : 0) | (s->is_result_told ? SITE_RESULT_TOLD : 0) |
	       (s->is_not_called_so ? SITE_NOT_CALLED_SO : 0) |
	       (s->is_by_compiler_of_c ? SITE_BY_C : 0) |
	       (s->is_unoptimized ? SITE_UNOPTIMIZED : 0) | (s->is_untracked ? SITE_UNTRACKED : 0) |
	       (s->keeps_result ? SITE_KEEPS_RESULT : 0) | (s->is_by_gcc ? SITE_BY_GCC : 0);
}

static void put_site(struct packing *k, uint64_t vaddr, const struct dwarf_site *s)
{
	struct dwarf_packed_params *to = &k->sites;
	size_t i, m;

	put_uleb(k, to, vaddr);
	put_uleb(k, to, s->address_bytes);
	put_uleb(k, to, s->entry);
	put_uleb(k, to, s->body);
	put_text(k, to, s->name);
	put_uleb(k, to, flags_of(s));
	put_uleb(k, to, add_type(k, s->result, 0));
	put_expr(k, to, &s->frame_base);
	put_uleb(k, to, s->n);
	for (i = 0; i < s->n; i++) {
		put_uleb(k, to, s->levels[i].n);
		for (m = 0; m < s->levels[i].n; m++)
			put_param(k, &s->levels[i].v[m]);
	}
	k->n_sites++;
}

int dwarf_params_pack(struct dwarf_params *p, const uint64_t *vaddrs, size_t n,
		      struct dwarf_packed_params *ret)
{
	struct packing k = {.out = ret};
	const struct dwarf_site *site;
	size_t i;

	for (i = 0; i < n && !k.failed; i++) {
		k.failed = dwarf_params_at(p, vaddrs[i], &site) != 0;
		if (!k.failed && site)
			put_site(&k, vaddrs[i], site);
	}
	if (k.n_sites) {
		put_uleb(&k, ret, PARAM_PACK_VERSION);
		put_uleb(&k, ret, k.n_types);
		put(&k, ret, k.types.v, k.types.n);
		put_uleb(&k, ret, k.n_sites);
		put(&k, ret, k.sites.v, k.sites.n);
	}
	vec_done(&k.types);
	vec_done(&k.sites);
	hash_done(&k.known);
	return k.failed ? -ERR_NOMEM : 0;
}
