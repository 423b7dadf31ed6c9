/* unit.c - opens units. */
#include "dwarf/unit.h"

#include "base/err.h"
#include "dwarf/split.h"

/* .debug_str_offsets and .debug_rnglists begin with a header. A split unit has no base attributes
 * and refers to the first table after the header (DWARF5 7.26, 7.28). */
static uint64_t first_table(const struct dwarf_unit *u, unsigned header_bytes)
{
	return u->version < 5 ? 0 : header_bytes + (u->off_size == 8 ? 8u : 0u);
}

enum { STR_OFFSETS_HEADER = 8, RNGLISTS_HEADER = 12, ADDR_HEADER = 8 };

static uint64_t uint_or(struct dwarf_value v, uint64_t otherwise)
{
	uint64_t u;

	return dwarf_value_uint(v, &u) ? u : otherwise;
}

static void read_bases(struct dwarf_cu *cu, const struct dwarf_value *v)
{
	const struct dwarf_unit *u = cu->unit;

	cu->str_offsets_base =
		uint_or(v[DWARF_SLOT_STR_OFFSETS_BASE], first_table(u, STR_OFFSETS_HEADER));
	cu->rnglists_base = uint_or(v[DWARF_SLOT_RNGLISTS_BASE], first_table(u, RNGLISTS_HEADER));
	cu->addr_base = uint_or(v[DWARF_SLOT_ADDR_BASE], first_table(u, ADDR_HEADER));
	/* GNU split DWARF 4: the base is for the DIEs in the .dwo, not for the skeleton itself. */
	cu->ranges_base = cu->skeleton ? cu->skeleton->ranges_base
				       : uint_or(v[DWARF_SLOT_GNU_RANGES_BASE], 0);
}

static void read_root(struct dwarf_cu *cu, const struct dwarf_value *v)
{
	read_bases(cu, v);
	cu->low_pc = v[DWARF_SLOT_LOW_PC];
	cu->high_pc = v[DWARF_SLOT_HIGH_PC];
	cu->ranges = v[DWARF_SLOT_RANGES];
	cu->has_stmt_list = dwarf_value_uint(v[DWARF_SLOT_STMT_LIST], &cu->stmt_list);
	cu->comp_dir = dwarf_value_string(cu, v[DWARF_SLOT_COMP_DIR]);
	cu->dwo_name = dwarf_value_string(cu, v[DWARF_SLOT_DWO_NAME]);
	cu->dwo_id = uint_or(v[DWARF_SLOT_DWO_ID], cu->unit->dwo_id);
	cu->language = uint_or(v[DWARF_SLOT_LANGUAGE], 0);
	if (!dwarf_value_addr(cu, cu->low_pc, &cu->base_addr))
		cu->base_addr = cu->skeleton ? cu->skeleton->base_addr : 0;
}

int dwarf_cu_open_split(struct dwarf_cu *cu, const struct dwarf_file *f, const struct dwarf_unit *u,
			const struct dwarf_cu *skeleton)
{
	struct dwarf_value v[DWARF_SLOT_N] = {0};
	struct buf b;

	*cu = (struct dwarf_cu){.file = f,
				.unit = u,
				.skeleton = skeleton,
				.str_offsets = f->sec[DWARF_STR_OFFSETS],
				.rnglists = f->sec[DWARF_RNGLISTS]};
	dwarf_package_narrow(cu);
	cu->abbrevs = dwarf_abbrevs_get(f, u);
	if (!cu->abbrevs)
		return -ERR_NOMEM;
	b = dwarf_cu_at(cu, u->off + u->header_size);
	cu->root = dwarf_abbrev_at(cu->abbrevs, buf_uleb(&b));
	if (!cu->root || cu->root->kind != DWARF_KIND_UNIT)
		return 1;
	dwarf_die_read(cu->abbrevs, u, cu->root, DWARF_WANT_ROOT, &b, v);
	if (!buf_ok(&b))
		return 1;
	cu->first_die = buf_off(&b);
	read_root(cu, v);
	return 0;
}

int dwarf_cu_open(struct dwarf_cu *cu, const struct dwarf_file *f, const struct dwarf_unit *u)
{
	return dwarf_cu_open_split(cu, f, u, NULL);
}

bool dwarf_language_is_flat(uint64_t language)
{
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case 0x2c: /* C17 */
	case DW_LANG_Mips_Assembler:
	case 0x31: /* assembly */
	case DW_LANG_Ada83:
	case DW_LANG_Ada95:
	case DW_LANG_Go:
		return true;
	}
	return false;
}

bool dwarf_language_is_cxx(uint64_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17 */
	case 0x2d: /* C++20 */
		return true;
	}
	return false;
}
