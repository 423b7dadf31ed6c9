/* form.h - reads attribute values. Private to dwarf/.
 *
 * A form becomes an operation that says how its bytes are read. A `struct dwarf_value` is the value
 * read plus its form; it gets its meaning (address, string, reference ...) in the unit that it was
 * read from. Source of truth: DWARF5 7.5.6, and the GNU forms of gcc's -gsplit-dwarf and of dwz. */
#ifndef DWARF_FORM_H
#define DWARF_FORM_H

#include <dwarf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "dwarf/file.h"

/* llvm/BinaryFormat/Dwarf.def: an index into .debug_addr and an offset to add. */
#define DW_FORM_LLVM_addrx_offset 0x2001

/* Longest string that is accepted in .debug_info itself: each reference to its DIE reads it again.
 */
#define DWARF_INLINE_STRING_MAX (256u << 10)

struct dwarf_cu;

struct dwarf_value {
	uint64_t raw;  /* number, offset or index; for DW_FORM_string the address of the string */
	uint16_t form; /* 0: attribute absent */
};

enum dwarf_op_code {
	DWARF_OP_BAD, /* unknown form, and so of unknown length */
	DWARF_OP_U8,
	DWARF_OP_U16,
	DWARF_OP_U24,
	DWARF_OP_U32,
	DWARF_OP_U64,
	DWARF_OP_SKIP, /* fixed size, no value */
	DWARF_OP_ULEB,
	DWARF_OP_SLEB,
	DWARF_OP_STRING,
	DWARF_OP_BLOCK8,
	DWARF_OP_BLOCK16,
	DWARF_OP_BLOCK32,
	DWARF_OP_BLOCK_ULEB,
	DWARF_OP_IMPLICIT, /* the value is in the abbreviation */
	DWARF_OP_INDIRECT,
	DWARF_OP_ADDRX_OFFSET,
	DWARF_OP_END,
};

/* How units of one version, address size and offset size read a form. `size` in bytes of a form of
 * fixed size, else -1. */
struct dwarf_form {
	enum dwarf_op_code op;
	int size;
};

struct dwarf_form dwarf_form_op(uint16_t form, uint8_t version, uint8_t addr_size,
				uint8_t off_size);

/* Reads one value; DW_FORM_indirect replaces *form by the form that it names. Sets b->bad when
 * damaged. */
uint64_t dwarf_form_read_rare(struct buf *b, enum dwarf_op_code op, const struct dwarf_unit *u,
			      uint16_t *form);

static inline uint64_t dwarf_form_read(struct buf *b, enum dwarf_op_code op,
				       const struct dwarf_unit *u, uint16_t *form)
{
	switch (op) {
	case DWARF_OP_U8:
		return buf_u8(b);
	case DWARF_OP_U16:
		return buf_u16(b);
	case DWARF_OP_U32:
		return buf_u32(b);
	case DWARF_OP_U64:
		return buf_u64(b);
	case DWARF_OP_ULEB:
		return buf_uleb(b);
	default:
		return dwarf_form_read_rare(b, op, u, form);
	}
}

/* Convert a value by its class. Return false or NULL if it is of another class, or lies outside of
 * its section. */
bool dwarf_value_addr(const struct dwarf_cu *cu, struct dwarf_value v, uint64_t *ret);
const char *dwarf_value_string(const struct dwarf_cu *cu, struct dwarf_value v);
bool dwarf_value_uint(struct dwarf_value v, uint64_t *ret);
/* Is it of class address? DW_AT_high_pc may be an address or a constant. */
bool dwarf_form_is_addr(uint16_t form);

/* A DIE: an offset in the .debug_info of a file. */
struct dwarf_ref {
	const struct dwarf_file *file; /* NULL: none */
	uint64_t off;
};
struct dwarf_ref dwarf_value_ref(const struct dwarf_cu *cu, struct dwarf_value v);

/* Reads entry `index` of .debug_addr. Returns false if there is none. */
bool dwarf_addr_at(const struct dwarf_cu *cu, uint64_t index, uint64_t *ret);

#endif
