/* param_unpack.c - reads what param_pack.c wrote, of which strangers may have made something else:
 * every count is checked against the bytes that are left. */
#include "dwarf/param_pack.h"
#include "dwarf/params.h"

#include "base/buf.h"
#include "base/err.h"

/* Of one thing; more than there can be where DIEs are read. */
enum {
	LEVELS_MAX = 256,
	PARAMS_MAX = 256,
	ENUMERATORS_MAX = 4096,
	MEMBERS_MAX = 64,
	PRINTED_MAX = 4096, /* members, those of bases too */
};

struct unpacking {
	struct dwarf_params *p;
	struct buf b;
	VEC(uint32_t) printed; /* by type: how many members it has with those of its bases */
};

/* So many things follow, each of at least a byte. */
static size_t count(struct unpacking *u, size_t max)
{
	const uint64_t n = buf_uleb(&u->b);

	if (n > buf_left(&u->b) || n > max)
		u->b.bad = true;
	return u->b.bad ? 0 : (size_t)n;
}

static void *room(struct unpacking *u, size_t n, size_t bytes)
{
	void *v = n ? arena_alloc(&u->p->memory, n * bytes) : NULL;

	u->p->failed |= n && !v;
	return v;
}

static bool goes_on(const struct unpacking *u)
{
	return buf_ok(&u->b) && !u->p->failed;
}

static const char *text(struct unpacking *u)
{
	return buf_uleb(&u->b) ? buf_cstr(&u->b) : NULL;
}

static struct dwarf_expr expr(struct unpacking *u)
{
	const uint64_t n = buf_uleb(&u->b);
	struct dwarf_expr e = {0};

	if (n)
		e = (struct dwarf_expr){buf_take(&u->b, n - 1), (size_t)(n - 1)};
	return e.code ? e : (struct dwarf_expr){0};
}

/* Of those that were read already; *number is its number plus one. */
static const struct dwarf_type *type_and_number(struct unpacking *u, uint64_t *number)
{
	const uint64_t i = *number = buf_uleb(&u->b);

	if (i > u->p->types.n)
		u->b.bad = true;
	return i && !u->b.bad ? u->p->types.v[i - 1] : NULL;
}

static const struct dwarf_type *type(struct unpacking *u)
{
	uint64_t number;

	return type_and_number(u, &number);
}

/* ---- types ---------------------------------------------------------------------------------- */

static void read_enumerators(struct unpacking *u, struct dwarf_type *t)
{
	const size_t n = count(u, ENUMERATORS_MAX);
	struct dwarf_enumerator *v = room(u, n, sizeof *v);
	size_t i;

	for (i = 0; i < n && goes_on(u); i++) {
		const char *name = text(u);

		v[i] = (struct dwarf_enumerator){name ? name : "", buf_sleb(&u->b)};
	}
	t->enumerators = v;
	t->n_enumerators = i;
}

static void read_members(struct unpacking *u, struct dwarf_type *t)
{
	const size_t n = count(u, MEMBERS_MAX);
	struct dwarf_member *v = room(u, n, sizeof *v);
	uint64_t printed = n, number;
	size_t i;

	for (i = 0; i < n && goes_on(u); i++) {
		uint64_t bits;

		v[i] = (struct dwarf_member){.name = text(u)};
		v[i].off = buf_uleb(&u->b);
		v[i].type = type_and_number(u, &number);
		v[i].is_base = buf_uleb(&u->b);
		bits = buf_uleb(&u->b);
		v[i].bits = bits <= 64 ? (uint8_t)bits : 0;
		v[i].bit_off = buf_uleb(&u->b);
		/* As where DIEs are read. */
		if (v[i].is_base && (!v[i].type || v[i].type->kind != DWARF_TYPE_STRUCT))
			u->b.bad = true;
		printed += v[i].is_base && !u->b.bad ? u->printed.v[number - 1] : 0;
	}
	if (printed > PRINTED_MAX)
		u->b.bad = true;
	t->members = v;
	t->n_members = i;
	u->p->failed |= vec_push(&u->printed, (uint32_t)printed) != 0;
}

static void read_type(struct unpacking *u)
{
	struct dwarf_type *t = room(u, 1, sizeof *t);
	const uint64_t kind = buf_uleb(&u->b), flags = buf_uleb(&u->b);

	if (!t)
		return;
	*t = (struct dwarf_type){.kind = kind <= DWARF_TYPE_STRUCT ? (enum dwarf_type_kind)kind
								   : DWARF_TYPE_OTHER,
				 .is_signed = flags & TYPE_SIGNED,
				 .to_text = flags & TYPE_TO_TEXT};
	t->bytes = buf_uleb(&u->b);
	t->name = text(u);
	if (t->bytes > sizeof(uint64_t) && t->kind != DWARF_TYPE_STRUCT)
		t->kind = DWARF_TYPE_OTHER; /* who shows numbers counts on that */
	read_enumerators(u, t);
	read_members(u, t);
	if (goes_on(u))
		u->p->failed |= vec_push(&u->p->types, t) != 0;
}

/* ---- sites ---------------------------------------------------------------------------------- */

static struct dwarf_param read_param(struct unpacking *u)
{
	struct dwarf_param p = {.name = text(u)};
	uint64_t flags;

	p.type = type(u);
	p.where = expr(u);
	flags = buf_uleb(&u->b);
	p.is_list = flags & PARAM_IS_LIST;
	p.is_kept = flags & PARAM_IS_KEPT;
	p.is_result = flags & PARAM_IS_RESULT;
	p.has_value = flags & PARAM_HAS_VALUE;
	p.has_entry_reg = flags & PARAM_HAS_REGISTER;
	p.value = buf_uleb(&u->b);
	p.entry_reg = buf_uleb(&u->b);
	return p;
}

static void read_levels(struct unpacking *u, struct dwarf_site *s)
{
	const size_t n = count(u, LEVELS_MAX);
	struct dwarf_params_of *levels = room(u, n, sizeof *levels);
	size_t i, k;

	for (i = 0; i < n && goes_on(u); i++) {
		const size_t n_params = count(u, PARAMS_MAX);
		struct dwarf_param *v = room(u, n_params, sizeof *v);

		for (k = 0; k < n_params && goes_on(u); k++)
			v[k] = read_param(u);
		levels[i] = (struct dwarf_params_of){.v = v, .n = k};
	}
	s->levels = levels;
	s->n = i;
}

static void read_site(struct unpacking *u)
{
	struct dwarf_site *s = room(u, 1, sizeof *s);
	uint64_t vaddr, flags;

	if (!s)
		return;
	*s = (struct dwarf_site){0};
	vaddr = buf_uleb(&u->b);
	s->address_bytes = buf_uleb(&u->b) == 4 ? 4 : 8;
	s->entry = buf_uleb(&u->b);
	s->body = buf_uleb(&u->b);
	s->name = text(u);
	flags = buf_uleb(&u->b);
	s->has_result = flags & SITE_HAS_RESULT;
	s->is_result_told = flags & SITE_RESULT_TOLD;
	s->is_not_called_so = flags & SITE_NOT_CALLED_SO;
	s->is_by_compiler_of_c = flags & SITE_BY_C;
	s->is_unoptimized = flags & SITE_UNOPTIMIZED;
	s->is_untracked = flags & SITE_UNTRACKED;
	s->keeps_result = flags & SITE_KEEPS_RESULT;
	s->is_by_gcc = flags & SITE_BY_GCC;
	s->result = type(u);
	s->frame_base = expr(u);
	read_levels(u, s);
	if (!goes_on(u) || !s->n)
		return;
	s->innermost = s->entry;
	u->p->failed |= hash_put(&u->p->by_vaddr, vaddr, (uint32_t)u->p->sites.n) != 0 ||
			vec_push(&u->p->sites, s) != 0;
}

int dwarf_params_unpack(struct dwarf_params *p, struct elf_image *img)
{
	struct unpacking u = {.p = p};
	struct elf_section s;
	size_t n;

	if (!img || !elf_image_section(img, DWARF_PARAMS_SECTION, &s, NULL) || !s.data)
		return 0;
	u.b = buf_make(s.data, (size_t)s.size, 0, false);
	if (buf_uleb(&u.b) != PARAM_PACK_VERSION)
		return 0;
	for (n = count(&u, SIZE_MAX); n && goes_on(&u); n--)
		read_type(&u);
	for (n = count(&u, SIZE_MAX); n && goes_on(&u); n--)
		read_site(&u);
	vec_done(&u.printed);
	if (p->failed)
		return -ERR_NOMEM;
	/* Sites before the damage are whole. */
	return p->sites.n != 0;
}
