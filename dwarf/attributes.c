/* attributes.c - reads DIEs with all that parameters, types and calls need. */
#include "dwarf/attributes.h"

#include "dwarf/walk.h"

/* GNU's attributes of calls, before DWARF 5. */
enum {
	GNU_call_site_value = 0x2111,
	GNU_call_site_target = 0x2113,
	GNU_tail_call = 0x2115,
	GNU_all_call_sites = 0x2117,
};

static enum dwarf_attribute_slot slot_of(uint64_t attribute)
{
	static const uint8_t slots[] = {
		[DW_AT_name] = DWARF_AT_NAME,
		[DW_AT_linkage_name] = DWARF_AT_LINKAGE,
		[DW_AT_type] = DWARF_AT_TYPE,
		[DW_AT_location] = DWARF_AT_LOCATION,
		[DW_AT_const_value] = DWARF_AT_VALUE,
		[DW_AT_low_pc] = DWARF_AT_LOW,
		[DW_AT_high_pc] = DWARF_AT_HIGH,
		[DW_AT_ranges] = DWARF_AT_RANGES,
		[DW_AT_abstract_origin] = DWARF_AT_ORIGIN,
		[DW_AT_specification] = DWARF_AT_SPECIFICATION,
		[DW_AT_byte_size] = DWARF_AT_SIZE,
		[DW_AT_encoding] = DWARF_AT_ENCODING,
		[DW_AT_data_member_location] = DWARF_AT_MEMBER_AT,
		[DW_AT_bit_size] = DWARF_AT_BITS,
		[DW_AT_data_bit_offset] = DWARF_AT_BIT_AT,
		[DW_AT_frame_base] = DWARF_AT_FRAME_BASE,
		[DW_AT_call_return_pc] = DWARF_AT_CALL_RETURN,
		[DW_AT_call_origin] = DWARF_AT_CALL_ORIGIN,
		[DW_AT_call_target] = DWARF_AT_CALL_TARGET,
		[DW_AT_call_value] = DWARF_AT_CALL_VALUE,
		[DW_AT_call_tail_call] = DWARF_AT_CALL_TAIL,
		[DW_AT_sibling] = DWARF_AT_SIBLING,
		[DW_AT_declaration] = DWARF_AT_DECLARATION,
		[DW_AT_loclists_base] = DWARF_AT_LOCLISTS_BASE,
		[DW_AT_producer] = DWARF_AT_PRODUCER,
		[DW_AT_call_all_calls] = DWARF_AT_ALL_CALLS,
		[DW_AT_variable_parameter] = DWARF_AT_IS_RESULT,
		[DW_AT_calling_convention] = DWARF_AT_CONVENTION,
		[DW_AT_entry_pc] = DWARF_AT_ENTRY,
	};

	switch (attribute) {
	case DW_AT_MIPS_linkage_name:
		return DWARF_AT_LINKAGE;
	case GNU_call_site_value:
		return DWARF_AT_CALL_VALUE;
	case GNU_call_site_target:
		return DWARF_AT_CALL_TARGET;
	case GNU_tail_call:
		return DWARF_AT_CALL_TAIL;
	case GNU_all_call_sites:
		return DWARF_AT_ALL_CALLS;
	}
	return attribute < sizeof slots ? (enum dwarf_attribute_slot)slots[attribute]
					: DWARF_AT_SLOT_NONE;
}

/* The bytes of a block that was just read from `start` on. */
static struct dwarf_slice block_of(const struct buf *b, const uint8_t *start, uint16_t form)
{
	struct buf at = buf_make(start, (size_t)(b->p - start), 0, b->swap);
	uint64_t n;

	switch (form) {
	case DW_FORM_exprloc:
	case DW_FORM_block:
		n = buf_uleb(&at);
		break;
	case DW_FORM_block1:
		n = buf_u8(&at);
		break;
	case DW_FORM_block2:
		n = buf_u16(&at);
		break;
	case DW_FORM_block4:
		n = buf_u32(&at);
		break;
	default:
		return (struct dwarf_slice){0};
	}
	return buf_ok(&at) && buf_left(&at) == n ? (struct dwarf_slice){at.p, n}
						 : (struct dwarf_slice){0};
}

bool dwarf_any_die_read(const struct dwarf_cu *cu, uint64_t off, struct dwarf_any_die *ret)
{
	struct buf b = dwarf_cu_at(cu, off), decl;
	const struct dwarf_abbrev *a;
	struct dwarf_value v;
	uint64_t attribute;

	*ret = (struct dwarf_any_die){.at = {cu->file, off}};
	a = dwarf_abbrev_at(cu->abbrevs, buf_uleb(&b));
	if (!a || !buf_ok(&b))
		return false;
	ret->tag = a->tag;
	ret->children = a->children;
	decl = dwarf_attributes(cu->file, a);
	for (;;) {
		const uint8_t *start = b.p;
		enum dwarf_attribute_slot slot;

		if (!dwarf_attribute_next(&decl, cu->unit, &b, &attribute, &v))
			break;
		slot = slot_of(attribute);
		ret->a[slot] = (struct dwarf_attribute){v, block_of(&b, start, v.form)};
	}
	ret->end = buf_off(&b);
	return buf_ok(&b) && buf_ok(&decl);
}

uint64_t dwarf_any_die_behind(const struct dwarf_cu *cu, const struct dwarf_any_die *d,
			      uint64_t *budget)
{
	struct dwarf_ref sibling = dwarf_value_ref(cu, d->a[DWARF_AT_SIBLING].v);
	size_t depth = 1;
	struct buf b;

	if (!d->children)
		return d->end;
	if (sibling.file == d->at.file && sibling.off > d->end && sibling.off < cu->unit->end)
		return sibling.off;
	b = dwarf_cu_at(cu, d->end);
	while (depth && buf_left(&b) && *budget) {
		uint64_t code = buf_uleb(&b);
		const struct dwarf_abbrev *a = code ? dwarf_abbrev_at(cu->abbrevs, code) : NULL;
		bool children = a && a->children;

		--*budget;
		if (code && !a)
			return UINT64_MAX;
		if (a)
			dwarf_pass_over(cu, a, &b, &children);
		depth = code ? depth + children : depth - 1;
	}
	return buf_ok(&b) && !depth ? buf_off(&b) : UINT64_MAX;
}
