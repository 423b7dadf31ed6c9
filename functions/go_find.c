/* go_find.c - finds the table of functions in a Go program, and the start of its text.
 *
 * Sources of truth: Go's runtime/symtab.go (struct pcHeader, struct moduledata),
 * cmd/link/internal/ld/pcln.go. Go's own linker gives the table its own section. An external linker
 * merges it with other sections if it contains addresses to be relocated (-buildmode=pie before Go
 * 1.26). Since Go 1.26 its header has no address of the text, either; the runtime's struct
 * moduledata always has it. */

#include "functions/go_table.h"
#include "modules/modules.h"

enum {
	MAGIC_1_16 = 0xfffffffa,
	MAGIC_1_18 = 0xfffffff0,
	MAGIC_1_20 = 0xfffffff1,
	/* magic, two zero bytes, minimum instruction size, pointer size; numbers of functions and
	 * files; since Go 1.18 the start of text */
	HEADER_BYTES = 32,
	TEXT_START = 24,
	/* Word indices in struct moduledata, since Go 1.16. It starts with a pointer to the
	 * table. */
	MODULE_MINPC = 20,
	MODULE_TEXT = 22,
	MODULE_ETEXT = 23,
	CANDIDATES_MAX = 64,
	/* Maximum number of words with the address of the table that are examined; real files have
	 * one. */
	POINTERS_MAX = 64,
};

static unsigned word_bytes(const struct elf_image *img)
{
	return elf_image_is_64(img) ? 8 : 4;
}

static uint64_t word(const struct elf_image *img, struct buf *b)
{
	return elf_image_is_64(img) ? buf_u64(b) : buf_u32(b);
}

static struct buf section_buf(const struct elf_image *img, const struct elf_section *s)
{
	return buf_make(s->data, (size_t)s->size, 0, elf_image_swapped(img));
}

uint64_t go_pointer(struct elf_image *img, uint64_t vaddr)
{
	struct elf_section rela;
	size_t left = 0;
	const uint8_t *p = elf_image_at_vaddr(img, vaddr, &left);
	struct buf b = buf_make(p, p ? left : 0, 0, elf_image_swapped(img));
	uint64_t v = word(img, &b);

	if ((buf_ok(&b) && v) || !elf_image_is_64(img) ||
	    !elf_image_section(img, ".rela.dyn", &rela, NULL) || !rela.data)
		return v;
	b = section_buf(img, &rela);
	while (buf_left(&b) >= sizeof(Elf64_Rela)) {
		uint64_t at = buf_u64(&b), addend;

		buf_skip(&b, 8);
		addend = buf_u64(&b);
		if (at == vaddr)
			return addend;
	}
	return 0;
}

/* ---- struct moduledata ------------------------------------------------------------------- */

static uint64_t module_word(struct elf_image *img, uint64_t moduledata, unsigned index)
{
	return go_pointer(img, moduledata + (uint64_t)index * word_bytes(img));
}

static bool is_moduledata(const struct go_place *t, struct elf_image *img, uint64_t vaddr)
{
	uint64_t text = module_word(img, vaddr, MODULE_TEXT), minpc;

	if (!text || (t->text_vaddr && text != t->text_vaddr))
		return false;
	minpc = module_word(img, vaddr, MODULE_MINPC);
	return text <= minpc && minpc < module_word(img, vaddr, MODULE_ETEXT);
}

/* Searches the words of a data section, or those that its relocations fill in. Each word that has
 * the address of the table counts *pointers down; the search ends at 0. */
static uint64_t moduledata_in(const struct go_place *t, struct elf_image *img,
			      const struct elf_section *s, unsigned *pointers)
{
	bool rela = s->type == SHT_RELA && elf_image_is_64(img);
	struct buf b = section_buf(img, s);

	while (*pointers && buf_left(&b) >= (rela ? sizeof(Elf64_Rela) : word_bytes(img))) {
		uint64_t at = s->vaddr + buf_off(&b), v = word(img, &b);

		if (rela) {
			at = v;
			buf_skip(&b, 8);
			v = buf_u64(&b);
		}
		if (v != t->vaddr)
			continue;
		if (is_moduledata(t, img, at))
			return at;
		--*pointers;
	}
	return 0;
}

/* Bounds the work: sections of real files do not overlap, so together they are not larger than the
 * file. */
static uint64_t moduledata_find(const struct go_place *t, struct elf_image *img, unsigned *pointers)
{
	size_t i, n = elf_image_section_count(img), left;
	struct elf_section s;
	const char *name;
	uint64_t at = 0;

	elf_image_bytes(img, &left);
	for (i = 0; i < n && !at; i++) {
		if (!elf_image_section_at(img, i, &name, &s) || !s.data || !(s.flags & SHF_ALLOC) ||
		    !(s.flags & SHF_WRITE || s.type == SHT_RELA))
			continue;
		if (s.size > left)
			break;
		left -= s.size;
		at = moduledata_in(t, img, &s, pointers);
	}
	return at;
}

/* ---- the table --------------------------------------------------------------------------- */

/* True if this is the header of a table of a version that has the struct moduledata described
 * above. */
static bool has_moduledata(const struct elf_image *img, struct buf b, bool *has_text_start)
{
	uint32_t magic = buf_u32(&b);
	uint16_t zeros = buf_u16(&b);
	uint8_t quantum = buf_u8(&b), ptr_bytes = buf_u8(&b);

	*has_text_start = magic == MAGIC_1_18 || magic == MAGIC_1_20;
	return buf_ok(&b) && (*has_text_start || magic == MAGIC_1_16) && !zeros &&
	       (quantum == 1 || quantum == 2 || quantum == 4) && ptr_bytes == word_bytes(img);
}

/* Fills in the values from the header and struct moduledata. */
static bool complete(struct go_place *t, struct elf_image *img, unsigned *pointers)
{
	bool has_text_start;

	if (!has_moduledata(img, buf_make(t->data, t->size, 0, elf_image_swapped(img)),
			    &has_text_start))
		return false;
	if (has_text_start && t->size >= HEADER_BYTES)
		t->text_vaddr = go_pointer(
			img, t->vaddr + (elf_image_is_64(img) ? TEXT_START : TEXT_START - 8));
	t->moduledata_vaddr = moduledata_find(t, img, pointers);
	if (!has_text_start)
		t->text_vaddr = 0; /* function addresses are absolute */
	else if (!t->text_vaddr && t->moduledata_vaddr)
		t->text_vaddr = module_word(img, t->moduledata_vaddr, MODULE_TEXT);
	return true;
}

/* Finds the table in a section that has other contents, too. */
static bool table_within(struct elf_image *img, const struct elf_section *s, struct go_place *ret)
{
	size_t off, candidates = 0;
	unsigned pointers = POINTERS_MAX;
	bool has_text_start;

	for (off = 0; off < s->size && candidates < CANDIDATES_MAX; off += 8) {
		struct go_place t = {s->data + off, (size_t)s->size - off, s->vaddr + off, 0, 0};

		if (!has_moduledata(img, buf_make(t.data, t.size, 0, elf_image_swapped(img)),
				    &has_text_start))
			continue;
		candidates++;
		if (complete(&t, img, &pointers) && t.moduledata_vaddr) {
			*ret = t;
			return true;
		}
	}
	return false;
}

bool go_place_find(struct elf_image *img, struct go_place *ret)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	unsigned pointers = POINTERS_MAX;
	struct elf_section s, text;
	size_t i;

	for (i = 0; i < sizeof names / sizeof *names; i++) {
		if (!elf_image_section(img, names[i], &s, NULL) || !s.data)
			continue;
		*ret = (struct go_place){s.data, (size_t)s.size, s.vaddr, 0, 0};
		complete(ret, img, &pointers);
		/* e.g. a debug file without data, or damaged */
		if (!ret->text_vaddr && elf_image_section(img, ".text", &text, NULL))
			ret->text_vaddr = text.vaddr;
		return true;
	}
	return elf_image_section(img, ".go.buildinfo", &s, NULL) &&
	       elf_image_section(img, ".data.rel.ro", &s, NULL) && s.data &&
	       table_within(img, &s, ret);
}
