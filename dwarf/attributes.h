/* attributes.h - DIEs with the attributes of parameters, types and calls. Private to dwarf/.
 *
 * Slow, for the few DIEs around addresses that are asked for: unlike abbrev.h it also has blocks.
 */
#ifndef DWARF_ATTRIBUTES_H
#define DWARF_ATTRIBUTES_H

#include "dwarf/unit.h"

enum dwarf_attribute_slot {
	DWARF_AT_SLOT_NONE,
	DWARF_AT_NAME,
	DWARF_AT_LINKAGE,
	DWARF_AT_TYPE,
	DWARF_AT_LOCATION,
	DWARF_AT_VALUE,
	DWARF_AT_LOW,
	DWARF_AT_HIGH,
	DWARF_AT_RANGES,
	DWARF_AT_ORIGIN,
	DWARF_AT_SPECIFICATION,
	DWARF_AT_SIZE,
	DWARF_AT_ENCODING,
	DWARF_AT_MEMBER_AT,
	DWARF_AT_BITS,
	DWARF_AT_BIT_AT,
	DWARF_AT_FRAME_BASE,
	DWARF_AT_CALL_RETURN,
	DWARF_AT_CALL_ORIGIN,
	DWARF_AT_CALL_TARGET,
	DWARF_AT_CALL_VALUE,
	DWARF_AT_CALL_TAIL,
	DWARF_AT_SIBLING,
	DWARF_AT_DECLARATION,
	DWARF_AT_LOCLISTS_BASE,
	DWARF_AT_PRODUCER,
	DWARF_AT_ALL_CALLS,
	DWARF_AT_IS_RESULT, /* DW_AT_variable_parameter: Go has it of results */
	DWARF_AT_CONVENTION,
	DWARF_AT_ENTRY,
	DWARF_AT_SLOTS,
};

/* An attribute; form 0: the DIE does not have it. `block`: of forms that are blocks of bytes. */
struct dwarf_attribute {
	struct dwarf_value v;
	struct dwarf_slice block;
};

struct dwarf_any_die {
	struct dwarf_ref at;
	uint64_t end; /* offset after its attributes */
	uint16_t tag;
	bool children;
	struct dwarf_attribute a[DWARF_AT_SLOTS];
};

/* Returns false at the end of a level (tag 0), and if nothing can be read. */
bool dwarf_any_die_read(const struct dwarf_cu *cu, uint64_t off, struct dwarf_any_die *ret);
/* The offset after a DIE and its descendants; UINT64_MAX: not known. Each DIE that is passed over
 * subtracts 1 from *budget. */
uint64_t dwarf_any_die_behind(const struct dwarf_cu *cu, const struct dwarf_any_die *d,
			      uint64_t *budget);
/* Is a flag set? */
static inline bool dwarf_flag_is_set(struct dwarf_value v)
{
	return v.raw && (v.form == DW_FORM_flag || v.form == DW_FORM_flag_present);
}

#endif
