/* abbrev.h - abbreviation tables, decoded once into flat programs. Private to dwarf/.
 *
 * A reader knows beforehand what it wants from a DIE: nothing (only pass over it), its code
 * (addresses, origin, call site), its names, or the attributes of a unit's root DIE. For each of
 * these an abbreviation has a list of operations: "skip N bytes, then read this value into that
 * slot". Fixed-size attributes that are not wanted are merged into one skip. */
#ifndef DWARF_ABBREV_H
#define DWARF_ABBREV_H

#include "dwarf/form.h"

enum dwarf_slot {
	DWARF_SLOT_NONE, /* read and dropped */
	DWARF_SLOT_SIBLING,
	DWARF_SLOT_LOW_PC,
	DWARF_SLOT_HIGH_PC,
	DWARF_SLOT_RANGES,
	DWARF_SLOT_ORIGIN,
	DWARF_SLOT_SPECIFICATION,
	DWARF_SLOT_CALL_FILE,
	DWARF_SLOT_CALL_LINE,
	DWARF_SLOT_NAME,
	DWARF_SLOT_LINKAGE_NAME,
	DWARF_SLOT_DECL_LINE,
	DWARF_SLOT_SIGNATURE,
	DWARF_SLOT_STMT_LIST,
	DWARF_SLOT_COMP_DIR,
	DWARF_SLOT_LANGUAGE,
	DWARF_SLOT_DWO_NAME,
	DWARF_SLOT_DWO_ID,
	DWARF_SLOT_STR_OFFSETS_BASE,
	DWARF_SLOT_ADDR_BASE,
	DWARF_SLOT_RNGLISTS_BASE,
	DWARF_SLOT_GNU_RANGES_BASE,
	DWARF_SLOT_N,
};

/* The lists of an abbreviation. */
enum dwarf_want {
	DWARF_WANT_SKIP,
	DWARF_WANT_CODE,
	DWARF_WANT_NAMES,
	DWARF_WANT_ROOT,
	DWARF_WANT_N
};

enum dwarf_kind {
	DWARF_KIND_OTHER, /* not of interest itself; the walk visits its children */
	/* No code below: its children are skipped if DW_AT_sibling says where they end. */
	DWARF_KIND_LEAF,
	DWARF_KIND_SCOPE, /* part of the names of the DIEs in it: namespace, class ... */
	DWARF_KIND_FUNCTION,
	DWARF_KIND_INLINED,
	DWARF_KIND_UNIT,
};

struct dwarf_op {
	uint16_t skip; /* bytes before the value */
	uint8_t op;    /* enum dwarf_op_code */
	uint8_t slot;
	uint16_t form;
	uint32_t constant; /* index of DW_FORM_implicit_const's value */
};

struct dwarf_abbrev {
	uint32_t list[DWARF_WANT_N]; /* index of the first operation, by enum dwarf_want */
	uint64_t code;
	uint32_t attributes; /* offset of the attribute list in .debug_abbrev */
	int32_t fixed_size;  /* bytes of all attributes; -1: they must be read to be passed over */
	uint16_t tag;
	uint8_t kind; /* enum dwarf_kind */
	bool children;
	bool has_code; /* has DW_AT_low_pc or DW_AT_ranges */
};

/* dwarf_abbrevs.plain[]: how to pass over a DIE with a one-byte code without reading its
 * abbreviation. The value is the size of the attributes in bytes, times 4, plus 1; plus 1 more if
 * it has children. 0 for code 0, which ends a level. DWARF_PLAIN_STOP: the abbreviation is needed.
 */
#define DWARF_PLAIN_STOP UINT16_MAX

struct dwarf_abbrevs {
	struct dwarf_abbrev *v;
	size_t n;
	uint64_t end;	/* offset in .debug_abbrev after the last byte read */
	bool dense;	/* v[i].code == i + 1 */
	bool has_code;	/* some function has code */
	bool has_types; /* parameters have types: neither -g1 nor -gmlt */
	struct dwarf_op *ops;
	int64_t *constants;
	uint16_t plain[256];
};

/* Prepares one slot per distinct table of the file's units. Returns 0 or -ERR_NOMEM. */
int dwarf_abbrev_slots_make(struct dwarf_file *f);
/* Returns the table of a unit, decoded at the first request; it lives until
 * dwarf_file_forget_units(). A table that is cut off ends with its last whole abbreviation. Returns
 * NULL when out of memory. For any thread. */
const struct dwarf_abbrevs *dwarf_abbrevs_get(const struct dwarf_file *f,
					      const struct dwarf_unit *u);
/* The slot (still without table) that a unit's table belongs to, and the order of slots. */
struct dwarf_abbrev_slot dwarf_abbrev_slot_of(const struct dwarf_unit *u);
int dwarf_abbrev_slot_cmp(const void *a, const void *b);
/* Takes ownership of a table that was decoded without knowing where other tables begin. Returns
 * false, and frees the table, if it extends beyond the begin of another one, or is not needed. */
bool dwarf_abbrevs_give(struct dwarf_file *f, const struct dwarf_abbrev_slot *slot);
/* Decodes the table of a slot, unless it has one. */
void dwarf_abbrevs_fill(const struct dwarf_file *f, struct dwarf_abbrev_slot *slot);
void dwarf_abbrevs_free(struct dwarf_abbrevs *t);

const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code);

static inline const struct dwarf_abbrev *dwarf_abbrev_at(const struct dwarf_abbrevs *t,
							 uint64_t code)
{
	if (t->dense)
		return code - 1 < t->n ? &t->v[code - 1] : NULL;
	return dwarf_abbrev_find(t, code);
}

/* Reads the attributes that follow the abbreviation code. Sets b->bad when damaged. Writes only the
 * slots of attributes that the DIE has. */
static inline void dwarf_die_read(const struct dwarf_abbrevs *t, const struct dwarf_unit *u,
				  const struct dwarf_abbrev *a, enum dwarf_want want, struct buf *b,
				  struct dwarf_value *v)
{
	const struct dwarf_op *op = &t->ops[a->list[want]];

	for (;; op++) {
		struct dwarf_value *to = &v[op->slot];

		if (op->skip)
			buf_skip(b, op->skip);
		if (op->op == DWARF_OP_END)
			return;
		to->form = op->form;
		to->raw = op->op == DWARF_OP_IMPLICIT
				  ? (uint64_t)t->constants[op->constant]
				  : dwarf_form_read(b, (enum dwarf_op_code)op->op, u, &to->form);
	}
}

/* Reads all attributes, one by one: slow, for the few DIEs of which more is wanted than the lists
 * have. `decl` begins at abbrev->attributes. Returns false after the last attribute; sets b->bad
 * when damaged. */
struct buf dwarf_attributes(const struct dwarf_file *f, const struct dwarf_abbrev *a);
bool dwarf_attribute_next(struct buf *decl, const struct dwarf_unit *u, struct buf *b,
			  uint64_t *attribute, struct dwarf_value *v);

#endif
