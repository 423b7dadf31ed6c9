/* code_same.c - instruction by instruction. */
#include <elf.h>

#include "base/text.h"
#include "regress/code.h"
#include "unwind/unwind.h"

enum {
	DEPTH_MAX = 16, /* of pointers to what has no name; what lies deeper is not the same */
	STUB_BYTES = 16,
	PADDINGS_MAX = 256, /* of a function; one with more is not the same */
};

/* Padding within a function, run by run. */
struct paddings {
	size_t n;
	struct {
		uint64_t at, bytes, before; /* offset; before: bytes of all earlier ones */
	} v[PADDINGS_MAX];
};

struct pair {
	const struct code_image *a, *b;
};

/* A reference of an instruction of f in a, and the reference of the corresponding instruction of g
 * in b. */
struct reference {
	const struct code_symbol *f, *g;
	const struct paddings *in_f, *in_g;
	uint64_t va, vb; /* what is named */
	uint8_t loads;	 /* bytes; 0: its address is taken */
	bool is_jump;
};

/* ---- names of addresses -------------------------------------------------------------------------
 */

static bool same_symbol(const struct code_symbol *x, const struct code_symbol *y)
{
	return !strcmp(x->name, y->name) && x->rank == y->rank;
}

/* Do both addresses have symbols of the same name? */
static bool same_name(const struct pair *p, uint64_t va, uint64_t vb)
{
	const struct code_symbol *x = code_symbol_at(p->a, va), *y = code_symbol_at(p->b, vb);

	return x && y && same_symbol(x, y) && va - x->start == vb - y->start;
}

static bool same_anonymous(const struct pair *p, uint64_t va, uint64_t vb, unsigned depth);

/* Returns 1 if the dynamic linker writes the same value to both places, 0 if not, -1 if it writes
 * to neither. What has a name is compared by itself (code_compare_all). */
static int same_slot_at(const struct pair *p, uint64_t va, uint64_t vb, unsigned depth)
{
	const struct code_slot *x = code_slot_at(p->a, va), *y = code_slot_at(p->b, vb);

	if (!x && !y)
		return -1;
	if (!x || !y || !x->name != !y->name)
		return 0;
	if (x->name)
		return !strcmp(x->name, y->name) && x->addend == y->addend;
	if (code_symbol_at(p->a, x->addend) || code_symbol_at(p->b, y->addend))
		return same_name(p, x->addend, y->addend);
	return same_anonymous(p, x->addend, y->addend, depth);
}

static int same_slot(const struct pair *p, uint64_t va, uint64_t vb)
{
	return same_slot_at(p, va, vb, 0);
}

static const uint8_t *bytes_at(const struct code_image *c, uint64_t vaddr, uint64_t size)
{
	size_t left;
	const uint8_t *at = elf_image_at_vaddr(c->img, vaddr, &left);

	return at && left >= size ? at : NULL;
}

/* ---- padding ------------------------------------------------------------------------------------
 */

static bool find_paddings(struct paddings *p, const uint8_t *code, uint64_t size)
{
	struct code_reference r;
	uint64_t at, sum = 0;

	p->n = 0;
	for (at = 0; at < size; at += r.bytes) {
		if (!code_reference_read(code + at, size - at, &r))
			return false;
		if (!code_is_padding(code + at, r.bytes))
			continue;
		if (!p->n || p->v[p->n - 1].at + p->v[p->n - 1].bytes != at) {
			if (p->n == PADDINGS_MAX)
				return false;
			p->v[p->n].at = at;
			p->v[p->n].bytes = 0;
			p->v[p->n++].before = sum;
		}
		p->v[p->n - 1].bytes += r.bytes;
		sum += r.bytes;
	}
	return true;
}

/* The offset in the function without the padding before it. */
static uint64_t without_padding(const struct paddings *p, uint64_t off)
{
	size_t lo = 0, hi = p->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->v[mid].at <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return off;
	lo--;
	if (off - p->v[lo].at < p->v[lo].bytes)
		return p->v[lo].at - p->v[lo].before;
	return off - p->v[lo].before - p->v[lo].bytes;
}

/* The offset after the padding, if there is padding at `off`. */
static uint64_t skip_padding(const struct paddings *p, uint64_t off, size_t *next)
{
	if (*next == p->n || p->v[*next].at != off)
		return off;
	return off + p->v[(*next)++].bytes;
}

/* Are these two offsets the same place of the two functions? */
static bool same_offset(const struct reference *r, uint64_t a, uint64_t b)
{
	return without_padding(r->in_f, a) == without_padding(r->in_g, b);
}

/* ---- data ---------------------------------------------------------------------------------------
 */

static bool is_fixed(const struct pair *p)
{
	return elf_image_type(p->a->img) == ET_EXEC && elf_image_type(p->b->img) == ET_EXEC;
}

/* Do two words that no relocation is for stand for the same: equal numbers, or, where addresses are
 * fixed, addresses of the same thing? */
static bool same_word(const struct pair *p, const uint8_t *a, const uint8_t *b, unsigned depth)
{
	uint64_t x, y;

	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	if (!is_fixed(p) || !code_extent(p->a, x))
		return x == y;
	if (code_symbol_at(p->a, x) || code_symbol_at(p->b, y))
		return same_name(p, x, y);
	return same_anonymous(p, x, y, depth);
}

/* Compares word by word: equal values, or addresses of the same thing. Bytes that are not in the
 * file are zeros. */
static bool same_words(const struct pair *p, uint64_t va, uint64_t vb, uint64_t size,
		       unsigned depth)
{
	const uint8_t *a = bytes_at(p->a, va, size), *b = bytes_at(p->b, vb, size);
	size_t slots = code_slots_in(p->a, va, size), seen = 0;
	uint64_t i;

	if (!a != !b || slots != code_slots_in(p->b, vb, size))
		return false;
	if (!slots && (!a || (!is_fixed(p) && !memcmp(a, b, size))))
		return true;
	for (i = 0; i < size; i += 8) {
		uint64_t n = size - i < 8 ? size - i : 8;
		int slot = n == 8 ? same_slot_at(p, va + i, vb + i, depth) : -1;

		if (!slot)
			return false;
		seen += slot > 0;
		if (slot > 0 || !a)
			continue;
		if (n < 8 ? memcmp(a + i, b + i, n) : !same_word(p, a + i, b + i, depth))
			return false;
	}
	/* Others are not where words begin. */
	return seen == slots;
}

/* Are the bytes from `from` on zeros, as between things that are aligned? */
static bool is_zero(const uint8_t *v, uint64_t from, uint64_t n)
{
	for (; from < n && !v[from]; from++)
		;
	return from >= n;
}

/* Compares what has no name (strings, tables, constants), up to where the next thing begins that
 * something refers to. */
static bool same_anonymous(const struct pair *p, uint64_t va, uint64_t vb, unsigned depth)
{
	uint64_t na = code_extent(p->a, va), nb = code_extent(p->b, vb), n = na < nb ? na : nb;
	const uint8_t *a = bytes_at(p->a, va, na), *b = bytes_at(p->b, vb, nb);

	if (!n || depth >= DEPTH_MAX || !a || !b)
		return false;
	if (!is_zero(a, n, na) || !is_zero(b, n, nb))
		return false;
	return same_words(p, va, vb, n, depth + 1);
}

/* Clang's tables of strings: offsets from the table to what has no name. */
static bool same_offsets(const struct pair *p, const struct code_symbol *x,
			 const struct code_symbol *y)
{
	const uint8_t *a = bytes_at(p->a, x->start, x->size),
		      *b = bytes_at(p->b, y->start, y->size);
	uint64_t i;

	for (i = 0; a && b && i + 4 <= x->size; i += 4) {
		int32_t da, db;

		memcpy(&da, a + i, 4);
		memcpy(&db, b + i, 4);
		if (!same_anonymous(p, x->start + (uint64_t)(int64_t)da,
				    y->start + (uint64_t)(int64_t)db, 1))
			return false;
	}
	return a && b && i && i == x->size;
}

/* As clang names such a table: before release 15 by the function, later by the table that it
 * replaces. */
static bool has_offsets(const char *name)
{
	return !strncmp(name, "reltable.", 9) || str_ends_with(name, ".rel");
}

static bool same_object(const struct pair *p, const struct code_symbol *x,
			const struct code_symbol *y)
{
	if (x->size != y->size)
		return false;
	return has_offsets(x->name) ? same_offsets(p, x, y)
				    : same_words(p, x->start, y->start, x->size, 0);
}

/* Compares jump tables: offsets from the table to places in the function, or in parts of it that
 * have other names. */
static bool same_jumps(const struct pair *p, const struct reference *r)
{
	uint64_t na = code_extent(p->a, r->va), nb = code_extent(p->b, r->vb), i;
	const uint8_t *a = bytes_at(p->a, r->va, na), *b = bytes_at(p->b, r->vb, nb);
	uint64_t n = na < nb ? na : nb;

	for (i = 0; a && b && i + 4 <= n; i += 4) {
		int32_t da, db;
		uint64_t ta, tb;

		if (i && is_zero(a, i, na) && is_zero(b, i, nb))
			return true;
		memcpy(&da, a + i, 4);
		memcpy(&db, b + i, 4);
		ta = r->va + (uint64_t)(int64_t)da;
		tb = r->vb + (uint64_t)(int64_t)db;
		if (ta - r->f->start < r->f->size) {
			if (tb - r->g->start >= r->g->size ||
			    !same_offset(r, ta - r->f->start, tb - r->g->start))
				return false;
		} else if (!same_name(p, ta, tb)) {
			return false;
		}
	}
	return i && a && b && is_zero(a, i, na) && is_zero(b, i, nb);
}

/* Same offset in a writable section of the same name: for symbols that the linker places at its
 * start or end. */
static bool same_place(const struct pair *p, const struct reference *r)
{
	struct elf_section x, y;
	const char *name;
	size_t i;

	for (i = 0; elf_image_section_at(p->a->img, i, &name, &x); i++)
		if (x.flags & SHF_WRITE && r->va - x.vaddr <= x.size &&
		    elf_image_section(p->b->img, name, &y, NULL) &&
		    r->va - x.vaddr == r->vb - y.vaddr)
			return true;
	return false;
}

/* For constants without a symbol. */
static bool same_constant(const struct pair *p, const struct reference *r)
{
	const uint8_t *a, *b;

	if (!r->loads)
		return same_anonymous(p, r->va, r->vb, 0) || same_jumps(p, r) || same_place(p, r);
	a = bytes_at(p->a, r->va, r->loads);
	b = bytes_at(p->b, r->vb, r->loads);
	return a && b ? !memcmp(a, b, r->loads) : !a && !b && same_place(p, r);
}

/* ---- targets ------------------------------------------------------------------------------------
 */

/* The slot from which a PLT stub takes its address; 0: it is not a stub. */
static uint64_t slot_of_stub(const struct code_image *c, uint64_t vaddr)
{
	const uint8_t *code = bytes_at(c, vaddr, STUB_BYTES);
	struct code_reference r;
	size_t at;

	for (at = 0; code && at < STUB_BYTES; at += r.bytes) {
		if (!code_reference_read(code + at, STUB_BYTES - at, &r))
			break;
		if (r.first < r.last && code[at] != 0xe8 && code[at] != 0xe9)
			return vaddr + at + (uint64_t)r.distance;
	}
	return 0;
}

static bool same_target(const struct pair *p, const struct reference *r)
{
	const struct code_symbol *x, *y;
	uint64_t sa, sb;
	int slot;

	if (r->va - r->f->start < r->f->size)
		return r->vb - r->g->start < r->g->size &&
		       same_offset(r, r->va - r->f->start, r->vb - r->g->start);
	/* What is loaded is that value; an address is that of all that begins there. */
	slot = r->loads ? same_slot(p, r->va, r->vb) : -1;
	if (slot >= 0)
		return slot;
	x = code_symbol_at(p->a, r->va);
	y = code_symbol_at(p->b, r->vb);
	if (x || y)
		return same_name(p, r->va, r->vb) &&
		       (x->is_function ||
			(x->is_label ? same_constant(p, r) : same_object(p, x, y)));
	sa = slot_of_stub(p->a, r->va);
	sb = slot_of_stub(p->b, r->vb);
	if (r->is_jump)
		return sa && sb && same_slot(p, sa, sb) > 0;
	return same_constant(p, r);
}

/* Programs with a fixed address also have absolute addresses in their instructions: four bytes that
 * stand for the same thing. */
static bool same_absolute(const struct pair *p, struct reference r, const uint8_t *a,
			  const uint8_t *b, size_t n)
{
	size_t i;

	if (!is_fixed(p))
		return false;
	r.loads = 0;
	r.is_jump = false;
	for (i = 1; i + 4 <= n; i++) {
		uint32_t va, vb;

		memcpy(&va, a + i, 4);
		memcpy(&vb, b + i, 4);
		r.va = va;
		r.vb = vb;
		if (!memcmp(a, b, i) && !memcmp(a + i + 4, b + i + 4, n - i - 4) &&
		    same_target(p, &r))
			return true;
	}
	return false;
}

/* Do equal bytes that may be such an address lead to the same thing? A number that only looks like
 * one may make a function count as changed. */
static bool same_behind(const struct pair *p, struct reference r, const uint8_t *a, size_t n)
{
	size_t i;

	if (!is_fixed(p))
		return true;
	r.loads = 0;
	r.is_jump = false;
	for (i = 1; i + 4 <= n; i++) {
		uint32_t v;

		memcpy(&v, a + i, 4);
		r.va = r.vb = v;
		if (code_extent(p->a, v) && !same_target(p, &r))
			return false;
	}
	return true;
}

static bool same_bytes(const struct code_reference *x, const uint8_t *a, const uint8_t *b)
{
	return !memcmp(a, b, x->first) && !memcmp(a + x->last, b + x->last, x->bytes - x->last);
}

/* Compares the instructions at these offsets; *bytes is set to their length. */
static bool same_insn(const struct pair *p, const uint8_t *code_a, const uint8_t *code_b,
		      struct reference *r, uint64_t at, uint64_t to, uint8_t *bytes)
{
	const uint8_t *a = code_a + at, *b = code_b + to;
	struct code_reference x, y;

	if (!code_reference_read(a, r->f->size - at, &x) ||
	    !code_reference_read(b, r->g->size - to, &y) || x.bytes != y.bytes ||
	    x.first != y.first || x.last != y.last)
		return false;
	*bytes = x.bytes;
	if (x.first == x.last)
		return memcmp(a, b, x.bytes) ? same_absolute(p, *r, a, b, x.bytes)
					     : same_behind(p, *r, a, x.bytes);
	r->va = r->f->start + at + (uint64_t)x.distance;
	r->vb = r->g->start + to + (uint64_t)y.distance;
	r->loads = x.loads;
	r->is_jump = x.is_jump;
	return same_bytes(&x, a, b) && same_target(p, r);
}

static bool same_function(const struct pair *p, const struct code_symbol *f,
			  const struct code_symbol *g)
{
	const uint8_t *a = bytes_at(p->a, f->start, f->size),
		      *b = bytes_at(p->b, g->start, g->size);
	struct paddings in_f, in_g;
	struct reference r = {.f = f, .g = g, .in_f = &in_f, .in_g = &in_g};
	uint64_t at = 0, to = 0;
	size_t next_f = 0, next_g = 0;
	uint8_t bytes;

	if (!a || !b || !find_paddings(&in_f, a, f->size) || !find_paddings(&in_g, b, g->size) ||
	    without_padding(&in_f, f->size) != without_padding(&in_g, g->size))
		return false;
	for (;; at += bytes, to += bytes) {
		at = skip_padding(&in_f, at, &next_f);
		to = skip_padding(&in_g, to, &next_g);
		if (at == f->size || to == g->size)
			return at == f->size && to == g->size;
		if (!same_insn(p, a, b, &r, at, to, &bytes))
			return false;
	}
}

/* ---- what is asked ------------------------------------------------------------------------------
 */

static bool is_in_plt(const struct code_image *c, uint64_t vaddr)
{
	static const char *const names[] = {".plt", ".plt.sec", ".plt.got"};
	struct elf_section s;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		s = (struct elf_section){0};
		elf_image_section(c->img, names[i], &s, NULL);
		if (vaddr - s.vaddr < s.size)
			return true;
	}
	return false;
}

/* A stub of the procedure linkage table only jumps to what its slot's relocation names: it is the
 * same if the other image has a slot of this name, too. */
static enum code_state compare_stub(const struct code_image *a, const struct code_image *b,
				    uint64_t vaddr)
{
	const struct code_slot *slot;
	size_t i;

	slot = is_in_plt(a, vaddr) ? code_slot_at(a, slot_of_stub(a, vaddr)) : NULL;
	for (i = 0; slot && slot->name && i < b->slots.n; i++)
		if (b->slots.v[i].name && !strcmp(b->slots.v[i].name, slot->name))
			return CODE_SAME;
	return CODE_UNKNOWN;
}

enum code_state code_compare(const struct code_image *a, const struct code_image *b, uint64_t vaddr)
{
	const struct pair p = {a, b};
	const struct code_symbol *f = code_symbol_at(a, vaddr), *g;

	if (!f)
		return compare_stub(a, b, vaddr);
	if (f->start != vaddr || !b->by_address.n)
		return CODE_UNKNOWN;
	g = code_symbol_like(b, f);
	return g && same_function(&p, f, g) ? CODE_SAME : CODE_CHANGED;
}

/* Compares arrays of functions that run before or after main. */
static bool same_array(const struct pair *p, const char *section)
{
	struct elf_section x = {0}, y = {0};
	uint64_t i;

	elf_image_section(p->a->img, section, &x, NULL);
	elf_image_section(p->b->img, section, &y, NULL);
	if (x.size != y.size)
		return false;
	for (i = 0; i + 8 <= x.size; i += 8) {
		uint64_t va, vb;

		if (same_slot(p, x.vaddr + i, y.vaddr + i) > 0)
			continue;
		if (!x.data || !y.data)
			return false;
		memcpy(&va, x.data + i, 8);
		memcpy(&vb, y.data + i, 8);
		if (!same_name(p, va, vb))
			return false;
	}
	return true;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Compares all functions that both have. Those that only one side has are not called by code that
 * is equal on both. */
static enum code_state same_functions(const struct pair *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->a->by_address.n; i++) {
		const struct code_symbol *f = &p->a->by_address.v[i], *g;

		if (!f->is_function)
			continue;
		g = code_symbol_like(p->b, f);
		if (g && !same_function(p, f, g))
			return CODE_CHANGED;
		n += g != NULL;
	}
	return n ? CODE_SAME : CODE_UNKNOWN;
}

/* Compares all variables and tables with names; of both sides, because what walks over a section
 * also finds what nothing names. */
static bool same_objects(const struct pair *p)
{
	size_t i;

	for (i = 0; i < p->a->by_address.n; i++) {
		const struct code_symbol *x = &p->a->by_address.v[i], *y;

		if (x->is_function)
			continue;
		y = code_symbol_like(p->b, x);
		if (!y || y->is_function || x->is_label != y->is_label ||
		    (!x->is_label && !same_object(p, x, y)))
			return false;
	}
	for (i = 0; i < p->b->by_address.n; i++)
		if (!p->b->by_address.v[i].is_function &&
		    !code_symbol_like(p->a, &p->b->by_address.v[i]))
			return false;
	return true;
}

/* Compares initialised data without symbols, and the sizes of sections over which programs may
 * walk: their names can be written in C (ld: __start_SECNAME). */
static bool same_sections(const struct pair *p)
{
	struct elf_section x, y;
	const char *name;
	size_t i;

	for (i = 0; elf_image_section_at(p->a->img, i, &name, &x); i++) {
		bool is_tls = x.flags & SHF_TLS, is_named = *name && *name != '.';

		if (!(x.flags & SHF_ALLOC) || (!is_tls && !is_named))
			continue;
		if (!elf_image_section(p->b->img, name, &y, NULL) || x.size != y.size ||
		    (is_tls && x.data && !same_words(p, x.vaddr, y.vaddr, x.size, 0)))
			return false;
	}
	return true;
}

/* Other modules, and dlsym(), find what is exported: does b export all of what a does? */
static bool same_exports(const struct code_image *a, const struct code_image *b)
{
	size_t i;

	for (i = 0; i < a->exports.n; i++)
		if (!bsearch(&a->exports.v[i], b->exports.v, b->exports.n, sizeof *b->exports.v,
			     compare_strings))
			return false;
	return a->exports.n == b->exports.n;
}

enum code_state code_compare_all(const struct code_image *a, const struct code_image *b)
{
	static const char *const arrays[] = {".preinit_array", ".init_array", ".fini_array"};
	const struct pair p = {a, b};
	size_t i;

	for (i = 0; i < sizeof arrays / sizeof *arrays; i++)
		if (!same_array(&p, arrays[i]))
			return CODE_CHANGED;
	if (!same_exports(a, b) || !same_objects(&p) || !same_sections(&p))
		return CODE_CHANGED;
	return same_functions(&p);
}
