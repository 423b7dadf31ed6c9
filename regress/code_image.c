/* code_image.c - the symbols and dynamic relocations of an ELF file. */
#include <elf.h>

#include "regress/code.h"
#include "unwind/unwind.h"

#define SIZELESS_MAX 65536

static int compare_addresses(const void *a, const void *b)
{
	const struct code_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct code_symbol *v = arg, *x = v + *(const uint32_t *)a,
				 *y = v + *(const uint32_t *)b;
	int by_name = strcmp(x->name, y->name);

	return by_name ? by_name : (x->start > y->start) - (x->start < y->start);
}

static int compare_slots(const void *a, const void *b)
{
	const struct code_slot *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns a string of a string table if it ends within the table; else NULL. */
static const char *string_at(const struct elf_section *s, uint64_t off)
{
	return s->data && off < s->size && memchr(s->data + off, 0, s->size - off)
		       ? (const char *)s->data + off
		       : NULL;
}

static bool table(struct elf_image *img, const char *name, size_t entry, struct elf_section *s)
{
	return elf_image_section(img, name, s, NULL) && s->data && s->entsize == entry;
}

static int read_symbols(struct code_image *c, struct elf_image *symbols)
{
	struct elf_section tab, strings, in;
	const char *section;
	uint64_t i;
	Elf64_Sym s;

	if (!table(symbols, ".symtab", sizeof s, &tab) ||
	    !elf_image_section(symbols, ".strtab", &strings, NULL))
		return 0;
	for (i = 0; i < tab.size / sizeof s; i++) {
		struct code_symbol to = {0};
		unsigned type;

		memcpy(&s, tab.data + i * sizeof s, sizeof s);
		type = ELF64_ST_TYPE(s.st_info);
		to.name = string_at(&strings, s.st_name);
		if (s.st_shndx == SHN_UNDEF || !to.name || !*to.name ||
		    (type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) ||
		    s.st_value + s.st_size < s.st_value)
			continue;
		to.start = s.st_value;
		to.size = s.st_size ? s.st_size : type == STT_OBJECT;
		to.section_end = elf_image_section_at(symbols, s.st_shndx, &section, &in)
					 ? in.vaddr + in.size
					 : 0;
		to.is_function = type != STT_OBJECT;
		to.is_label = type == STT_OBJECT && !s.st_size;
		if (vec_push(&c->by_address, to))
			return -1;
	}
	return 0;
}

bool code_is_padding(const uint8_t *insn, size_t n)
{
	while (n > 1 && (*insn == 0x66 || *insn == 0x2e)) {
		insn++;
		n--;
	}
	return *insn == 0x90 || *insn == 0xcc || (n > 1 && insn[0] == 0x0f && insn[1] == 0x1f);
}

/* Computes the size of a symbol without size, as in assembly: it ends after the last instruction
 * before the next symbol that is not padding. If the code cannot be read the symbol remains only a
 * name. */
static void measure_function(const struct code_image *c, struct code_symbol *s, uint64_t next)
{
	struct code_reference r;
	uint64_t at, end = 1;
	size_t left;
	const uint8_t *code = elf_image_at_vaddr(c->img, s->start, &left);

	if (code && (next <= s->start || next - s->start < left))
		left = next > s->start ? (size_t)(next - s->start) : 0;
	for (at = 0; code && at < left && at < SIZELESS_MAX; at += r.bytes) {
		if (!code_reference_read(code + at, left - at, &r))
			break;
		if (!code_is_padding(code + at, r.bytes))
			end = at + r.bytes;
	}
	s->size = end;
	s->is_function = end > 1;
}

static void measure_functions(struct code_image *c)
{
	struct code_symbol *v = c->by_address.v;
	size_t i, k;

	for (i = 0; i < c->by_address.n; i++) {
		if (v[i].size)
			continue;
		for (k = i + 1; k < c->by_address.n && v[k].start == v[i].start; k++)
			;
		measure_function(c, &v[i],
				 k < c->by_address.n && v[k].start < v[i].section_end
					 ? v[k].start
					 : v[i].section_end);
	}
}

static int sort_symbols(struct code_image *c)
{
	struct code_symbol *v = c->by_address.v;
	uint32_t i, rank = 0;

	if (!c->by_address.n)
		return 0;
	qsort(v, c->by_address.n, sizeof *v, compare_addresses);
	measure_functions(c);
	for (i = 0; i < c->by_address.n; i++)
		if (vec_push(&c->by_name, i))
			return -1;
	qsort_r(c->by_name.v, c->by_name.n, sizeof *c->by_name.v, compare_names, v);
	for (i = 0; i < c->by_name.n; i++) {
		rank = i && !strcmp(v[c->by_name.v[i]].name, v[c->by_name.v[i - 1]].name) ? rank + 1
											  : 0;
		v[c->by_name.v[i]].rank = rank;
	}
	return 0;
}

static int read_slots(struct code_image *c, const char *section)
{
	struct elf_section rela, symbols = {0}, strings = {0};
	uint64_t i;
	Elf64_Rela r;

	if (!table(c->img, section, sizeof r, &rela))
		return 0;
	if (!table(c->img, ".dynsym", sizeof(Elf64_Sym), &symbols) ||
	    !elf_image_section(c->img, ".dynstr", &strings, NULL))
		symbols.size = 0;
	for (i = 0; i < rela.size / sizeof r; i++) {
		struct code_slot to;
		uint64_t n;
		Elf64_Sym s;

		memcpy(&r, rela.data + i * sizeof r, sizeof r);
		n = ELF64_R_SYM(r.r_info);
		to = (struct code_slot){.vaddr = r.r_offset, .addend = (uint64_t)r.r_addend};
		if (n && n < symbols.size / sizeof s) {
			memcpy(&s, symbols.data + n * sizeof s, sizeof s);
			to.name = string_at(&strings, s.st_name);
		}
		if (vec_push(&c->slots, to))
			return -1;
	}
	return 0;
}

static int read_exports(struct code_image *c)
{
	struct elf_section tab, strings;
	uint64_t i;
	Elf64_Sym s;

	if (!table(c->img, ".dynsym", sizeof s, &tab) ||
	    !elf_image_section(c->img, ".dynstr", &strings, NULL))
		return 0;
	for (i = 0; i < tab.size / sizeof s; i++) {
		const char *name;

		memcpy(&s, tab.data + i * sizeof s, sizeof s);
		name = string_at(&strings, s.st_name);
		if (s.st_shndx != SHN_UNDEF && name && *name && vec_push(&c->exports, name))
			return -1;
	}
	if (c->exports.n)
		qsort(c->exports.v, c->exports.n, sizeof *c->exports.v, compare_strings);
	return 0;
}

/* In programs with a fixed address instructions also have addresses of four bytes. */
static int read_absolute(struct code_image *c, const uint8_t *insn, size_t n)
{
	size_t i, left;

	for (i = 1; i + 4 <= n; i++) {
		uint32_t to;

		memcpy(&to, insn + i, 4);
		if (elf_image_at_vaddr(c->img, to, &left) && vec_push(&c->anchors, to))
			return -1;
	}
	return 0;
}

/* What the instructions of a function refer to outside of it. */
static int read_references(struct code_image *c, const struct code_symbol *f)
{
	struct code_reference r;
	size_t left;
	const uint8_t *code = elf_image_at_vaddr(c->img, f->start, &left);
	bool is_fixed = elf_image_type(c->img) == ET_EXEC;
	uint64_t at, to;

	for (at = 0; code && at < f->size && at < left; at += r.bytes) {
		if (!code_reference_read(code + at, left - at, &r))
			return 0;
		if (r.first == r.last && is_fixed && read_absolute(c, code + at, r.bytes))
			return -1;
		to = f->start + at + (uint64_t)r.distance;
		if (r.first < r.last && !r.is_jump && to - f->start >= f->size &&
		    vec_push(&c->anchors, to))
			return -1;
	}
	return 0;
}

/* Pointers in a variable or table of a program with a fixed address. */
static int read_pointers(struct code_image *c, const struct code_symbol *s)
{
	size_t left, i, to_left;
	const uint8_t *data = elf_image_at_vaddr(c->img, s->start, &left);

	for (i = 0; data && i + 8 <= s->size && i + 8 <= left; i += 8) {
		uint64_t to;

		memcpy(&to, data + i, 8);
		if (elf_image_at_vaddr(c->img, to, &to_left) && vec_push(&c->anchors, to))
			return -1;
	}
	return 0;
}

static int read_anchors(struct code_image *c)
{
	bool is_fixed = elf_image_type(c->img) == ET_EXEC;
	size_t i;

	for (i = 0; i < c->by_address.n; i++) {
		const struct code_symbol *s = &c->by_address.v[i];

		if (vec_push(&c->anchors, s->start) || vec_push(&c->anchors, s->start + s->size) ||
		    (s->is_function && read_references(c, s)) ||
		    (!s->is_function && is_fixed && read_pointers(c, s)))
			return -1;
	}
	for (i = 0; i < c->slots.n; i++)
		if (!c->slots.v[i].name && vec_push(&c->anchors, c->slots.v[i].addend))
			return -1;
	if (c->anchors.n)
		qsort(c->anchors.v, c->anchors.n, sizeof *c->anchors.v, compare_numbers);
	return 0;
}

uint64_t code_extent(const struct code_image *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->anchors.n, i;
	struct elf_section s;
	const char *name;
	uint64_t n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->anchors.v[mid] <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (i = 0; elf_image_section_at(c->img, i, &name, &s); i++)
		if (s.flags & SHF_ALLOC && vaddr - s.vaddr < s.size)
			n = s.vaddr + s.size - vaddr;
	return lo < c->anchors.n && c->anchors.v[lo] - vaddr < n ? c->anchors.v[lo] - vaddr : n;
}

/* The first slot at or after an address. */
static size_t slot_from(const struct code_image *c, uint64_t vaddr)
{
	size_t lo = 0, hi = c->slots.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->slots.v[mid].vaddr < vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t code_slots_in(const struct code_image *c, uint64_t vaddr, uint64_t size)
{
	return slot_from(c, vaddr + size) - slot_from(c, vaddr);
}

int code_image_open(struct code_image *c, struct elf_image *img, struct elf_image *symbols)
{
	*c = (struct code_image){.img = img};
	if (!elf_image_is_64(img) || elf_image_swapped(img) ||
	    processor_insn_set(elf_image_machine(img)) != INSN_SET_X86 ||
	    !elf_image_is_64(symbols) || elf_image_swapped(symbols))
		return 0;
	if (read_symbols(c, symbols) || sort_symbols(c) || read_slots(c, ".rela.dyn") ||
	    read_slots(c, ".rela.plt") || read_exports(c))
		return -1;
	if (c->slots.n)
		qsort(c->slots.v, c->slots.n, sizeof *c->slots.v, compare_slots);
	return read_anchors(c);
}

void code_image_done(struct code_image *c)
{
	vec_done(&c->by_address);
	vec_done(&c->by_name);
	vec_done(&c->slots);
	vec_done(&c->anchors);
	vec_done(&c->exports);
}

const struct code_symbol *code_symbol_at(const struct code_image *c, uint64_t vaddr)
{
	const struct code_symbol *v = c->by_address.v;
	size_t lo = 0, hi = c->by_address.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Of several symbols at one address the first, which is the largest. */
	while (lo > 1 && v[lo - 2].start == v[lo - 1].start)
		lo--;
	return lo && vaddr - v[lo - 1].start < v[lo - 1].size ? &v[lo - 1] : NULL;
}

const struct code_symbol *code_symbol_like(const struct code_image *c, const struct code_symbol *s)
{
	size_t lo = 0, hi = c->by_name.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct code_symbol *at = &c->by_address.v[c->by_name.v[mid]];
		int order = strcmp(at->name, s->name);

		if (!order)
			order = (at->rank > s->rank) - (at->rank < s->rank);
		if (!order)
			return at;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct code_slot *code_slot_at(const struct code_image *c, uint64_t vaddr)
{
	struct code_slot key = {.vaddr = vaddr};

	return c->slots.n ? bsearch(&key, c->slots.v, c->slots.n, sizeof key, compare_slots) : NULL;
}
