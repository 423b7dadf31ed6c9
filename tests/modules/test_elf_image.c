/* test_elf_image.c - hostile and odd ELF files against the image reader. That good files are read
 * right is shown by test_elf_readelf.py. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "modules/modules.h"

/* Touches every byte that the image gives out, so that sanitizers see a wrong bound. */
static unsigned touch(const uint8_t *p, uint64_t n)
{
	unsigned sum = 0;
	uint64_t i;

	for (i = 0; p && i < n; i++)
		sum += p[i];
	return sum;
}

static unsigned use_everything(struct elf_image *img)
{
	const struct elf_segment *g;
	struct elf_section s;
	const char *name;
	size_t i, n, left = 0;
	uint64_t v;
	unsigned sum = 0;

	for (i = 0; elf_image_section_at(img, i, &name, &s); i++) {
		sum += touch(s.data, s.size) + (unsigned)strlen(name);
		/* Each by name, which inflates; many equal names would make this quadratic. */
		if (i < 64 && elf_image_section(img, name, &s, NULL))
			sum += touch(s.data, s.size);
	}
	n = elf_image_segments(img, &g);
	for (i = 0; i < n && i < 64; i++) {
		const uint8_t *p = elf_image_at_vaddr(img, g[i].vaddr, &left);

		sum += touch(p, p ? left : 0);
		elf_image_off_to_vaddr(img, g[i].off, &v);
		elf_image_vaddr_to_off(img, g[i].vaddr + g[i].filesz - 1, &v);
	}
	return sum;
}

static void *bytes_of(const char *path, size_t *size)
{
	struct elf_image *img;
	const uint8_t *p;
	void *copy;

	assert_int_equal(elf_image_open(&img, path, NULL), 0);
	p = elf_image_bytes(img, size);
	copy = malloc(*size);
	assert_non_null(copy);
	memcpy(copy, p, *size);
	elf_image_close(img);
	return copy;
}

static void test_self(void **state)
{
	struct elf_image *img;
	struct elf_section s;
	struct err err;
	uint64_t off, vaddr;
	size_t left;

	(void)state;
	assert_int_equal(elf_image_open(&img, "/proc/self/exe", &err), 0);
	assert_true(elf_image_is_64(img) == (sizeof(void *) == 8));
	assert_false(elf_image_swapped(img));
	assert_true(elf_image_section(img, ".text", &s, NULL));
	/* Address, offset and contents of .text agree with each other through the segments. */
	assert_true(elf_image_vaddr_to_off(img, s.vaddr, &off));
	assert_true(off == s.off);
	assert_true(elf_image_off_to_vaddr(img, s.off + 5, &vaddr));
	assert_true(vaddr == s.vaddr + 5);
	assert_ptr_equal(elf_image_at_vaddr(img, s.vaddr, &left), s.data);
	assert_true(left >= s.size);
	use_everything(img);
	elf_image_close(img);
}

static void test_not_elf(void **state)
{
	static const struct {
		const char *path;
		enum err_code code;
	} cases[] = {
		{"nonexistent/file", ERR_NOT_FOUND}, {"/dev/zero", ERR_UNSUPPORTED},
		{"/etc", ERR_UNSUPPORTED},	     {"/etc/passwd", ERR_FORMAT},
		{"/etc/passwd/x", ERR_NOT_FOUND},
	};
	struct elf_image *img;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(elf_image_open(&img, cases[i].path, &err), -(int)cases[i].code);
		assert_int_equal(err.code, cases[i].code);
		assert_string_equal(err.source, cases[i].path);
	}
	assert_int_equal(elf_image_open_memory(&img, "", 0, "empty", &err), -ERR_FORMAT);
	assert_int_equal(elf_image_open_memory(&img, "\177ELF", 4, "cut", &err), -ERR_FORMAT);
}

/* Every cut inside the headers, then coarser steps. */
static void test_cut(void **state)
{
	size_t size, n;
	void *bytes = bytes_of("/proc/self/exe", &size);
	struct elf_image *img;
	unsigned opened = 0;

	(void)state;
	for (n = 0; n < size; n += n < 1500 ? 1 : size / 97)
		if (!elf_image_open_memory(&img, bytes, n, "cut", NULL)) {
			use_everything(img);
			elf_image_close(img);
			opened++;
		}
	/* The segments of a cut file are still good. */
	assert_true(opened > 0);
	free(bytes);
}

/* Single bytes of the ELF header, program headers and section table set to extreme values. */
static void test_corrupt(void **state)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	size_t size, i, v, sh_at, sh_end;
	uint8_t *bytes = bytes_of("/bin/true", &size), *copy = malloc(size);
	struct elf_image *img;
	Elf64_Ehdr h;

	(void)state;
	assert_non_null(copy);
	memcpy(&h, bytes, sizeof h);
	sh_at = h.e_shoff;
	sh_end = sh_at + (size_t)h.e_shnum * h.e_shentsize;
	/* Sections are shared by all cases; contents are small next to what is opened 10,000 times.
	 */
	memcpy(copy, bytes, size);
	for (i = 0; i < sh_end; i = i == 0x400 ? sh_at : i + 1) {
		for (v = 0; v < sizeof values; v++) {
			copy[i] = values[v];
			if (!elf_image_open_memory(&img, copy, size, "corrupt", NULL)) {
				struct elf_section s;

				elf_image_section(img, ".dynsym", &s, NULL);
				if (i % 8 == 0)
					use_everything(img);
				elf_image_close(img);
			}
		}
		copy[i] = bytes[i];
	}
	free(copy);
	free(bytes);
}

/* DT_GNU_HASH counts the symbols up to the last exported one; of a program that exports none, as on
 * arm64, only the first. */
static void assert_only_imports(const uint8_t *symbols, size_t from, size_t end)
{
	ElfW(Sym) sym;

	for (; from < end; from += sizeof sym) {
		memcpy(&sym, symbols + from, sizeof sym);
		assert_true(sym.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(sym.st_info) == STT_SECTION);
	}
}

/* Without a section table the dynamic symbols are found through PT_DYNAMIC. */
static void test_no_sections(void **state)
{
	size_t size, n_before;
	uint8_t *bytes = bytes_of("/proc/self/exe", &size);
	struct elf_image *img;
	struct elf_section with, without, hdr;
	Elf64_Ehdr h;
	const uint8_t *symbols;
	uint8_t *copy;

	(void)state;
	assert_int_equal(elf_image_open_memory(&img, bytes, size, "whole", NULL), 0);
	assert_true(elf_image_section(img, ".dynsym", &with, NULL));
	n_before = with.size;
	copy = malloc(n_before);
	assert_non_null(copy);
	memcpy(copy, with.data, n_before);
	elf_image_close(img);
	memcpy(&h, bytes, sizeof h);
	h.e_shoff = 0;
	h.e_shnum = 0;
	memcpy(bytes, &h, sizeof h);
	assert_int_equal(elf_image_open_memory(&img, bytes, size, "sstripped", NULL), 0);
	assert_true(elf_image_section(img, ".dynsym", &without, NULL));
	symbols = without.data;
	assert_true(without.vaddr == with.vaddr);
	assert_true(without.size && without.size <= n_before);
	assert_memory_equal(symbols, copy, without.size);
	assert_only_imports(copy, without.size, n_before);
	assert_true(elf_image_section(img, ".dynstr", &with, NULL));
	assert_int_equal(with.index, without.link);
	assert_true(elf_image_section(img, ".eh_frame_hdr", &hdr, NULL));
	assert_true(elf_image_build_id(img)->size > 0);
	elf_image_close(img);
	free(copy);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),	    cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_cut),	    cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_no_sections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
