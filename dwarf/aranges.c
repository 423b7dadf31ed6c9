/* aranges.c - sets of address ranges, one per unit. */
#include "dwarf/aranges.h"

/* False when it is not one that we know. `header_at`: bytes of the length before it. */
static bool read_header(struct dwarf_aranges *set, uint8_t off_size, size_t header_at)
{
	struct buf *b = &set->pairs;
	size_t odd;

	if (buf_u16(b) != 2)
		return false;
	set->info_off = off_size == 8 ? buf_u64(b) : buf_u32(b);
	set->addr_size = buf_u8(b);
	if (buf_u8(b) || (set->addr_size != 4 && set->addr_size != 8))
		return false;
	/* Pairs are aligned to their size from the begin of the header. */
	odd = ((size_t)(b->p - b->data) + header_at) % (2u * set->addr_size);
	buf_skip(b, odd ? 2u * set->addr_size - odd : 0);
	return buf_ok(b);
}

bool dwarf_aranges_next(struct buf *section, struct dwarf_aranges *ret)
{
	while (buf_left(section)) {
		uint64_t length = buf_u32(section);
		uint8_t off_size = length == 0xffffffff ? 8 : 4;

		if (off_size == 8)
			length = buf_u64(section);
		ret->pairs = buf_sub(section, length);
		if (!buf_ok(&ret->pairs))
			return false;
		if (read_header(ret, off_size, off_size == 8 ? 12 : 4))
			return true;
	}
	return false;
}

bool dwarf_arange_next(struct dwarf_aranges *set, uint64_t *lo, uint64_t *hi)
{
	struct buf *b = &set->pairs;

	while (buf_left(b)) {
		uint64_t size;

		*lo = set->addr_size == 8 ? buf_u64(b) : buf_u32(b);
		size = set->addr_size == 8 ? buf_u64(b) : buf_u32(b);
		*hi = *lo + size;
		if (!buf_ok(b))
			return false;
		if (*hi > *lo)
			return true;
	}
	return false;
}
