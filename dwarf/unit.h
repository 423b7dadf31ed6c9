/* unit.h - a unit opened for reading: the attributes of its root DIE that apply to all others.
 * Private to dwarf/. */
#ifndef DWARF_UNIT_H
#define DWARF_UNIT_H

#include "dwarf/abbrev.h"

struct dwarf_cu {
	const struct dwarf_file *file;
	const struct dwarf_unit *unit;
	const struct dwarf_cu
		*skeleton; /* of a split unit: has its addresses, DWARF 4 ranges and lines */
	const struct dwarf_abbrevs *abbrevs;
	const struct dwarf_abbrev *root;
	struct dwarf_slice str_offsets, rnglists; /* a package's unit sees only its part */
	uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
	uint64_t base_addr; /* of range lists: DW_AT_low_pc, else 0 */
	struct dwarf_value low_pc, high_pc, ranges;
	uint64_t stmt_list;
	bool has_stmt_list;
	const char *comp_dir, *dwo_name;
	uint64_t dwo_id, language;
	uint64_t first_die; /* offset after the root DIE */
};

/* Reads the root DIE. Returns 0; 1 if it is damaged; -ERR_NOMEM. */
int dwarf_cu_open(struct dwarf_cu *cu, const struct dwarf_file *f, const struct dwarf_unit *u);
/* The same for a split unit: addresses and bases come from its skeleton, which must outlive it. */
int dwarf_cu_open_split(struct dwarf_cu *cu, const struct dwarf_file *f, const struct dwarf_unit *u,
			const struct dwarf_cu *skeleton);

/* Cursor at an offset of .debug_info, bounded by the unit. */
static inline struct buf dwarf_cu_at(const struct dwarf_cu *cu, uint64_t off)
{
	struct dwarf_slice s = {cu->file->sec[DWARF_INFO].data, cu->unit->end};
	struct buf b = dwarf_slice_at(&s, off, cu->file->swap);

	b.bad |= off < cu->unit->off + cu->unit->header_size;
	return b;
}

/* Is DW_AT_name the whole name, because there are no scopes (C), or they are part of it (Ada, Go)?
 */
bool dwarf_language_is_flat(uint64_t language);
bool dwarf_language_is_cxx(uint64_t language);

#endif
