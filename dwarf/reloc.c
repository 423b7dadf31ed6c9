/* reloc.c - applies relocations to debug sections (ELF gABI chapter 4 and the supplements of
 * the processors). */
#include "dwarf/reloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/processor.h"
#include "modules/modules.h"

/* The data that one relocation section refers to. */
struct tables {
	struct elf_image *img;
	const uint64_t *layout;
	size_t n_sections;
	struct elf_section symbols;
	bool swap, wide;
	const struct processor *cpu;
};

struct relocation {
	uint64_t off, addend;
	uint32_t symbol, type;
};

uint64_t *dwarf_reloc_layout(struct elf_image *img)
{
	size_t n = elf_image_section_count(img), i;
	uint64_t *layout = malloc((n + 1) * sizeof *layout), at = 0;

	for (i = 0; layout && i < n; i++) {
		const char *name;
		struct elf_section s;
		uint64_t align;

		layout[i] = DWARF_NOT_PLACED;
		if (!elf_image_section_at(img, i, &name, &s) || !(s.flags & SHF_ALLOC) ||
		    !(s.flags & SHF_EXECINSTR) || !strncmp(name, ".init", 5))
			continue;
		align = s.align && !(s.align & (s.align - 1)) ? s.align : 1;
		at = (at + align - 1) & ~(align - 1);
		if (at > INT64_MAX || s.size > INT64_MAX)
			continue;
		layout[i] = at;
		at += s.size;
	}
	return layout;
}

static unsigned patch_size(const struct processor *cpu, uint32_t type)
{
	if (!cpu || !type)
		return 0;
	if (type == cpu->reloc_abs64)
		return 8;
	return type == cpu->reloc_abs32 || type == cpu->reloc_abs32_signed ? 4 : 0;
}

/* Returns false for code that has no address. */
static bool symbol_value(const struct tables *t, uint32_t index, uint64_t *ret)
{
	size_t size = t->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct buf b = buf_make(t->symbols.data, (size_t)t->symbols.size, 0, t->swap);
	const char *name;
	struct elf_section s;
	uint64_t value;
	uint16_t shndx;

	buf_skip(&b, (uint64_t)index * size + 4);
	if (t->wide) {
		buf_skip(&b, 2);
		shndx = buf_u16(&b);
		value = buf_u64(&b);
	} else {
		value = buf_u32(&b);
		buf_skip(&b, 6);
		shndx = buf_u16(&b);
	}
	if (!buf_ok(&b) || !elf_image_section_at(t->img, shndx, &name, &s) || !shndx)
		return false;
	if (s.flags & SHF_ALLOC) {
		if (t->layout[shndx] == DWARF_NOT_PLACED)
			return false;
		value += t->layout[shndx];
	}
	*ret = value;
	return true;
}

static struct relocation read_relocation(const struct tables *t, struct buf *b, bool has_addend)
{
	struct relocation r = {.off = t->wide ? buf_u64(b) : buf_u32(b)};
	uint64_t info = t->wide ? buf_u64(b) : buf_u32(b);

	r.symbol = (uint32_t)(t->wide ? info >> 32 : info >> 8);
	r.type = (uint32_t)(t->wide ? info & 0xffffffff : info & 0xff);
	if (has_addend)
		r.addend = t->wide ? buf_u64(b) : (uint64_t)(int32_t)buf_u32(b);
	return r;
}

static void patch(const struct tables *t, uint8_t *bytes, uint64_t size, struct relocation r,
		  bool has_addend)
{
	unsigned n = patch_size(t->cpu, r.type);
	struct buf old;
	uint64_t value;

	if (!n || size < n || r.off > size - n)
		return;
	old = buf_make(bytes + r.off, n, 0, t->swap);
	if (!has_addend)
		r.addend = n == 8 ? buf_u64(&old) : buf_u32(&old);
	/* the value that lld writes for dropped code (ranges.c) */
	value = symbol_value(t, r.symbol, &value) ? value + r.addend : UINT64_MAX - 1;
	if (n == 8) {
		value = t->swap ? __builtin_bswap64(value) : value;
		memcpy(bytes + r.off, &value, 8);
	} else {
		uint32_t half = t->swap ? __builtin_bswap32((uint32_t)value) : (uint32_t)value;

		memcpy(bytes + r.off, &half, 4);
	}
}

/* The loaded section with this index in the file; DWARF_SECTION_N: none. */
static size_t loaded_section(const struct dwarf_file *f, uint32_t index)
{
	size_t i;

	for (i = 0; i < DWARF_SECTION_N; i++)
		if (f->sec[i].data && f->sec_index[i] == index)
			return i;
	return DWARF_SECTION_N;
}

static int apply_section(struct dwarf_file *f, struct tables *t, const struct elf_section *rel)
{
	size_t to = loaded_section(f, rel->info);
	bool has_addend = rel->type == SHT_RELA;
	struct buf b = buf_make(rel->data, (size_t)rel->size, 0, t->swap);
	size_t entry = (t->wide ? 8u : 4u) * (has_addend ? 3 : 2);
	const char *name;

	if (to == DWARF_SECTION_N || !elf_image_section_at(t->img, rel->link, &name, &t->symbols) ||
	    !t->symbols.data)
		return 0;
	if (!f->relocated[to]) {
		f->relocated[to] = malloc(f->sec[to].size + 1);
		if (!f->relocated[to])
			return -ERR_NOMEM;
		memcpy(f->relocated[to], f->sec[to].data, f->sec[to].size);
		f->sec[to].data = f->relocated[to];
	}
	while (buf_left(&b) >= entry)
		patch(t, f->relocated[to], f->sec[to].size, read_relocation(t, &b, has_addend),
		      has_addend);
	return 0;
}

int dwarf_reloc_apply(struct dwarf_file *f)
{
	uint64_t *layout = dwarf_reloc_layout(f->img);
	struct tables t = {
		.img = f->img,
		.layout = layout,
		.n_sections = elf_image_section_count(f->img),
		.swap = f->swap,
		.wide = elf_image_is_64(f->img),
		.cpu = processor_find_elf(elf_image_machine(f->img), elf_image_is_64(f->img))};
	size_t i;
	int rc = layout ? 0 : -ERR_NOMEM;

	for (i = 0; !rc && i < t.n_sections; i++) {
		const char *name;
		struct elf_section s;

		/* Relocation sections are never compressed. */
		if (elf_image_section_at(f->img, i, &name, &s) && s.data &&
		    (s.type == SHT_RELA || s.type == SHT_REL))
			rc = apply_section(f, &t, &s);
	}
	free(layout);
	return rc;
}
