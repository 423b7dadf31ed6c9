/* fuzz_dwarf.c - libFuzzer target: debug information of any ELF file, compiled and looked up. With
 * .debug_info compressed, when units are compiled while it is being inflated, the answers are the
 * same. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dwarf/dwarf.h"
#include "tests/dwarf/lookup.h"
#include "tests/fuzz.h"

enum { ADDRESSES = 256, DEPTH = 64 };

struct answers {
	struct dwarf_frame frames[ADDRESSES][DEPTH], line[ADDRESSES];
	size_t n[ADDRESSES];
};

/* Strings must end inside of memory that is ours. */
static bool same_text(const char *a, const char *b)
{
	return !a || !b ? a == b : !strcmp(a, b);
}

static bool same_frame(const struct dwarf_frame *a, const struct dwarf_frame *b)
{
	return same_text(a->linkage_name, b->linkage_name) && same_text(a->name, b->name) &&
	       same_text(a->file, b->file) && a->line == b->line && a->decl_line == b->decl_line &&
	       a->entry == b->entry;
}

static void check_stats(const struct dwarf_index *d)
{
	struct dwarf_index_stats st;

	dwarf_index_stats(d, &st);
	FUZZ_CHECK(st.units_compiled <= st.units);
	FUZZ_CHECK(st.units_early <= st.units_compiled);
}

/* NULL: no DWARF. */
static struct dwarf_index *answer(struct elf_image *img, unsigned n_threads, struct answers *ret)
{
	struct module mod = {.image = img, .debug = img};
	struct dwarf_index *d;
	uint64_t addrs[ADDRESSES];

	for (size_t i = 0; i < ADDRESSES; i++)
		addrs[i] = 0x1000 + i;
	if (dwarf_index_open(&d, &mod, addrs, ADDRESSES, NULL, n_threads, NULL) || !d)
		return NULL;
	for (size_t i = 0; i < ADDRESSES; i++) {
		ret->n[i] = dwarf_index_lookup(d, addrs[i], ret->frames[i], DEPTH, &ret->line[i]);
		FUZZ_CHECK(ret->n[i] <= DEPTH);
		FUZZ_CHECK(same_frame(&ret->line[i], &ret->line[i]));
		for (size_t k = 0; k < ret->n[i]; k++)
			FUZZ_CHECK(same_frame(&ret->frames[i][k], &ret->frames[i][k]));
	}
	check_stats(d);
	return d;
}

/* Parameters: what is handed out can be read to its end. */
static void read_params(struct elf_image *img)
{
	struct module mod = {.image = img, .debug = img};
	const struct dwarf_site *site;
	struct dwarf_params *p;

	if (dwarf_params_open(&p, &mod, NULL) || !p)
		return;
	for (size_t i = 0; i < ADDRESSES && !dwarf_params_at(p, 0x1000 + i, &site); i++) {
		FUZZ_CHECK(!site || site->n);
		for (size_t level = 0; site && level < site->n; level++)
			for (size_t k = 0; k < site->levels[level].n; k++) {
				const struct dwarf_param *a = &site->levels[level].v[k];

				FUZZ_CHECK(same_text(a->name, a->name));
				FUZZ_CHECK(!a->where.n || a->where.code[a->where.n - 1] < 256);
				for (size_t m = 0; a->type && m < a->type->n_members; m++)
					FUZZ_CHECK(same_text(a->type->members[m].name,
							     a->type->members[m].name));
			}
		if (site)
			dwarf_params_calls_itself_last(p, site);
	}
	dwarf_params_free(p);
}

/* Everything, not only what is asked for. */
static void compile_all(struct elf_image *img, unsigned n_threads)
{
	struct module mod = {.image = img, .debug = img};
	struct dwarf_index *d;

	if (!dwarf_index_open(&d, &mod, NULL, 0, NULL, n_threads, NULL) && d) {
		check_stats(d);
		dwarf_index_free(d);
	}
}

/* The file with .debug_info compressed; NULL when it has none, or is not of this machine's kind. */
static struct elf_image *compressed(struct elf_image *img)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	struct elf_image *ret = NULL;
	const char *name = "";
	struct elf_section s;
	size_t size, at, i = 0;
	const uint8_t *bytes = elf_image_bytes(img, &size);
	Elf64_Ehdr e;
	Elf64_Shdr sh;
	uint8_t *copy;
	uLongf n;

	while (elf_image_section_at(img, i, &name, &s) && strcmp(name, ".debug_info"))
		i++;
	if (strcmp(name, ".debug_info") || !s.data || s.flags & SHF_COMPRESSED ||
	    !elf_image_is_64(img) || elf_image_swapped(img))
		return NULL;
	memcpy(&e, bytes, sizeof e);
	at = (size_t)e.e_shoff + i * e.e_shentsize;
	header.ch_size = s.size;
	n = compressBound(s.size);
	copy = malloc(size + sizeof header + n);
	if (!copy || compress2(copy + size + sizeof header, &n, s.data, s.size, 0) != Z_OK)
		abort();
	memcpy(copy, bytes, size);
	memcpy(copy + size, &header, sizeof header);
	memcpy(&sh, copy + at, sizeof sh);
	sh.sh_flags |= SHF_COMPRESSED;
	sh.sh_offset = size;
	sh.sh_size = sizeof header + n;
	memcpy(copy + at, &sh, sizeof sh);
	if (elf_image_open_memory(&ret, copy, size + sizeof header + n, "fuzz", NULL))
		ret = NULL;
	free(copy);
	return ret;
}

/* Sections may lie in each other: the one that was moved may have been the names of all. */
static bool same_sections(struct elf_image *a, struct elf_image *b)
{
	const char *a_name, *b_name;
	struct elf_section s, t;
	bool in_a, in_b;
	size_t i;

	for (i = 0; elf_image_section_at(a, i, &a_name, &s); i++) {
		if (!elf_image_section_at(b, i, &b_name, &t) || strcmp(a_name, b_name))
			return false;
		in_a = elf_image_section(a, a_name, &s, NULL);
		in_b = elf_image_section(b, a_name, &t, NULL);
		if (in_a != in_b) /* it ends in what was appended */
			return false;
		if (!in_a)
			continue;
		if (s.size != t.size || (s.data && memcmp(s.data, t.data, s.size)))
			return false;
	}
	return true;
}

static void compare(const struct answers *a, const struct answers *b)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		FUZZ_CHECK(a->n[i] == b->n[i] && same_frame(&a->line[i], &b->line[i]));
		for (size_t k = 0; k < a->n[i]; k++)
			FUZZ_CHECK(same_frame(&a->frames[i][k], &b->frames[i][k]));
	}
}

static void compile(struct elf_image *img)
{
	static struct answers plain, early;
	struct dwarf_index *d = answer(img, 1, &plain), *d_early;
	struct elf_image *other;

	compile_all(img, 1);
	other = d ? compressed(img) : NULL;
	if (other) {
		d_early = answer(other, 2, &early);
		compile_all(other, 2);
		if (same_sections(img, other)) {
			FUZZ_CHECK(d_early);
			compare(&plain, &early);
		}
		dwarf_index_free(d_early);
		elf_image_close(other);
	}
	dwarf_index_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image *img;

	if (!elf_image_open_memory(&img, data, size, "fuzz", NULL)) {
		compile(img);
		read_params(img);
		elf_image_close(img);
	}
	return 0;
}
