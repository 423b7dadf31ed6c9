/* form.c - how each form is read and what its value means. */
#include "dwarf/form.h"

#include "dwarf/unit.h"

/* Sizes that depend on the unit. */
enum { SIZE_ADDR = -1, SIZE_OFF = -2, SIZE_REF_ADDR = -3 };

struct form_row {
	uint8_t op;
	int8_t size; /* 0: not fixed, or no bytes */
};

/* DWARF5 table 7.6 */
static const struct form_row rows[] = {
	[DW_FORM_addr] = {DWARF_OP_U64, SIZE_ADDR},
	[DW_FORM_block2] = {DWARF_OP_BLOCK16, 0},
	[DW_FORM_block4] = {DWARF_OP_BLOCK32, 0},
	[DW_FORM_data2] = {DWARF_OP_U16, 2},
	[DW_FORM_data4] = {DWARF_OP_U32, 4},
	[DW_FORM_data8] = {DWARF_OP_U64, 8},
	[DW_FORM_string] = {DWARF_OP_STRING, 0},
	[DW_FORM_block] = {DWARF_OP_BLOCK_ULEB, 0},
	[DW_FORM_block1] = {DWARF_OP_BLOCK8, 0},
	[DW_FORM_data1] = {DWARF_OP_U8, 1},
	[DW_FORM_flag] = {DWARF_OP_U8, 1},
	[DW_FORM_sdata] = {DWARF_OP_SLEB, 0},
	[DW_FORM_strp] = {DWARF_OP_U32, SIZE_OFF},
	[DW_FORM_udata] = {DWARF_OP_ULEB, 0},
	[DW_FORM_ref_addr] = {DWARF_OP_U32, SIZE_REF_ADDR},
	[DW_FORM_ref1] = {DWARF_OP_U8, 1},
	[DW_FORM_ref2] = {DWARF_OP_U16, 2},
	[DW_FORM_ref4] = {DWARF_OP_U32, 4},
	[DW_FORM_ref8] = {DWARF_OP_U64, 8},
	[DW_FORM_ref_udata] = {DWARF_OP_ULEB, 0},
	[DW_FORM_indirect] = {DWARF_OP_INDIRECT, 0},
	[DW_FORM_sec_offset] = {DWARF_OP_U32, SIZE_OFF},
	[DW_FORM_exprloc] = {DWARF_OP_BLOCK_ULEB, 0},
	[DW_FORM_flag_present] = {DWARF_OP_IMPLICIT, 0},
	[DW_FORM_strx] = {DWARF_OP_ULEB, 0},
	[DW_FORM_addrx] = {DWARF_OP_ULEB, 0},
	[DW_FORM_ref_sup4] = {DWARF_OP_U32, 4},
	[DW_FORM_strp_sup] = {DWARF_OP_U32, SIZE_OFF},
	[DW_FORM_data16] = {DWARF_OP_SKIP, 16},
	[DW_FORM_line_strp] = {DWARF_OP_U32, SIZE_OFF},
	[DW_FORM_ref_sig8] = {DWARF_OP_U64, 8},
	[DW_FORM_implicit_const] = {DWARF_OP_IMPLICIT, 0},
	[DW_FORM_loclistx] = {DWARF_OP_ULEB, 0},
	[DW_FORM_rnglistx] = {DWARF_OP_ULEB, 0},
	[DW_FORM_ref_sup8] = {DWARF_OP_U64, 8},
	[DW_FORM_strx1] = {DWARF_OP_U8, 1},
	[DW_FORM_strx2] = {DWARF_OP_U16, 2},
	[DW_FORM_strx3] = {DWARF_OP_U24, 3},
	[DW_FORM_strx4] = {DWARF_OP_U32, 4},
	[DW_FORM_addrx1] = {DWARF_OP_U8, 1},
	[DW_FORM_addrx2] = {DWARF_OP_U16, 2},
	[DW_FORM_addrx3] = {DWARF_OP_U24, 3},
	[DW_FORM_addrx4] = {DWARF_OP_U32, 4},
};

static struct form_row form_row(uint16_t form)
{
	switch (form) {
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return (struct form_row){DWARF_OP_ULEB, 0};
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return (struct form_row){DWARF_OP_U32, SIZE_OFF};
	case DW_FORM_LLVM_addrx_offset:
		return (struct form_row){DWARF_OP_ADDRX_OFFSET, 0};
	}
	if (form >= sizeof rows / sizeof *rows)
		return (struct form_row){DWARF_OP_BAD, 0};
	return rows[form];
}

struct dwarf_form dwarf_form_op(uint16_t form, uint8_t version, uint8_t addr_size, uint8_t off_size)
{
	struct form_row r = form_row(form);
	struct dwarf_form f = {(enum dwarf_op_code)r.op, r.size ? r.size : -1};

	if (r.size == SIZE_ADDR)
		f.size = addr_size;
	else if (r.size == SIZE_OFF)
		f.size = off_size;
	else if (r.size == SIZE_REF_ADDR) /* DWARF2 7.5.4: an address; since DWARF 3 an offset */
		f.size = version <= 2 ? addr_size : off_size;
	if (r.size < 0)
		f.op = f.size == 8 ? DWARF_OP_U64 : DWARF_OP_U32;
	if (f.op == DWARF_OP_IMPLICIT)
		f.size = 0;
	return f;
}

static uint64_t read_string(struct buf *b)
{
	size_t left = buf_left(b);
	const uint8_t *p = b->p;
	const uint8_t *nul =
		left ? memchr(p, 0, left < DWARF_INLINE_STRING_MAX ? left : DWARF_INLINE_STRING_MAX)
		     : NULL;

	buf_skip(b, nul ? (uint64_t)(nul - p) + 1 : UINT64_MAX);
	return nul ? (uint64_t)(uintptr_t)p : 0;
}

static uint64_t read_u24(struct buf *b)
{
	uint64_t x = buf_u8(b), y = buf_u8(b), z = buf_u8(b);

	return b->swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? x << 16 | y << 8 | z
								   : z << 16 | y << 8 | x;
}

/* The form is stored before the value. It must neither be indirect itself nor have its value
 * elsewhere. */
static uint64_t read_indirect(struct buf *b, const struct dwarf_unit *u, uint16_t *form)
{
	uint64_t real = buf_uleb(b);
	struct dwarf_form f = dwarf_form_op((uint16_t)real, u->version, u->addr_size, u->off_size);

	if (real > UINT16_MAX || real == DW_FORM_implicit_const || real == DW_FORM_indirect) {
		b->bad = true;
		return 0;
	}
	*form = (uint16_t)real;
	if (f.op == DWARF_OP_SKIP)
		buf_skip(b, (uint64_t)f.size);
	return f.op == DWARF_OP_IMPLICIT ? 1 : dwarf_form_read(b, f.op, u, form);
}

uint64_t dwarf_form_read_rare(struct buf *b, enum dwarf_op_code op, const struct dwarf_unit *u,
			      uint16_t *form)
{
	uint64_t v;

	switch (op) {
	case DWARF_OP_U24:
		return read_u24(b);
	case DWARF_OP_SLEB:
		return (uint64_t)buf_sleb(b);
	case DWARF_OP_STRING:
		return read_string(b);
	case DWARF_OP_BLOCK8:
		buf_skip(b, buf_u8(b));
		return 0;
	case DWARF_OP_BLOCK16:
		buf_skip(b, buf_u16(b));
		return 0;
	case DWARF_OP_BLOCK32:
		buf_skip(b, buf_u32(b));
		return 0;
	case DWARF_OP_BLOCK_ULEB:
		buf_skip(b, buf_uleb(b));
		return 0;
	case DWARF_OP_INDIRECT:
		return read_indirect(b, u, form);
	case DWARF_OP_ADDRX_OFFSET:
		v = buf_uleb(b);
		return v << 32 | buf_u32(b);
	case DWARF_OP_SKIP:
	case DWARF_OP_IMPLICIT:
		return 0;
	default:
		b->bad = true;
		return 0;
	}
}

/* ---- meaning ----------------------------------------------------------------------------- */

static uint64_t read_off(struct buf *b, uint8_t off_size)
{
	return off_size == 8 ? buf_u64(b) : buf_u32(b);
}

bool dwarf_form_is_addr(uint16_t form)
{
	switch (form) {
	case DW_FORM_addr:
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_LLVM_addrx_offset:
		return true;
	}
	return false;
}

bool dwarf_addr_at(const struct dwarf_cu *cu, uint64_t index, uint64_t *ret)
{
	const struct dwarf_cu *holder = cu->skeleton ? cu->skeleton : cu;
	const struct dwarf_file *f = holder->file;
	uint8_t size = holder->unit->addr_size;
	uint64_t limit = f->sec[DWARF_ADDR].size / size;
	struct buf b;

	if (index >= limit)
		return false;
	b = dwarf_slice_at(&f->sec[DWARF_ADDR], holder->addr_base, f->swap);
	buf_skip(&b, index * size);
	*ret = size == 8 ? buf_u64(&b) : buf_u32(&b);
	return buf_ok(&b);
}

bool dwarf_value_addr(const struct dwarf_cu *cu, struct dwarf_value v, uint64_t *ret)
{
	if (v.form == DW_FORM_addr) {
		*ret = v.raw;
		return true;
	}
	if (v.form == DW_FORM_LLVM_addrx_offset) {
		if (!dwarf_addr_at(cu, v.raw >> 32, ret))
			return false;
		*ret += v.raw & 0xffffffff;
		return true;
	}
	return dwarf_form_is_addr(v.form) && dwarf_addr_at(cu, v.raw, ret);
}

static const char *indexed_string(const struct dwarf_cu *cu, uint64_t index)
{
	const struct dwarf_slice *s = &cu->str_offsets;
	uint8_t size = cu->unit->off_size;
	struct buf b;
	uint64_t off;

	if (index >= s->size / size)
		return NULL;
	b = dwarf_slice_at(s, cu->str_offsets_base, cu->file->swap);
	buf_skip(&b, index * size);
	off = read_off(&b, size);
	return buf_ok(&b) ? dwarf_file_str(cu->file, DWARF_STR, off) : NULL;
}

const char *dwarf_value_string(const struct dwarf_cu *cu, struct dwarf_value v)
{
	switch (v.form) {
	case DW_FORM_string:
		return (const char *)(uintptr_t)v.raw;
	case DW_FORM_strp:
		return dwarf_file_str(cu->file, DWARF_STR, v.raw);
	case DW_FORM_line_strp:
		return dwarf_file_str(cu->file, DWARF_LINE_STR, v.raw);
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return cu->file->alt ? dwarf_file_str(cu->file->alt, DWARF_STR, v.raw) : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return indexed_string(cu, v.raw);
	}
	return NULL;
}

bool dwarf_value_uint(struct dwarf_value v, uint64_t *ret)
{
	switch (v.form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset: /* DWARF 2-3 wrote section offsets as data4 and data8 */
		*ret = v.raw;
		return true;
	}
	return false;
}

struct dwarf_ref dwarf_value_ref(const struct dwarf_cu *cu, struct dwarf_value v)
{
	const struct dwarf_unit *u = cu->unit;
	struct dwarf_ref none = {NULL, 0};

	switch (v.form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return v.raw < u->end - u->off ? (struct dwarf_ref){cu->file, u->off + v.raw}
					       : none;
	case DW_FORM_ref_addr:
		return v.raw < cu->file->sec[DWARF_INFO].size ? (struct dwarf_ref){cu->file, v.raw}
							      : none;
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
	case DW_FORM_GNU_ref_alt:
		return (struct dwarf_ref){cu->file->alt, v.raw};
	}
	return none;
}
