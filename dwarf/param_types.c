/* param_types.c - types of parameters, as far as their values can be shown. */
#include "dwarf/params.h"

#include <string.h>

enum {
	DEPTH_MAX = 12, /* typedefs, const .. before a type; members are one level deeper */
	MEMBERS_MAX = 64,
	ENUMERATORS_MAX = 4096,
	STRUCT_BYTES_MAX = 4096,
};

struct typing {
	struct dwarf_params *p;
	unsigned depth;	 /* of references followed */
	unsigned within; /* structures around */
};

static const struct dwarf_type *type_at(struct typing t, struct dwarf_ref at);

static uint64_t number(const struct dwarf_any_die *d, enum dwarf_attribute_slot slot,
		       uint64_t otherwise)
{
	uint64_t v;

	return dwarf_value_uint(d->a[slot].v, &v) ? v : otherwise;
}

static void base_type(struct dwarf_type *ret, const struct dwarf_any_die *d)
{
	switch (number(d, DWARF_AT_ENCODING, 0)) {
	case DW_ATE_boolean:
		ret->kind = DWARF_TYPE_BOOL;
		break;
	case DW_ATE_float:
		ret->kind = DWARF_TYPE_FLOAT;
		break;
	case DW_ATE_signed:
		ret->is_signed = true;
		ret->kind = DWARF_TYPE_INTEGER;
		break;
	case DW_ATE_unsigned:
		ret->kind = DWARF_TYPE_INTEGER;
		break;
	case DW_ATE_signed_char:
		ret->is_signed = true;
		ret->kind = ret->bytes == 1 ? DWARF_TYPE_CHARACTER : DWARF_TYPE_INTEGER;
		break;
	case DW_ATE_unsigned_char:
		ret->kind = ret->bytes == 1 ? DWARF_TYPE_CHARACTER : DWARF_TYPE_INTEGER;
		break;
	}
	if (ret->bytes > 8 || (ret->kind != DWARF_TYPE_FLOAT && !ret->bytes))
		ret->kind = DWARF_TYPE_OTHER;
}

struct enumerators {
	const struct dwarf_cu *cu;
	VEC(struct dwarf_enumerator) v;
	bool failed;
};

static bool add_enumerator(void *arg, const struct dwarf_any_die *d)
{
	struct enumerators *e = arg;
	const char *name = dwarf_value_string(e->cu, d->a[DWARF_AT_NAME].v);
	uint64_t value;

	if (d->tag == DW_TAG_enumerator && name && dwarf_value_uint(d->a[DWARF_AT_VALUE].v, &value))
		e->failed |= vec_push(&e->v, (struct dwarf_enumerator){name, (int64_t)value}) != 0;
	return !e->failed && e->v.n < ENUMERATORS_MAX;
}

static void enum_type(struct typing t, struct dwarf_type *ret, const struct dwarf_any_die *d,
		      const struct dwarf_param_unit *u)
{
	struct enumerators e = {.cu = u->cu};
	const struct dwarf_type *base = NULL;

	if (d->a[DWARF_AT_TYPE].v.form)
		base = type_at(t, dwarf_value_ref(u->cu, d->a[DWARF_AT_TYPE].v));
	dwarf_param_children(t.p, u, d, add_enumerator, &e);
	ret->bytes = ret->bytes ? ret->bytes : base ? base->bytes : 0;
	ret->is_signed = base && base->is_signed;
	ret->enumerators = arena_memdup(&t.p->memory, e.v.v, e.v.n * sizeof *e.v.v);
	ret->n_enumerators = e.v.n;
	t.p->failed |= e.failed || (e.v.n && !ret->enumerators);
	if (ret->bytes && ret->bytes <= 8)
		ret->kind = DWARF_TYPE_ENUM;
	vec_done(&e.v);
}

struct members {
	struct typing t;
	const struct dwarf_param_unit *u;
	VEC(struct dwarf_member) v;
	bool is_other; /* it has what is not shown: virtual bases, variants */
	bool failed;
};

/* A base class is a member, too, one that is not a level deeper. */
static bool add_base(struct members *m, const struct dwarf_any_die *d)
{
	struct dwarf_member member = {.is_base = true};

	member.type = type_at((struct typing){m->t.p, m->t.depth + 1, m->t.within},
			      dwarf_value_ref(m->u->cu, d->a[DWARF_AT_TYPE].v));
	/* Where a virtual one is only a computation tells. */
	m->is_other = !member.type || member.type->kind != DWARF_TYPE_STRUCT ||
		      !dwarf_value_uint(d->a[DWARF_AT_MEMBER_AT].v, &member.off);
	if (!m->is_other)
		member.name = member.type->name;
	m->failed |= vec_push(&m->v, member) != 0;
	return !m->is_other && !m->failed && m->v.n < MEMBERS_MAX;
}

static bool add_member(void *arg, const struct dwarf_any_die *d)
{
	struct members *m = arg;
	struct dwarf_member member = {.name = dwarf_value_string(m->u->cu, d->a[DWARF_AT_NAME].v)};
	const bool has_bits = d->a[DWARF_AT_BITS].v.form;
	uint64_t bits = 0;

	if (d->tag == DW_TAG_inheritance)
		return add_base(m, d);
	if (d->tag == DW_TAG_variant_part)
		m->is_other = true;
	if (d->tag != DW_TAG_member || dwarf_flag_is_set(d->a[DWARF_AT_DECLARATION].v))
		return !m->is_other;
	member.off = number(d, DWARF_AT_MEMBER_AT, 0);
	if (has_bits && (!dwarf_value_uint(d->a[DWARF_AT_BITS].v, &bits) || !bits || bits > 64 ||
			 !dwarf_value_uint(d->a[DWARF_AT_BIT_AT].v, &member.bit_off)))
		bits = 0;
	member.bits = (uint8_t)bits;
	if ((!has_bits || bits) && !d->a[DWARF_AT_MEMBER_AT].block.data && m->t.within < 1)
		member.type = type_at((struct typing){m->t.p, 0, m->t.within + 1},
				      dwarf_value_ref(m->u->cu, d->a[DWARF_AT_TYPE].v));
	m->failed |= vec_push(&m->v, member) != 0;
	return !m->failed && m->v.n < MEMBERS_MAX;
}

static void struct_type(struct typing t, struct dwarf_type *ret, const struct dwarf_any_die *d,
			const struct dwarf_param_unit *u)
{
	struct members m = {.t = t, .u = u};

	if (dwarf_flag_is_set(d->a[DWARF_AT_DECLARATION].v) || !ret->bytes ||
	    ret->bytes > STRUCT_BYTES_MAX)
		return;
	dwarf_param_children(t.p, u, d, add_member, &m);
	if (!m.is_other) {
		ret->kind = DWARF_TYPE_STRUCT;
		ret->members = arena_memdup(&t.p->memory, m.v.v, m.v.n * sizeof *m.v.v);
		ret->n_members = m.v.n;
		t.p->failed |= m.failed || (m.v.n && !ret->members);
	}
	vec_done(&m.v);
}

static void pointer_type(struct typing t, struct dwarf_type *ret, const struct dwarf_any_die *d,
			 const struct dwarf_param_unit *u)
{
	const struct dwarf_type *to = NULL;

	ret->kind = d->tag == DW_TAG_pointer_type ? DWARF_TYPE_POINTER : DWARF_TYPE_REFERENCE;
	ret->bytes = ret->bytes ? ret->bytes : u->cu->unit->addr_size;
	if (d->a[DWARF_AT_TYPE].v.form && t.depth < DEPTH_MAX)
		to = type_at((struct typing){t.p, t.depth + 1, t.within + 1},
			     dwarf_value_ref(u->cu, d->a[DWARF_AT_TYPE].v));
	ret->to_text = to && to->kind == DWARF_TYPE_CHARACTER;
}

static const struct dwarf_type *make_type(struct typing t, const struct dwarf_any_die *d,
					  const struct dwarf_param_unit *u)
{
	struct dwarf_type *ret = arena_alloc(&t.p->memory, sizeof *ret);

	if (!ret) {
		t.p->failed = true;
		return NULL;
	}
	ret->bytes = number(d, DWARF_AT_SIZE, 0);
	ret->name = dwarf_value_string(u->cu, d->a[DWARF_AT_NAME].v);
	switch (d->tag) {
	case DW_TAG_base_type:
		base_type(ret, d);
		break;
	case DW_TAG_enumeration_type:
		enum_type(t, ret, d, u);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		struct_type(t, ret, d, u);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		pointer_type(t, ret, d, u);
		break;
	}
	return ret;
}

static bool is_only_a_name(uint16_t tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static const struct dwarf_type *type_at(struct typing t, struct dwarf_ref at)
{
	/* Within a structure, and behind a pointer, less of a type is read. */
	const uint64_t key = hash_mix(dwarf_param_key(t.p, at), t.within);
	const uint32_t known = hash_get(&t.p->by_type, key);
	const struct dwarf_type *ret;
	struct dwarf_param_unit *u;
	struct dwarf_any_die d;

	if (known != HASH_NONE)
		return t.p->types.v[known];
	if (t.depth > DEPTH_MAX || !t.p->budget || !dwarf_param_die(t.p, at, &d, &u))
		return NULL;
	t.p->budget--;
	t.depth++;
	if (is_only_a_name(d.tag))
		ret = type_at(t, dwarf_value_ref(u->cu, d.a[DWARF_AT_TYPE].v));
	else
		ret = make_type(t, &d, u);
	t.p->failed |=
		hash_put(&t.p->by_type, key, (uint32_t)t.p->types.n) || vec_push(&t.p->types, ret);
	return ret;
}

const struct dwarf_type *dwarf_param_type(struct dwarf_params *p, struct dwarf_ref at)
{
	return type_at((struct typing){p, 0, 0}, at);
}
