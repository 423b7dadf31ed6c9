/* die.c - reads single DIEs and steps through their children. */
#include "dwarf/die.h"

#include "dwarf/walk.h"

static bool is_set(struct dwarf_value v)
{
	return v.raw && (v.form == DW_FORM_flag || v.form == DW_FORM_flag_present);
}

/* Reads the number of elements of an array: its upper bound plus 1; -1 for an empty one. */
static void take_count(struct dwarf_die *d, struct dwarf_value v, unsigned more)
{
	d->has_count = dwarf_value_uint(v, &d->count) && d->count + more <= UINT32_MAX;
	d->count += more;
}

static void take_value(struct dwarf_die *d, struct dwarf_value v)
{
	d->has_value = dwarf_value_uint(v, &d->value);
	d->is_negative = (v.form == DW_FORM_sdata || v.form == DW_FORM_implicit_const) &&
			 (int64_t)d->value < 0;
}

static void take_ref(struct dwarf_ref *ref, const struct dwarf_cu *cu, struct dwarf_value v)
{
	*ref = dwarf_value_ref(cu, v);
	/* An invalid reference is not the same as none. */
	if (!ref->file)
		*ref = (struct dwarf_ref){cu->file, UINT64_MAX};
}

static void take_flag(struct dwarf_die *d, uint64_t attribute, struct dwarf_value v)
{
	switch (attribute) {
	case DW_AT_artificial:
		d->artificial = is_set(v);
		break;
	case DW_AT_external:
		d->external = is_set(v);
		break;
	case DW_AT_reference:
		d->lvalue_only = is_set(v);
		break;
	case DW_AT_rvalue_reference:
		d->rvalue_only = is_set(v);
		break;
	}
}

static void take(struct dwarf_die *d, const struct dwarf_cu *cu, uint64_t attribute,
		 struct dwarf_value v)
{
	uint64_t number;

	switch (attribute) {
	case DW_AT_name:
		d->name = dwarf_value_string(cu, v);
		break;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		d->linkage_name = dwarf_value_string(cu, v);
		break;
	case DW_AT_GNU_template_name:
		d->template_name = dwarf_value_string(cu, v);
		break;
	case DW_AT_type:
		take_ref(&d->type, cu, v);
		break;
	case DW_AT_containing_type:
		take_ref(&d->containing_type, cu, v);
		break;
	case DW_AT_sibling:
		d->sibling = dwarf_value_ref(cu, v);
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		if (attribute == DW_AT_abstract_origin || !d->origin.file)
			take_ref(&d->origin, cu, v);
		break;
	case DW_AT_decl_file:
		d->decl_file = dwarf_value_uint(v, &number) ? number : 0;
		break;
	case DW_AT_decl_line:
		d->line = dwarf_value_uint(v, &number) ? number : 0;
		break;
	case DW_AT_decl_column:
		d->column = dwarf_value_uint(v, &number) ? number : 0;
		break;
	case DW_AT_const_value:
		take_value(d, v);
		break;
	case DW_AT_count:
		take_count(d, v, 0);
		break;
	case DW_AT_upper_bound:
		take_count(d, v, 1);
		break;
	default:
		take_flag(d, attribute, v);
		break;
	}
}

bool dwarf_die_at(struct dwarf_namer *n, struct dwarf_ref at, struct dwarf_die *ret, int *rc)
{
	const struct dwarf_cu *cu = dwarf_namer_cu(n, at, rc);
	const struct dwarf_abbrev *a;
	struct dwarf_value v;
	struct buf b, decl;
	uint64_t attribute;

	*ret = (struct dwarf_die){.at = at};
	if (!cu || !n->type_steps)
		return false;
	n->type_steps--;
	b = dwarf_cu_at(cu, at.off);
	a = dwarf_abbrev_at(cu->abbrevs, buf_uleb(&b));
	if (!a || !buf_ok(&b))
		return false;
	ret->tag = a->tag;
	ret->children = a->children;
	decl = dwarf_attributes(cu->file, a);
	while (dwarf_attribute_next(&decl, cu->unit, &b, &attribute, &v))
		take(ret, cu, attribute, v);
	ret->end = buf_off(&b);
	return buf_ok(&b) && buf_ok(&decl);
}

bool dwarf_die_child(struct dwarf_namer *n, const struct dwarf_die *d, struct dwarf_die *ret,
		     int *rc)
{
	return d->children && dwarf_die_at(n, (struct dwarf_ref){d->at.file, d->end}, ret, rc);
}

/* The offset after the descendants of a DIE. */
static uint64_t behind(struct dwarf_namer *n, const struct dwarf_die *d, int *rc)
{
	const struct dwarf_cu *cu;
	size_t depth = 1;
	struct buf b;

	if (!d->children)
		return d->end;
	if (d->sibling.file == d->at.file && d->sibling.off > d->end)
		return d->sibling.off;
	cu = dwarf_namer_cu(n, d->at, rc);
	if (!cu)
		return UINT64_MAX;
	b = dwarf_cu_at(cu, d->end);
	while (depth && buf_left(&b) && n->type_steps) {
		uint64_t code = buf_uleb(&b);
		const struct dwarf_abbrev *a = code ? dwarf_abbrev_at(cu->abbrevs, code) : NULL;
		bool children = a && a->children;

		n->type_steps--;
		if (code && !a)
			return UINT64_MAX;
		if (a)
			dwarf_pass_over(cu, a, &b, &children);
		depth = code ? depth + children : depth - 1;
	}
	return buf_ok(&b) && !depth ? buf_off(&b) : UINT64_MAX;
}

bool dwarf_die_next(struct dwarf_namer *n, struct dwarf_die *d, int *rc)
{
	uint64_t off = behind(n, d, rc);

	return off != UINT64_MAX && dwarf_die_at(n, (struct dwarf_ref){d->at.file, off}, d, rc);
}
