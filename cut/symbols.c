/* symbols.c - the symbols of the functions that were on stacks, and the relocations of the PLT.
 *
 * Which function covers an address depends on more symbols than its own: on those that begin at the
 * nearest place before it, with or without a size, and on the next one, where a function without
 * size ends. All others become empty entries, and their names zeros. */
#include <stdlib.h>
#include <string.h>

#include "base/processor.h"
#include "cut/pieces.h"
#include "functions/functions.h"

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void cut_addrs_sort(struct cut_addrs *a)
{
	size_t i, n = 0;

	if (a->n)
		qsort(a->v, a->n, sizeof *a->v, by_value);
	for (i = 0; i < a->n; i++)
		if (!n || a->v[i] != a->v[n - 1])
			a->v[n++] = a->v[i];
	a->n = n;
}

size_t cut_addrs_below(const struct cut_addrs *a, uint64_t v)
{
	size_t low = 0, high = a->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (a->v[mid] < v)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool cut_addrs_has(const struct cut_addrs *a, uint64_t v)
{
	size_t i = cut_addrs_below(a, v);

	return i < a->n && a->v[i] == v;
}

static bool has_between(const struct cut_addrs *a, uint64_t start, uint64_t end)
{
	size_t i = cut_addrs_below(a, start);

	return i < a->n && a->v[i] < end;
}

static bool is_code_symbol(const Elf64_Sym *s)
{
	const unsigned type = ELF64_ST_TYPE(s->st_info);

	return s->st_shndx != SHN_UNDEF && s->st_shndx != SHN_ABS && type != STT_TLS &&
	       type != STT_FILE && type != STT_SECTION;
}

static bool is_function(const Elf64_Sym *s)
{
	const unsigned type = ELF64_ST_TYPE(s->st_info);

	return is_code_symbol(s) && (type == STT_FUNC || type == STT_GNU_IFUNC);
}

/* Adds those of `starts` that are nearest before an address, and nearest after it. */
static void add_nearest(struct cut_addrs *ret, struct cut_addrs *starts,
			const struct cut_addrs *addrs)
{
	size_t i;

	cut_addrs_sort(starts);
	for (i = 0; i < addrs->n; i++) {
		size_t n = cut_addrs_below(starts, addrs->v[i] + 1);

		if (n)
			ret->v[ret->n++] = starts->v[n - 1];
		if (n < starts->n)
			ret->v[ret->n++] = starts->v[n];
	}
}

/* The starts of symbols that begin nearest before an address, and nearest after it. Names come from
 * symbols of any type, unwinding looks at those of functions only. */
static int wanted_starts(const struct elf_symbols *t, const struct cut_addrs *addrs,
			 struct cut_addrs *ret)
{
	struct cut_addrs starts = {0}, functions = {0};
	size_t i;
	int rc = vec_reserve(&starts, t->n + 1) || vec_reserve(&functions, t->n + 1) ||
				 vec_reserve(ret, 4 * addrs->n + 1)
			 ? -1
			 : 0;

	for (i = 0; !rc && i < t->n; i++) {
		Elf64_Sym s = elf_symbols_at(t, i);

		if (is_code_symbol(&s))
			starts.v[starts.n++] = s.st_value;
		if (is_function(&s))
			functions.v[functions.n++] = s.st_value;
	}
	if (!rc) {
		add_nearest(ret, &starts, addrs);
		add_nearest(ret, &functions, addrs);
		cut_addrs_sort(ret);
	}
	vec_done(&functions);
	vec_done(&starts);
	return rc;
}

int cut_function_starts(struct elf_image *img, const char *table, struct cut_addrs *ret)
{
	struct elf_symbols t;
	size_t i;

	if (!img || !elf_symbols_open(&t, img, table))
		return 0;
	for (i = 0; i < t.n; i++) {
		Elf64_Sym s = elf_symbols_at(&t, i);

		if (is_function(&s) && vec_push(ret, s.st_value))
			return -1;
	}
	return 0;
}

struct symbol_copy {
	struct elf_symbols t;
	uint8_t *entries, *names;
	size_t entry_bytes;
};

static void keep_name(struct symbol_copy *c, const Elf64_Sym *s)
{
	const char *name = elf_symbols_name(&c->t, s);

	if (name)
		memcpy(c->names + s->st_name, name, strlen(name));
}

/* How a compiler is known by symbols of its runtime (symbolize/compiler_of.c). */
static bool is_sign(const char *name)
{
	static const char *const signs[] = {
		"caml_call_gc",	 "caml_plugin_header", "Caml_state", "stg_upd_frame_info",
		"stg_gc_noregs", "stg_ap_0_fast",      "hs_main"};
	size_t i;

	for (i = 0; name && i < sizeof signs / sizeof *signs; i++)
		if (!strcmp(name, signs[i]))
			return true;
	return false;
}

static void fill(struct symbol_copy *c, const struct cut_addrs *addrs,
		 const struct cut_addrs *starts, const struct cut_addrs *numbers)
{
	size_t i;

	for (i = 0; i < c->t.n; i++) {
		Elf64_Sym s = elf_symbols_at(&c->t, i);
		bool keep = s.st_shndx == SHN_UNDEF || cut_addrs_has(numbers, i) ||
			    is_sign(elf_symbols_name(&c->t, &s));

		if (!keep && is_code_symbol(&s))
			keep = has_between(starts, s.st_value, s.st_value + 1) ||
			       (s.st_size &&
				has_between(addrs, s.st_value, s.st_value + s.st_size));
		if (!keep)
			continue;
		memcpy(c->entries + i * c->entry_bytes, c->t.data + i * c->entry_bytes,
		       c->entry_bytes);
		keep_name(c, &s);
	}
}

/* Are the bytes of the section those of the file? */
static bool is_in_file(const struct pieces *p, const void *at)
{
	const uint8_t *b = at;

	return b >= p->bytes && b < p->bytes + p->size;
}

/* The range of the table's section, and that of its names. */
static bool ranges_of(struct pieces *p, const struct elf_symbols *t, struct elf_section *s,
		      struct elf_section *names)
{
	const char *unused;

	return elf_image_section_at(p->img, t->index, &unused, s) &&
	       elf_image_section_at(p->img, s->link, &unused, names) && s->data && names->data &&
	       is_in_file(p, s->data) && is_in_file(p, names->data);
}

void cut_symbols(struct pieces *p, const char *table, const struct cut_addrs *addrs, bool all)
{
	static const struct cut_addrs none;
	struct cut_addrs starts = {0};
	struct elf_section s, names;
	struct symbol_copy c = {0};

	if (!elf_symbols_open(&c.t, p->img, table) || !ranges_of(p, &c.t, &s, &names))
		return;
	if (all) {
		pieces_keep(p, s.off, s.size);
		pieces_keep(p, names.off, names.size);
		return;
	}
	c.entry_bytes = c.t.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	c.entries = pieces_zeros(p, s.size);
	c.names = c.entries ? pieces_zeros(p, names.size) : NULL;
	if (!c.entries || !c.names) {
		pieces_keep(p, s.off, s.size);
		pieces_keep(p, names.off, names.size);
	} else if (wanted_starts(&c.t, addrs, &starts)) {
		p->nomem = true;
	} else {
		fill(&c, addrs, &starts, strcmp(table, ".dynsym") ? &none : &p->stubs);
		pieces_put(p, s.off, s.size, c.entries);
		pieces_put(p, names.off, names.size, c.names);
	}
	vec_done(&starts);
}

/* ---- relocations --------------------------------------------------------------------------- */

/* Keeps the entries that name stubs; *addend of those that call a function without a name. */
static bool names_stub(const struct processor *cpu, uint32_t type)
{
	return cpu && (type == cpu->reloc_glob_dat || type == cpu->reloc_jump_slot ||
		       type == cpu->reloc_irelative);
}

static void cut_rela(struct pieces *p, const struct processor *cpu, const struct elf_section *s,
		     struct cut_addrs *symbols)
{
	uint8_t *copy = pieces_zeros(p, s->size);
	size_t i, n = (size_t)s->size / sizeof(Elf64_Rela);

	if (!copy) {
		pieces_keep(p, s->off, s->size);
		return;
	}
	for (i = 0; i < n; i++) {
		Elf64_Rela r;

		memcpy(&r, s->data + i * sizeof r, sizeof r);
		if (!names_stub(cpu, (uint32_t)ELF64_R_TYPE(r.r_info)))
			continue;
		memcpy(copy + i * sizeof r, &r, sizeof r);
		if (vec_push(&p->stubs, ELF64_R_SYM(r.r_info)))
			p->nomem = true;
		if (ELF64_R_TYPE(r.r_info) == cpu->reloc_irelative &&
		    vec_push(symbols, (uint64_t)r.r_addend))
			p->nomem = true;
	}
	pieces_put(p, s->off, s->size, copy);
}

void cut_relocations(struct pieces *p, bool all, struct cut_addrs *symbols)
{
	const struct processor *cpu =
		processor_find_elf(elf_image_machine(p->img), elf_image_is_64(p->img));
	const bool plain = elf_image_is_64(p->img) && !elf_image_swapped(p->img);
	size_t i, n = elf_image_section_count(p->img);
	struct elf_section s;
	const char *name;

	for (i = 0; i < n; i++) {
		if (!elf_image_section_at(p->img, i, &name, &s) || !s.data ||
		    !(s.flags & SHF_ALLOC) || (s.type != SHT_RELA && s.type != SHT_REL))
			continue;
		if (all || s.type == SHT_REL || !plain)
			pieces_keep(p, s.off, s.size);
		else
			cut_rela(p, cpu, &s, symbols);
	}
	cut_addrs_sort(&p->stubs);
}
