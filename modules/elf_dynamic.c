/* elf_dynamic.c - makes sections for a file without section headers, from PT_DYNAMIC and others.
 *
 * Binaries stripped with sstrip and images dumped from memory have only program headers, but these
 * lead to everything that symbol tables and unwinding need. Source: ELF gABI chapter 5, "Dynamic
 * Section". */
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "modules/image.h"

enum { DYN_SYMTAB, DYN_STRTAB, DYN_STRSZ, DYN_SYMENT, DYN_HASH, DYN_GNU_HASH, DYN_N };
#define DYN_ENTRIES_MAX 4096

static struct buf buf_at_vaddr(const struct elf_image *img, uint64_t vaddr)
{
	size_t left = 0;
	const uint8_t *p = vaddr ? elf_image_at_vaddr(img, vaddr, &left) : NULL;

	return buf_make(p, p ? left : 0, 0, img->swapped);
}

static void read_dynamic(const struct elf_image *img, const Elf64_Phdr *ph, uint64_t dyn[DYN_N])
{
	const uint8_t *p = image_bytes_at(img, ph->p_offset, ph->p_filesz);
	struct buf b = buf_make(p, p ? (size_t)ph->p_filesz : 0, 0, img->swapped);
	unsigned i;

	for (i = 0; i < DYN_ENTRIES_MAX && buf_left(&b); i++) {
		uint64_t tag = img->is_64 ? buf_u64(&b) : buf_u32(&b);
		uint64_t val = img->is_64 ? buf_u64(&b) : buf_u32(&b);

		if (!buf_ok(&b) || tag == DT_NULL)
			break;
		switch (tag) {
		case DT_SYMTAB:
			dyn[DYN_SYMTAB] = val;
			break;
		case DT_STRTAB:
			dyn[DYN_STRTAB] = val;
			break;
		case DT_STRSZ:
			dyn[DYN_STRSZ] = val;
			break;
		case DT_SYMENT:
			dyn[DYN_SYMENT] = val;
			break;
		case DT_HASH:
			dyn[DYN_HASH] = val;
			break;
		case DT_GNU_HASH:
			dyn[DYN_GNU_HASH] = val;
			break;
		}
	}
}

/* DT_GNU_HASH tells the number of symbols only indirectly: by the end of the last bucket's chain.
 */
static uint64_t gnu_hash_symbols(const struct elf_image *img, uint64_t vaddr)
{
	struct buf b = buf_at_vaddr(img, vaddr), chain;
	uint32_t n_buckets = buf_u32(&b), first = buf_u32(&b), n_bloom = buf_u32(&b);
	uint32_t last = 0, i;

	buf_skip(&b, 4); /* bloom shift */
	buf_skip(&b, (uint64_t)n_bloom * (img->is_64 ? 8 : 4));
	if (!buf_ok(&b) || n_buckets > buf_left(&b) / 4)
		return 0;
	for (i = 0; i < n_buckets; i++) {
		uint32_t head = buf_u32(&b);

		last = head > last ? head : last;
	}
	if (last < first)
		return first;
	chain = b;
	buf_skip(&chain, (uint64_t)(last - first) * 4);
	/* The lowest bit marks the end of a chain. */
	while (buf_ok(&chain)) {
		last++;
		if (buf_u32(&chain) & 1)
			return buf_ok(&chain) ? last : 0;
	}
	return 0;
}

static uint64_t symbol_count(const struct elf_image *img, const uint64_t dyn[DYN_N])
{
	struct buf b;

	if (!dyn[DYN_HASH])
		return gnu_hash_symbols(img, dyn[DYN_GNU_HASH]);
	b = buf_at_vaddr(img, dyn[DYN_HASH]);
	buf_skip(&b, 4); /* nbucket; nchain, the number of symbols, follows */
	return buf_u32(&b);
}

/* Returns NULL if the bytes are not in the file. */
static struct elf_section *add(struct elf_image *img, const char *name, uint32_t type,
			       uint64_t vaddr, uint64_t size)
{
	struct image_section *sec = &img->sections[img->n_sections];
	size_t left = 0;
	const uint8_t *p = vaddr ? elf_image_at_vaddr(img, vaddr, &left) : NULL;
	uint64_t off = 0;

	if (!p || size > left || !elf_image_vaddr_to_off(img, vaddr, &off))
		return NULL;
	sec->name = name;
	sec->s = (struct elf_section){.data = p,
				      .size = size,
				      .vaddr = vaddr,
				      .off = off,
				      .type = type,
				      .flags = SHF_ALLOC,
				      .index = (uint32_t)img->n_sections};
	img->n_sections++;
	return &sec->s;
}

int image_sections_from_dynamic(struct elf_image *img, struct err *err)
{
	enum { MADE_MAX = 6 };
	uint64_t dyn[DYN_N] = {0}, entsize = img->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct elf_section *symbols;
	uint32_t strings;
	Elf64_Phdr ph;

	if (!img->n_segments)
		return 0;
	img->sections = calloc(MADE_MAX, sizeof *img->sections);
	if (!img->sections)
		return err_nomem(err);
	img->sections[img->n_sections++].name = ""; /* index 0 is no section */
	if (elf_image_phdr(img, PT_GNU_EH_FRAME, &ph))
		add(img, ".eh_frame_hdr", SHT_PROGBITS, ph.p_vaddr, ph.p_filesz);
	if (!elf_image_phdr(img, PT_DYNAMIC, &ph))
		return 0;
	add(img, ".dynamic", SHT_DYNAMIC, ph.p_vaddr, ph.p_filesz);
	read_dynamic(img, &ph, dyn);
	strings = (uint32_t)img->n_sections;
	if (!add(img, ".dynstr", SHT_STRTAB, dyn[DYN_STRTAB], dyn[DYN_STRSZ]))
		return 0;
	if (dyn[DYN_SYMENT] && dyn[DYN_SYMENT] != entsize)
		return 0;
	symbols =
		add(img, ".dynsym", SHT_DYNSYM, dyn[DYN_SYMTAB], symbol_count(img, dyn) * entsize);
	if (symbols) {
		symbols->entsize = entsize;
		symbols->link = strings;
	}
	return 0;
}
