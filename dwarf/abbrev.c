/* abbrev.c - decodes abbreviation tables (DWARF5 7.5.3). */
#include "dwarf/abbrev.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"

/* Limit on attributes: no producer writes so many; an abbreviation with more is damaged. */
enum { ATTRIBUTES_MAX = 256 };

struct slot_row;

struct attribute {
	const struct slot_row *row; /* NULL: not wanted */
	struct dwarf_form how;
	uint16_t form;
	int64_t constant;
};

struct decoder {
	const struct dwarf_abbrev_slot *slot;
	struct buf b;
	struct attribute attrs[ATTRIBUTES_MAX];
	size_t n_attrs;
	VEC(struct dwarf_abbrev) abbrevs;
	VEC(struct dwarf_op) ops;
	VEC(int64_t) constants;
	bool has_code, has_types;
};

/* ---- what is wanted ---------------------------------------------------------------------- */

#define BIT(want) (1u << DWARF_WANT_##want)

static const struct slot_row {
	uint16_t attribute;
	uint8_t slot, wants;
} slot_rows[] = {
	{DW_AT_low_pc, DWARF_SLOT_LOW_PC, BIT(CODE) | BIT(ROOT)},
	{DW_AT_high_pc, DWARF_SLOT_HIGH_PC, BIT(CODE) | BIT(ROOT)},
	{DW_AT_ranges, DWARF_SLOT_RANGES, BIT(CODE) | BIT(ROOT)},
	{DW_AT_abstract_origin, DWARF_SLOT_ORIGIN, BIT(CODE) | BIT(NAMES)},
	{DW_AT_specification, DWARF_SLOT_SPECIFICATION, BIT(NAMES)},
	{DW_AT_call_file, DWARF_SLOT_CALL_FILE, BIT(CODE)},
	{DW_AT_call_line, DWARF_SLOT_CALL_LINE, BIT(CODE)},
	{DW_AT_name, DWARF_SLOT_NAME, BIT(NAMES)},
	{DW_AT_linkage_name, DWARF_SLOT_LINKAGE_NAME, BIT(NAMES)},
	{DW_AT_MIPS_linkage_name, DWARF_SLOT_LINKAGE_NAME, BIT(NAMES)},
	{DW_AT_decl_line, DWARF_SLOT_DECL_LINE, BIT(NAMES)},
	{DW_AT_signature, DWARF_SLOT_SIGNATURE, BIT(NAMES)},
	{DW_AT_stmt_list, DWARF_SLOT_STMT_LIST, BIT(ROOT)},
	{DW_AT_comp_dir, DWARF_SLOT_COMP_DIR, BIT(ROOT)},
	{DW_AT_language, DWARF_SLOT_LANGUAGE, BIT(ROOT)},
	{DW_AT_dwo_name, DWARF_SLOT_DWO_NAME, BIT(ROOT)},
	{DW_AT_GNU_dwo_name, DWARF_SLOT_DWO_NAME, BIT(ROOT)},
	{DW_AT_GNU_dwo_id, DWARF_SLOT_DWO_ID, BIT(ROOT)},
	{DW_AT_str_offsets_base, DWARF_SLOT_STR_OFFSETS_BASE, BIT(ROOT)},
	{DW_AT_addr_base, DWARF_SLOT_ADDR_BASE, BIT(ROOT)},
	{DW_AT_GNU_addr_base, DWARF_SLOT_ADDR_BASE, BIT(ROOT)},
	{DW_AT_rnglists_base, DWARF_SLOT_RNGLISTS_BASE, BIT(ROOT)},
	{DW_AT_GNU_ranges_base, DWARF_SLOT_GNU_RANGES_BASE, BIT(ROOT)},
	{DW_AT_sibling, DWARF_SLOT_SIBLING, BIT(SKIP) | BIT(CODE)},
};

static const struct slot_row *slot_row(uint64_t attribute)
{
	size_t i;

	if (attribute > UINT16_MAX)
		return NULL;
	for (i = 0; i < sizeof slot_rows / sizeof *slot_rows; i++)
		if (slot_rows[i].attribute == attribute)
			return &slot_rows[i];
	return NULL;
}

static enum dwarf_kind tag_kind(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return DWARF_KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return DWARF_KIND_INLINED;
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: /* in Rust these have methods */
	case DW_TAG_module:
		return DWARF_KIND_SCOPE;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit:
		return DWARF_KIND_UNIT;
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_variable:
	case DW_TAG_formal_parameter:
	case DW_TAG_GNU_formal_parameter_pack:
	case DW_TAG_GNU_template_parameter_pack:
		return DWARF_KIND_LEAF;
	}
	return DWARF_KIND_OTHER;
}

/* The lists that abbreviations of this kind have; for the others the SKIP list is used. */
static unsigned kind_wants(enum dwarf_kind kind)
{
	static const uint8_t wants[] = {
		[DWARF_KIND_OTHER] = BIT(SKIP),
		[DWARF_KIND_LEAF] = BIT(SKIP),
		[DWARF_KIND_SCOPE] = BIT(SKIP) | BIT(NAMES),
		[DWARF_KIND_FUNCTION] = BIT(SKIP) | BIT(CODE) | BIT(NAMES),
		[DWARF_KIND_INLINED] = BIT(SKIP) | BIT(CODE) | BIT(NAMES),
		[DWARF_KIND_UNIT] = BIT(SKIP) | BIT(ROOT),
	};

	return wants[kind];
}

/* ---- compiling one abbreviation ---------------------------------------------------------- */

/* The slot that an attribute has in a list. If an attribute occurs twice, the first one counts. */
static unsigned wanted_slot(const struct slot_row *row, enum dwarf_want want, enum dwarf_kind kind,
			    uint32_t *taken)
{
	if (!row || !(row->wants >> want & 1) || *taken >> row->slot & 1)
		return DWARF_SLOT_NONE;
	if (row->slot == DWARF_SLOT_SIBLING && kind != DWARF_KIND_LEAF)
		return DWARF_SLOT_NONE;
	*taken |= 1u << row->slot;
	return row->slot;
}

/* DW_FORM_flag_present has no bytes: its value is constant 0 of the table, which is 1. */
static int add_constant(struct decoder *d, const struct attribute *a, uint32_t *ret)
{
	*ret = 0;
	if (a->form != DW_FORM_implicit_const)
		return 0;
	*ret = (uint32_t)d->constants.n;
	return vec_push(&d->constants, a->constant);
}

static int compile_list(struct decoder *d, enum dwarf_want want, enum dwarf_kind kind)
{
	uint32_t taken = 0;
	unsigned skip = 0;
	size_t i;

	for (i = 0; i < d->n_attrs; i++) {
		const struct attribute *a = &d->attrs[i];
		unsigned slot = wanted_slot(a->row, want, kind, &taken);
		struct dwarf_op op = {(uint16_t)skip, (uint8_t)a->how.op, (uint8_t)slot, a->form,
				      0};

		if ((slot == DWARF_SLOT_NONE || a->how.op == DWARF_OP_SKIP) && a->how.size >= 0) {
			skip += (unsigned)a->how.size;
			continue;
		}
		if (a->how.op == DWARF_OP_IMPLICIT && add_constant(d, a, &op.constant))
			return -1;
		if (vec_push(&d->ops, op))
			return -1;
		skip = 0;
	}
	return vec_push(&d->ops, (struct dwarf_op){(uint16_t)skip, DWARF_OP_END, 0, 0, 0});
}

static int compile_abbrev(struct decoder *d, struct dwarf_abbrev *a)
{
	unsigned wants = kind_wants((enum dwarf_kind)a->kind), w;
	const struct dwarf_op *first;
	size_t i;

	for (i = 0; i < d->n_attrs; i++) {
		const struct slot_row *row = d->attrs[i].row;

		if (row && (row->slot == DWARF_SLOT_LOW_PC || row->slot == DWARF_SLOT_RANGES))
			a->has_code = true;
	}
	if (a->has_code && a->kind == DWARF_KIND_FUNCTION)
		d->has_code = true;
	/* A declaration, or the abstract instance of an inline function. */
	if (!a->has_code && a->kind == DWARF_KIND_FUNCTION)
		wants &= ~BIT(CODE);
	for (w = 0; w < DWARF_WANT_N; w++) {
		a->list[w] = a->list[0];
		if (!(wants >> w & 1))
			continue;
		a->list[w] = (uint32_t)d->ops.n;
		if (compile_list(d, (enum dwarf_want)w, (enum dwarf_kind)a->kind))
			return -1;
	}
	first = &d->ops.v[a->list[DWARF_WANT_SKIP]];
	a->fixed_size = first->op == DWARF_OP_END ? first->skip : -1;
	return 0;
}

/* ---- decoding a table -------------------------------------------------------------------- */

/* Returns false at the end of the table, or if the rest cannot be read. */
static bool read_abbrev(struct decoder *d, struct dwarf_abbrev *a)
{
	const struct dwarf_abbrev_slot *s = d->slot;
	struct buf *b = &d->b;
	uint64_t tag;

	*a = (struct dwarf_abbrev){.code = buf_uleb(b)};
	if (!a->code)
		return false;
	tag = buf_uleb(b);
	a->tag = tag <= UINT16_MAX ? (uint16_t)tag : 0;
	a->kind = (uint8_t)tag_kind(tag);
	a->children = buf_u8(b) != 0;
	a->attributes = buf_off(b) <= UINT32_MAX ? (uint32_t)buf_off(b) : 0;
	d->has_types |= tag == DW_TAG_formal_parameter;
	for (d->n_attrs = 0;; d->n_attrs++) {
		uint64_t name = buf_uleb(b), form = buf_uleb(b);
		int64_t constant = form == DW_FORM_implicit_const ? buf_sleb(b) : 0;

		if (!buf_ok(b))
			return false;
		if (!name && !form)
			return true;
		if (d->n_attrs == ATTRIBUTES_MAX || form > UINT16_MAX)
			return false;
		d->attrs[d->n_attrs] = (struct attribute){
			slot_row(name),
			dwarf_form_op((uint16_t)form, s->version, s->addr_size, s->off_size),
			(uint16_t)form, constant};
	}
}

static int abbrev_cmp(const void *x, const void *y)
{
	const struct dwarf_abbrev *a = x, *b = y;

	return a->code < b->code ? -1 : a->code > b->code;
}

static void make_plain(struct dwarf_abbrevs *t)
{
	size_t i;

	memset(t->plain, 0xff, sizeof t->plain);
	t->plain[0] = 0;
	for (i = 0; i < t->n; i++) {
		const struct dwarf_abbrev *a = &t->v[i];

		if (a->code < 0x80 && a->kind <= DWARF_KIND_LEAF && a->fixed_size >= 0)
			t->plain[a->code] = (uint16_t)(a->fixed_size * 4 + 1 + a->children);
	}
}

static struct dwarf_abbrevs *finish(struct decoder *d)
{
	struct dwarf_abbrevs *t = calloc(1, sizeof *t);
	size_t i;

	if (!t)
		return NULL;
	*t = (struct dwarf_abbrevs){.v = d->abbrevs.v,
				    .n = d->abbrevs.n,
				    .end = buf_off(&d->b),
				    .dense = true,
				    .has_code = d->has_code,
				    .has_types = d->has_types,
				    .ops = d->ops.v,
				    .constants = d->constants.v};
	for (i = 0; i < t->n && t->dense; i++)
		t->dense = t->v[i].code == i + 1;
	if (!t->dense)
		qsort(t->v, t->n, sizeof *t->v, abbrev_cmp);
	make_plain(t);
	return t;
}

/* Tables do not overlap: a table ends no later than where the next one begins that some unit uses.
 * So all tables together take no more work than the section is long, whatever offsets the units
 * have. */
static uint64_t table_end(const struct dwarf_file *f, const struct dwarf_abbrev_slot *slot)
{
	const struct dwarf_abbrev_slot *end = f->slots + f->n_slots;
	uint64_t size = f->sec[DWARF_ABBREV].size, off = slot->off;

	while (slot < end && slot->off == off)
		slot++;
	return slot < end && slot->off < size ? slot->off : size;
}

static struct dwarf_abbrevs *decode(const struct dwarf_file *f,
				    const struct dwarf_abbrev_slot *slot)
{
	struct dwarf_slice s = {f->sec[DWARF_ABBREV].data, table_end(f, slot)};
	struct decoder d = {.slot = slot, .b = dwarf_slice_at(&s, slot->off, f->swap)};
	struct dwarf_abbrevs *t = NULL;
	struct dwarf_abbrev a;
	int rc = vec_push(&d.constants, 1);

	while (!rc && buf_ok(&d.b) && read_abbrev(&d, &a)) {
		rc = compile_abbrev(&d, &a);
		if (!rc)
			rc = vec_push(&d.abbrevs, a);
	}
	if (!rc)
		t = finish(&d);
	if (!t) {
		vec_done(&d.abbrevs);
		vec_done(&d.ops);
		vec_done(&d.constants);
	}
	return t;
}

/* ---- slots ------------------------------------------------------------------------------- */

static int slot_order(const struct dwarf_abbrev_slot *a, const struct dwarf_abbrev_slot *b)
{
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	if (a->version != b->version)
		return a->version - b->version;
	if (a->addr_size != b->addr_size)
		return a->addr_size - b->addr_size;
	return a->off_size - b->off_size;
}

int dwarf_abbrev_slot_cmp(const void *a, const void *b)
{
	return slot_order(a, b);
}

/* Of all forms only DW_FORM_ref_addr of DWARF 2 depends on the version. */
struct dwarf_abbrev_slot dwarf_abbrev_slot_of(const struct dwarf_unit *u)
{
	return (struct dwarf_abbrev_slot){.off = u->abbrev_off,
					  .version = u->version <= 2 ? 2 : 5,
					  .addr_size = u->addr_size,
					  .off_size = u->off_size};
}

int dwarf_abbrev_slots_make(struct dwarf_file *f)
{
	size_t i, n = 0;

	if (!f->n_units)
		return 0;
	f->slots = calloc(f->n_units, sizeof *f->slots);
	if (!f->slots)
		return -ERR_NOMEM;
	for (i = 0; i < f->n_units; i++)
		f->slots[i] = dwarf_abbrev_slot_of(&f->units[i]);
	qsort(f->slots, f->n_units, sizeof *f->slots, dwarf_abbrev_slot_cmp);
	for (i = 0; i < f->n_units; i++)
		if (!i || slot_order(&f->slots[n - 1], &f->slots[i]))
			f->slots[n++] = f->slots[i];
	f->n_slots = n;
	return 0;
}

void dwarf_abbrevs_fill(const struct dwarf_file *f, struct dwarf_abbrev_slot *slot)
{
	struct dwarf_abbrevs *t, *none = NULL;

	if (atomic_load(&slot->table))
		return;
	t = decode(f, slot);
	/* Another thread may have been faster. */
	if (t && !atomic_compare_exchange_strong(&slot->table, &none, t))
		dwarf_abbrevs_free(t);
}

bool dwarf_abbrevs_give(struct dwarf_file *f, const struct dwarf_abbrev_slot *slot)
{
	struct dwarf_abbrevs *t = slot->table;
	struct dwarf_abbrev_slot *to = f->n_slots ? bsearch(slot, f->slots, f->n_slots,
							    sizeof *f->slots, dwarf_abbrev_slot_cmp)
						  : NULL;

	if (to && !to->table && t->end <= table_end(f, to)) {
		atomic_store(&to->table, t);
		return true;
	}
	dwarf_abbrevs_free(t);
	return false;
}

const struct dwarf_abbrevs *dwarf_abbrevs_get(const struct dwarf_file *f,
					      const struct dwarf_unit *u)
{
	struct dwarf_abbrev_slot key = dwarf_abbrev_slot_of(u);
	struct dwarf_abbrev_slot *slot =
		bsearch(&key, f->slots, f->n_slots, sizeof *f->slots, dwarf_abbrev_slot_cmp);

	if (!slot)
		return NULL;
	dwarf_abbrevs_fill(f, slot);
	return atomic_load(&slot->table);
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *t)
{
	if (!t)
		return;
	free(t->v);
	free(t->ops);
	free(t->constants);
	free(t);
}

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code)
{
	struct dwarf_abbrev key = {.code = code};

	return t->n ? bsearch(&key, t->v, t->n, sizeof *t->v, abbrev_cmp) : NULL;
}

/* ---- all attributes ---------------------------------------------------------------------- */

struct buf dwarf_attributes(const struct dwarf_file *f, const struct dwarf_abbrev *a)
{
	return dwarf_slice_at(&f->sec[DWARF_ABBREV], a->attributes, f->swap);
}

bool dwarf_attribute_next(struct buf *decl, const struct dwarf_unit *u, struct buf *b,
			  uint64_t *attribute, struct dwarf_value *v)
{
	uint64_t form;
	int64_t constant;
	struct dwarf_form how;

	*attribute = buf_uleb(decl);
	form = buf_uleb(decl);
	constant = form == DW_FORM_implicit_const ? buf_sleb(decl) : 1;
	if (!buf_ok(decl) || form > UINT16_MAX || (!*attribute && !form))
		return false;
	*v = (struct dwarf_value){.form = (uint16_t)form};
	how = dwarf_form_op(v->form, u->version, u->addr_size, u->off_size);
	if (how.op == DWARF_OP_IMPLICIT)
		v->raw = (uint64_t)constant;
	else if (how.op == DWARF_OP_SKIP)
		buf_skip(b, (uint64_t)how.size);
	else
		v->raw = dwarf_form_read(b, how.op, u, &v->form);
	return buf_ok(b);
}
