/* ranges.c - .debug_ranges (DWARF 2-4) and .debug_rnglists (DWARF 5, 2.17.3, 7.25). */
#include "dwarf/ranges.h"

/* Is it an address that linkers write for code they dropped? All ones (lld: minus one), or all ones
 * minus one where all ones has another meaning. */
static bool is_tombstone(uint64_t addr, uint8_t addr_size)
{
	uint64_t max = addr_size == 8 ? UINT64_MAX : UINT32_MAX;

	return addr >= max - 1;
}

static uint64_t read_addr(struct dwarf_range_iter *it)
{
	return it->addr_size == 8 ? buf_u64(&it->b) : buf_u32(&it->b);
}

/* DW_FORM_rnglistx: an index into the offsets after the section's header. */
static bool rnglist_offset(const struct dwarf_cu *cu, uint64_t index, uint64_t *ret)
{
	uint8_t size = cu->unit->off_size;
	struct buf b = dwarf_slice_at(&cu->rnglists, cu->rnglists_base, cu->file->swap);

	if (index >= cu->rnglists.size / size)
		return false;
	buf_skip(&b, index * size);
	*ret = cu->rnglists_base + (size == 8 ? buf_u64(&b) : buf_u32(&b));
	return buf_ok(&b);
}

static void init_list(struct dwarf_range_iter *it, struct dwarf_value ranges)
{
	const struct dwarf_cu *cu = it->cu;
	const struct dwarf_cu *holder = cu->skeleton ? cu->skeleton : cu;
	uint64_t off;

	if (ranges.form == DW_FORM_rnglistx) {
		if (!rnglist_offset(cu, ranges.raw, &off))
			return;
	} else if (!dwarf_value_uint(ranges, &off)) {
		return;
	}
	it->base = cu->base_addr;
	it->dead_base = is_tombstone(it->base, it->addr_size);
	if (cu->unit->version >= 5) {
		it->b = dwarf_slice_at(&cu->rnglists, off, cu->file->swap);
		it->mode = DWARF_ITER_RNGLIST;
		return;
	}
	if (cu->skeleton)
		off += cu->ranges_base;
	it->b = dwarf_slice_at(&holder->file->sec[DWARF_RANGES], off, holder->file->swap);
	it->mode = DWARF_ITER_RANGES;
}

void dwarf_range_iter_init(struct dwarf_range_iter *it, const struct dwarf_cu *cu,
			   struct dwarf_value low_pc, struct dwarf_value high_pc,
			   struct dwarf_value ranges)
{
	*it = (struct dwarf_range_iter){.cu = cu, .addr_size = cu->unit->addr_size};
	if (ranges.form) {
		init_list(it, ranges);
		return;
	}
	if (!dwarf_value_addr(cu, low_pc, &it->lo) || is_tombstone(it->lo, it->addr_size))
		return;
	if (dwarf_form_is_addr(high_pc.form)) {
		if (!dwarf_value_addr(cu, high_pc, &it->hi))
			return;
	} else if (dwarf_value_uint(high_pc, &it->hi)) {
		it->hi += it->lo; /* DWARF4 2.17.2: a constant is the size */
	} else {
		return;
	}
	it->mode = DWARF_ITER_PAIR;
}

/* DWARF4 2.17.3: pairs relative to the base address; a pair that begins with the largest address
 * sets a new base. */
static bool next_ranges(struct dwarf_range_iter *it, uint64_t *lo, uint64_t *hi)
{
	uint64_t max = it->addr_size == 8 ? UINT64_MAX : UINT32_MAX;

	*lo = read_addr(it);
	*hi = read_addr(it);
	if (!buf_ok(&it->b) || (!*lo && !*hi)) {
		it->mode = DWARF_ITER_DONE;
		return false;
	}
	if (*lo == max) {
		it->base = *hi;
		it->dead_base = is_tombstone(it->base, it->addr_size);
		*hi = *lo;
		return true;
	}
	*lo += it->base;
	*hi += it->base;
	if (it->dead_base)
		*hi = *lo;
	return true;
}

static void set_base(struct dwarf_range_iter *it, uint64_t base, bool known)
{
	it->base = base;
	it->dead_base = !known || is_tombstone(base, it->addr_size);
}

/* Reads one entry of DWARF5 table 7.30. Sets *lo == *hi if it is not a range. */
static bool next_rnglist(struct dwarf_range_iter *it, uint64_t *lo, uint64_t *hi)
{
	struct buf *b = &it->b;
	uint64_t x;
	bool known = true;

	*lo = *hi = 0;
	switch (buf_u8(b)) {
	case DW_RLE_base_addressx:
		known = dwarf_addr_at(it->cu, buf_uleb(b), &x);
		set_base(it, known ? x : 0, known);
		break;
	case DW_RLE_base_address:
		set_base(it, read_addr(it), true);
		break;
	case DW_RLE_startx_endx:
		known = dwarf_addr_at(it->cu, buf_uleb(b), lo);
		known &= dwarf_addr_at(it->cu, buf_uleb(b), hi);
		break;
	case DW_RLE_startx_length:
		known = dwarf_addr_at(it->cu, buf_uleb(b), lo);
		*hi = *lo + buf_uleb(b);
		break;
	case DW_RLE_offset_pair:
		*lo = it->base + buf_uleb(b);
		*hi = it->base + buf_uleb(b);
		known = !it->dead_base;
		break;
	case DW_RLE_start_end:
		*lo = read_addr(it);
		*hi = read_addr(it);
		break;
	case DW_RLE_start_length:
		*lo = read_addr(it);
		*hi = *lo + buf_uleb(b);
		break;
	default: /* the end, or an entry of unknown length */
		it->mode = DWARF_ITER_DONE;
		return false;
	}
	if (!buf_ok(b)) {
		it->mode = DWARF_ITER_DONE;
		return false;
	}
	if (!known || is_tombstone(*lo, it->addr_size))
		*hi = *lo;
	return true;
}

bool dwarf_range_next(struct dwarf_range_iter *it, uint64_t *budget, uint64_t *lo, uint64_t *hi)
{
	if (it->mode == DWARF_ITER_PAIR) {
		it->mode = DWARF_ITER_DONE;
		*lo = it->lo;
		*hi = it->hi;
		return *lo < *hi;
	}
	while (it->mode != DWARF_ITER_DONE && *budget) {
		bool more = it->mode == DWARF_ITER_RANGES ? next_ranges(it, lo, hi)
							  : next_rnglist(it, lo, hi);

		--*budget;
		if (more && *lo < *hi)
			return true;
	}
	return false;
}
