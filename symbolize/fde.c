/* fde.c - binary search in .eh_frame_hdr for the start of the function around an address.
 *
 * Law: LSB core, "Eh Frame Header": version 1, encodings of the pointer, the count and the table,
 * then sorted pairs (initial location, address of the FDE). Linkers write the table as sdata4
 * relative to the section's own address; other forms are not searched. */
#include <string.h>

#include "base/buf.h"
#include "symbolize/elfsyms.h"

enum {
	PE_OMIT = 0xff,
	PE_SDATA4_DATAREL = 0x3b,
	PE_SIZE_MASK = 0x07,
	PE_ABSPTR = 0,
	PE_2 = 2,
	PE_4 = 3,
	PE_8 = 4,
	ENTRY = 8,
};

static uint64_t read_encoded(struct buf *b, uint8_t encoding, bool is_64)
{
	switch (encoding & PE_SIZE_MASK) {
	case PE_ABSPTR:
		return is_64 ? buf_u64(b) : buf_u32(b);
	case PE_2:
		return buf_u16(b);
	case PE_4:
		return buf_u32(b);
	case PE_8:
		return buf_u64(b);
	default: /* LEB128 is not used here */
		b->bad = true;
		return 0;
	}
}

static bool open_table(struct elf_image *img, struct buf *table, uint64_t *hdr_vaddr, size_t *count)
{
	const uint8_t *p = NULL;
	size_t left = 0;
	uint64_t n;
	uint8_t version, ptr, cnt, enc;
	struct buf b;
	Elf64_Phdr ph;

	if (!elf_image_phdr(img, PT_GNU_EH_FRAME, &ph))
		return false;
	p = elf_image_at_vaddr(img, ph.p_vaddr, &left);
	if (!p)
		return false;
	b = buf_make(p, left < ph.p_filesz ? left : (size_t)ph.p_filesz, ph.p_offset,
		     elf_image_swapped(img));
	version = buf_u8(&b);
	ptr = buf_u8(&b);
	cnt = buf_u8(&b);
	enc = buf_u8(&b);
	if (version != 1 || ptr == PE_OMIT || cnt == PE_OMIT || enc != PE_SDATA4_DATAREL)
		return false;
	read_encoded(&b, ptr, elf_image_is_64(img));
	n = read_encoded(&b, cnt, elf_image_is_64(img));
	if (!buf_ok(&b) || !n || n > buf_left(&b) / ENTRY)
		return false;
	*table = buf_sub(&b, n * ENTRY);
	*hdr_vaddr = ph.p_vaddr;
	*count = (size_t)n;
	return true;
}

static uint64_t start_at(const struct buf *table, uint64_t hdr_vaddr, size_t i)
{
	struct buf b = *table;

	buf_seek(&b, i * ENTRY);
	return hdr_vaddr + (uint64_t)(int64_t)(int32_t)buf_u32(&b);
}

bool fde_start(struct elf_image *img, uint64_t vaddr, uint64_t *ret)
{
	uint64_t hdr_vaddr;
	size_t lo = 0, hi;
	struct buf table;

	if (!open_table(img, &table, &hdr_vaddr, &hi))
		return false;
	if (start_at(&table, hdr_vaddr, 0) > vaddr)
		return false;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (start_at(&table, hdr_vaddr, mid) <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	*ret = start_at(&table, hdr_vaddr, lo);
	return *ret <= vaddr;
}
