/* symtab.c - which entries of an ELF symbol table are functions, and where they end.
 *
 * Source: ELF gABI chapter 4 "Symbol Table". The types are those that perf chooses
 * (tools/perf/util/symbol-elf.c), so that names agree: FUNC, GNU_IFUNC and OBJECT, and NOTYPE
 * labels that are not hidden. Only symbols in executable sections are used, because only code is
 * looked up. */
#include <string.h>

#include "base/processor.h"
#include "functions/functions.h"

/* Address range of the symbols of one section. end == 0: no code. */
struct bounds {
	uint64_t start, end;
};

struct reader {
	struct elf_image *img;
	struct bounds *sections; /* by section index; runtime layout */
	size_t n_sections;
	bool by_segment; /* no section headers: the executable segments bound the symbols */
	struct elf_symbols symbols;
	const uint8_t *shndx; /* .symtab_shndx: u32 per symbol, for SHN_XINDEX */
	size_t n_shndx;
	const struct processor *cpu; /* NULL: unknown */
	bool has_thumb_bit;
	bool relocatable;	     /* ET_REL: values are relative to their section */
	const struct page_set *only; /* NULL: everything */
	size_t n;		     /* functions seen */
};

/* ---- entries ----------------------------------------------------------------------------- */

bool elf_symbols_open(struct elf_symbols *t, struct elf_image *img, const char *section)
{
	size_t entsize = elf_image_is_64(img) ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct elf_section s, names;
	const uint8_t *last;
	const char *name;

	if (!elf_image_section(img, section, &s, NULL) || !s.data ||
	    (s.entsize && s.entsize != entsize) ||
	    !elf_image_section_at(img, s.link, &name, &names) || !names.data || !names.size)
		return false;
	last = memrchr(names.data, 0, (size_t)names.size);
	if (!last)
		return false;
	*t = (struct elf_symbols){
		.data = s.data,
		.n = (size_t)(s.size / entsize),
		.index = s.index,
		.names = (const char *)names.data,
		.names_bytes = (size_t)(last - names.data) + 1,
		.is_64 = elf_image_is_64(img),
		.swap = elf_image_swapped(img),
	};
	return true;
}

Elf64_Sym elf_symbols_convert(const struct elf_symbols *t, size_t i)
{
	size_t entsize = t->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct buf b = buf_make(t->data + i * entsize, entsize, 0, t->swap);
	Elf64_Sym s;

	s.st_name = buf_u32(&b);
	if (t->is_64) {
		s.st_info = buf_u8(&b);
		s.st_other = buf_u8(&b);
		s.st_shndx = buf_u16(&b);
		s.st_value = buf_u64(&b);
		s.st_size = buf_u64(&b);
	} else {
		s.st_value = buf_u32(&b);
		s.st_size = buf_u32(&b);
		s.st_info = buf_u8(&b);
		s.st_other = buf_u8(&b);
		s.st_shndx = buf_u16(&b);
	}
	return s;
}

const char *elf_symbols_name(const struct elf_symbols *t, const Elf64_Sym *sym)
{
	return sym->st_name < t->names_bytes ? t->names + sym->st_name : NULL;
}

/* ---- pages ------------------------------------------------------------------------------- */

enum { PAGES_MAX = 1 << 20 };

bool page_set_init(struct page_set *set, const uint64_t *vaddrs, size_t n)
{
	uint64_t first = n ? vaddrs[0] >> SYMTAB_PAGE_BITS : 0,
		 last = n ? vaddrs[n - 1] >> SYMTAB_PAGE_BITS : 0;
	size_t i;

	if (!n || last - first >= PAGES_MAX)
		return false;
	*set = (struct page_set){.first = first, .n = (size_t)(last - first + 1)};
	set->bits = calloc(set->n / 64 + 1, sizeof *set->bits);
	for (i = 0; set->bits && i < n; i++) {
		uint64_t page = (vaddrs[i] >> SYMTAB_PAGE_BITS) - first;

		set->bits[page / 64] |= (uint64_t)1 << page % 64;
	}
	return set->bits;
}

void page_set_done(struct page_set *set)
{
	free(set->bits);
	*set = (struct page_set){0};
}

static bool page_set_touches(const struct page_set *set, uint64_t start, uint64_t end)
{
	uint64_t page = start >> SYMTAB_PAGE_BITS, last = (end - 1) >> SYMTAB_PAGE_BITS;

	page = page > set->first ? page - set->first : 0;
	last = last >= set->first ? last - set->first : 0;
	for (; page <= last && page < set->n; page++)
		if (set->bits[page / 64] >> page % 64 & 1)
			return true;
	return false;
}

/* Fast check for the usual case of a large file: the symbol is on a single page that is not in the
 * set. */
static bool is_elsewhere(const struct page_set *set, const Elf64_Sym *s)
{
	uint64_t page = (s->st_value >> SYMTAB_PAGE_BITS) - set->first;
	uint64_t last = ((s->st_value + s->st_size - 1) >> SYMTAB_PAGE_BITS) - set->first;

	return s->st_size && page == last &&
	       (page >= set->n || !(set->bits[page / 64] >> page % 64 & 1));
}

/* ---- executable ranges ------------------------------------------------------------------- */

/* Places the code of a kernel module as the kernel does when loading it: the executable sections in
 * file order, each aligned, without those that are dropped after init (kernel/module/main.c,
 * __layout_sections()). Address 0 is the base of the module. */
static void place_sections(struct reader *r)
{
	uint64_t at = 0;
	struct elf_section s;
	const char *name;
	size_t i;

	for (i = 0; i < r->n_sections; i++) {
		uint64_t align;

		if (!elf_image_section_at(r->img, i, &name, &s) || !(s.flags & SHF_ALLOC) ||
		    !(s.flags & SHF_EXECINSTR) || !strncmp(name, ".init", 5))
			continue;
		align = s.align && !(s.align & (s.align - 1)) ? s.align : 1;
		at = (at + align - 1) & ~(align - 1);
		if (s.size > INT64_MAX || at > INT64_MAX)
			return;
		r->sections[i] = (struct bounds){at, at + s.size};
		at += s.size;
	}
}

static int read_bounds(struct reader *r)
{
	size_t n = elf_image_section_count(r->img), i;
	struct elf_section s;
	const char *name;

	r->by_segment = true;
	r->sections = calloc(n ? n : 1, sizeof *r->sections);
	if (!r->sections)
		return -1;
	r->n_sections = n;
	if (r->relocatable) {
		r->by_segment = false;
		place_sections(r);
		return 0;
	}
	for (i = 0; i < n; i++) {
		if (!elf_image_section_at(r->img, i, &name, &s))
			continue;
		if (!(s.flags & SHF_ALLOC) || !(s.flags & SHF_EXECINSTR) ||
		    s.vaddr > UINT64_MAX - s.size)
			continue;
		r->sections[i] = (struct bounds){s.vaddr, s.vaddr + s.size};
		r->by_segment = false;
	}
	return 0;
}

static struct bounds segment_bounds(const struct elf_image *img, uint64_t vaddr)
{
	const struct elf_segment *g;
	size_t n = elf_image_segments(img, &g), i;

	for (i = 0; i < n; i++)
		if (g[i].flags & PF_X && vaddr >= g[i].vaddr && vaddr - g[i].vaddr < g[i].memsz &&
		    g[i].vaddr <= UINT64_MAX - g[i].memsz)
			return (struct bounds){g[i].vaddr, g[i].vaddr + g[i].memsz};
	return (struct bounds){0};
}

/* The range of code that contains a symbol. end == 0: it is not code, or it lies outside of its
 * section, as the symbols of discarded sections do. */
static struct bounds bounds_of(const struct reader *r, Elf64_Sym *sym, size_t i)
{
	uint32_t shndx = sym->st_shndx;
	struct buf b;

	if (shndx == SHN_UNDEF || (shndx >= SHN_LORESERVE && shndx != SHN_XINDEX))
		return (struct bounds){0};
	if (r->by_segment)
		return segment_bounds(r->img, sym->st_value);
	if (shndx == SHN_XINDEX) {
		if (i >= r->n_shndx)
			return (struct bounds){0};
		b = buf_make(r->shndx + 4 * i, 4, 0, r->symbols.swap);
		shndx = buf_u32(&b);
	}
	if (shndx >= r->n_sections)
		return (struct bounds){0};
	if (r->relocatable)
		sym->st_value += r->sections[shndx].start;
	if (sym->st_value < r->sections[shndx].start || sym->st_value >= r->sections[shndx].end)
		return (struct bounds){0};
	return r->sections[shndx];
}

static bool is_wanted_type(const Elf64_Sym *s)
{
	unsigned visibility = ELF64_ST_VISIBILITY(s->st_other);

	switch (ELF64_ST_TYPE(s->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	case STT_NOTYPE:
		return visibility != STV_HIDDEN && visibility != STV_INTERNAL;
	default:
		return false;
	}
}

/* True for mapping symbols, which mark code and data inside of functions (AAELF, RISC-V psABI). */
static bool is_mapping_symbol(const struct processor *cpu, const char *name)
{
	return cpu && cpu->mark_letters && name[0] == '$' && name[1] &&
	       strchr(cpu->mark_letters, name[1]) &&
	       (!name[2] || name[2] == '.' || cpu->marks_are_open);
}

static int add_symbol(struct reader *r, struct functab *tab, Elf64_Sym *sym, size_t i)
{
	unsigned bind = ELF64_ST_BIND(sym->st_info);
	struct func f = {0};
	struct bounds b;

	if (!sym->st_name || !is_wanted_type(sym))
		return 0;
	if (r->has_thumb_bit && ELF64_ST_TYPE(sym->st_info) == STT_FUNC)
		sym->st_value &= ~(uint64_t)1;
	b = bounds_of(r, sym, i);
	if (!b.end)
		return 0;
	f.start = sym->st_value;
	f.end = b.end;
	if (!sym->st_size)
		f.flags |= FUNC_SIZELESS;
	else if (sym->st_size < b.end - f.start)
		f.end = f.start + sym->st_size;
	r->n++;
	if (r->only && sym->st_size && !page_set_touches(r->only, f.start, f.end))
		return 0;
	/* The name is read last: it is a cache miss. */
	f.name = elf_symbols_name(&r->symbols, sym);
	if (!f.name || !*f.name || is_mapping_symbol(r->cpu, f.name))
		return 0;
	if (bind == STB_WEAK)
		f.flags |= FUNC_WEAK;
	else if (bind == STB_GLOBAL)
		f.flags |= FUNC_GLOBAL;
	if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
		f.flags |= FUNC_CHOOSES;
	return functab_add(tab, &f);
}

static void find_shndx(struct reader *r, uint32_t symtab)
{
	struct elf_section s;
	const char *name;
	size_t i;

	for (i = 0; i < r->n_sections; i++)
		if (elf_image_section_at(r->img, i, &name, &s) && s.type == SHT_SYMTAB_SHNDX &&
		    s.link == symtab && s.data) {
			r->shndx = s.data;
			r->n_shndx = (size_t)s.size / 4;
		}
}

int symtab_read(struct functab *tab, struct elf_image *img, const char *section,
		const struct page_set *only, size_t *n)
{
	struct reader r = {.img = img,
			   .only = only,
			   .cpu = processor_find_elf(elf_image_machine(img), elf_image_is_64(img)),
			   .relocatable = elf_image_type(img) == ET_REL};
	/* symbols can be skipped by value: their values are addresses */
	bool may_skip;
	size_t i;
	int rc = 0;

	r.has_thumb_bit = r.cpu && r.cpu->has_thumb_bit;
	may_skip = only && !r.relocatable && !r.has_thumb_bit;
	*n = 0;
	if (!elf_symbols_open(&r.symbols, img, section))
		return 0;
	if (read_bounds(&r))
		return -1;
	find_shndx(&r, r.symbols.index);
	if (!only)
		rc = vec_reserve(&tab->funcs, tab->funcs.n + r.symbols.n);
	for (i = 0; !rc && i < r.symbols.n; i++) {
		Elf64_Sym sym = elf_symbols_at(&r.symbols, i);

		if (may_skip && r.n && is_elsewhere(only, &sym))
			continue;
		rc = add_symbol(&r, tab, &sym, i);
	}
	free(r.sections);
	*n = r.n;
	return rc;
}
