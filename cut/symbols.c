/* symbols.c - the symbols of the functions that were on stacks, and the relocations of the PLT.
 *
 * Which function covers an address depends on more symbols than its own: on those that begin at the
 * nearest place before it, with or without a size, and on the next one, where a function without
 * size ends. All others become empty entries, and their names zeros. */
#include <stdlib.h>
#include <string.h>

#include "base/processor.h"
#include "base/vec.h"
#include "cut/pieces.h"
#include "functions/functions.h"
#include "modules/modules.h"

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

/* Of the places that were seen in (addrs[i - 1], addrs[i]], in the last row behind all addresses,
 * the first and the last one. */
struct nearest {
	const struct cut_addrs *addrs;
	struct elf_range *rows; /* start > end: none */
};

static int nearest_init(struct nearest *t, const struct cut_addrs *addrs)
{
	size_t i;

	*t = (struct nearest){addrs, malloc((addrs->n + 1) * sizeof *t->rows)};
	for (i = 0; t->rows && i <= addrs->n; i++)
		t->rows[i] = (struct elf_range){UINT64_MAX, 0};
	return t->rows ? 0 : -1;
}

static void nearest_see(struct nearest *t, uint64_t at)
{
	struct elf_range *r = &t->rows[cut_addrs_below(t->addrs, at)];

	r->start = at < r->start ? at : r->start;
	r->end = at > r->end ? at : r->end;
}

/* Adds for each address the last place up to it, and the first behind it. */
static int nearest_take(const struct nearest *t, struct cut_addrs *ret)
{
	size_t i;

	for (i = 0; i <= t->addrs->n; i++)
		if (t->rows[i].start <= t->rows[i].end &&
		    (vec_push(ret, t->rows[i].start) || vec_push(ret, t->rows[i].end)))
			return -1;
	return 0;
}

int cut_nearest_symbols(struct elf_image *img, const char *table, const struct cut_addrs *addrs,
			struct cut_addrs *symbols, struct cut_addrs *functions)
{
	struct nearest all, only;
	struct elf_symbols t;
	size_t i;
	int rc;

	if (!img || !elf_symbols_open(&t, img, table))
		return 0;
	rc = nearest_init(&all, addrs) | nearest_init(&only, addrs);
	for (i = 0; !rc && i < t.n; i++) {
		Elf64_Sym s = elf_symbols_at(&t, i);

		if (is_code_symbol(&s))
			nearest_see(&all, s.st_value);
		if (is_function(&s))
			nearest_see(&only, s.st_value);
	}
	if (!rc && (nearest_take(&all, symbols) || nearest_take(&only, functions)))
		rc = -1;
	free(all.rows);
	free(only.rows);
	return rc;
}

struct symbol_copy {
	struct elf_symbols t;
	struct sparse entries;
	VEC(struct elf_range) names; /* in the table of names */
	size_t entry_bytes;
};

static void keep_name(struct symbol_copy *c, const Elf64_Sym *s)
{
	const char *name = elf_symbols_name(&c->t, s);
	const size_t n = name ? strlen(name) : 0;

	if (n && vec_push(&c->names, (struct elf_range){s->st_name, s->st_name + n}))
		c->entries.p->nomem = true;
}

static int by_range(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void put_names(struct symbol_copy *c, struct sparse *names)
{
	size_t i;

	if (c->names.n)
		qsort(c->names.v, c->names.n, sizeof *c->names.v, by_range);
	for (i = 0; i < c->names.n; i++) {
		const struct elf_range *r = &c->names.v[i];

		sparse_add(names, r->start, c->t.names + r->start, (size_t)(r->end - r->start));
	}
	sparse_put(names);
}

/* How a compiler is known by symbols of its runtime (symbolize/compiler_of.c, unwind/v8_file.c). */
static bool is_sign(const char *name)
{
	static const char *const signs[] = {
		"caml_call_gc",	 "caml_plugin_header", "Caml_state", "stg_upd_frame_info",
		"stg_gc_noregs", "stg_ap_0_fast",      "hs_main",    "v8dbg_TaggedSize"};
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
		sparse_add(&c->entries, i * c->entry_bytes, c->t.data + i * c->entry_bytes,
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
	struct sparse kept_names;

	if (!elf_symbols_open(&c.t, p->img, table) || !ranges_of(p, &c.t, &s, &names))
		return;
	c.entry_bytes = c.t.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	if (all || !sparse_begin(&c.entries, p, s.off, s.size) ||
	    !sparse_begin(&kept_names, p, names.off, names.size)) {
		pieces_keep(p, s.off, s.size);
		pieces_keep(p, names.off, names.size);
		return;
	}
	if (cut_nearest_symbols(p->img, table, addrs, &starts, &starts))
		p->nomem = true;
	cut_addrs_sort(&starts);
	fill(&c, addrs, &starts, strcmp(table, ".dynsym") ? &none : &p->stubs);
	sparse_put(&c.entries);
	put_names(&c, &kept_names);
	vec_done(&c.names);
	vec_done(&starts);
}

/* ---- relocations --------------------------------------------------------------------------- */

/* Keeps the entries that name stubs; *addend of those that call a function without a name. */
static bool names_stub(const struct processor *cpu, uint32_t type)
{
	return cpu && (type == cpu->reloc_glob_dat || type == cpu->reloc_jump_slot ||
		       type == cpu->reloc_irelative);
}

/* How many relocations at the beginning of the section are relative, as linkers sort them: most. */
static size_t relative_first(struct elf_image *img, const struct elf_section *rela)
{
	struct elf_section s;
	bool is_it = false;
	uint64_t n = 0;
	size_t at;

	if (!elf_image_section(img, ".dynamic", &s, NULL) || !s.data)
		return 0;
	for (at = 0; at + sizeof(Elf64_Dyn) <= s.size; at += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		memcpy(&d, s.data + at, sizeof d);
		if (d.d_tag == DT_NULL)
			break;
		is_it |= d.d_tag == DT_RELA && d.d_un.d_ptr == rela->vaddr;
		n = d.d_tag == DT_RELACOUNT ? d.d_un.d_val : n;
	}
	return is_it && n <= rela->size / sizeof(Elf64_Rela) ? (size_t)n : 0;
}

static void cut_rela(struct pieces *p, const struct processor *cpu, const struct elf_section *s,
		     struct cut_addrs *symbols)
{
	size_t i, n = (size_t)s->size / sizeof(Elf64_Rela);
	struct sparse copy;

	if (!sparse_begin(&copy, p, s->off, s->size))
		return;
	for (i = relative_first(p->img, s); i < n; i++) {
		Elf64_Rela r;

		memcpy(&r, s->data + i * sizeof r, sizeof r);
		if (!names_stub(cpu, (uint32_t)ELF64_R_TYPE(r.r_info)))
			continue;
		sparse_add(&copy, i * sizeof r, &r, sizeof r);
		if (vec_push(&p->stubs, ELF64_R_SYM(r.r_info)))
			p->nomem = true;
		if (ELF64_R_TYPE(r.r_info) == cpu->reloc_irelative &&
		    vec_push(symbols, (uint64_t)r.r_addend))
			p->nomem = true;
	}
	sparse_put(&copy);
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
