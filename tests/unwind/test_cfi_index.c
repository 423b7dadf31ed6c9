/* test_cfi_index.c - finding FDEs in the dynamic linker's own file: by the linker's table, without
 * it, without section headers, with tables that lie, and with random damage. The expected answer
 * for every address comes from reading all entries one after the other. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "functions/functions.h"
#include "unwind/rule.h"

/* A file that every dynamically linked program has mapped: the interpreter. */
struct file {
	uint8_t *bytes;
	size_t size;
};

static struct file the_file;

static int load(void **state)
{
	char line[1024], path[512];
	unsigned long start;
	struct stat st;
	FILE *f = fopen("/proc/self/maps", "r");
	int fd = -1;

	(void)state;
	while (f && fd < 0 && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%*x %*s %*x %*s %*u %511s", &start, path) == 2 &&
		    start == getauxval(AT_BASE))
			fd = open(path, O_RDONLY);
	if (f)
		fclose(f);
	if (fd < 0 || fstat(fd, &st))
		return -1;
	the_file.size = (size_t)st.st_size;
	the_file.bytes = malloc(the_file.size);
	if (!the_file.bytes || read(fd, the_file.bytes, the_file.size) != st.st_size)
		return -1;
	close(fd);
	return 0;
}

static int unload(void **state)
{
	(void)state;
	free(the_file.bytes);
	return 0;
}

static struct elf_image *open_bytes(const uint8_t *bytes)
{
	struct elf_image *img;
	struct err err;

	if (elf_image_open_memory(&img, bytes, the_file.size, "ld.so", &err))
		return NULL;
	return img;
}

static uint8_t *copy_of_file(void)
{
	uint8_t *copy = malloc(the_file.size);

	assert_non_null(copy);
	return memcpy(copy, the_file.bytes, the_file.size);
}

static unsigned n_listed;

/* cfi_index_find(), which has to agree with the other if that finds something. */
static int find(struct cfi_index *ix, uint64_t vaddr, struct cfi_fde *got)
{
	struct cfi_fde listed;
	bool is_listed = cfi_index_listed(ix, vaddr, &listed);
	int rc = cfi_index_find(ix, vaddr, got);

	n_listed += is_listed;
	if (is_listed) {
		assert_int_equal(rc, 1);
		assert_int_equal(listed.start, got->start);
		assert_int_equal(listed.end, got->end);
		assert_ptr_equal(listed.insns.p, got->insns.p);
	}
	return rc;
}

/* Every FDE of the section, by reading it through, is found from its first, a middle and its last
 * address, and what is behind it is not found in it. */
static void assert_finds_all(struct cfi_index *ix, const struct cfi_section *sec)
{
	uint64_t off, next, n = 0;
	struct cfi_fde want, got;

	for (off = 0; off < sec->size; off = next) {
		if (cfi_entry_at(sec, off, &next) != CFI_ENTRY_FDE)
			continue;
		assert_true(cfi_fde_read(sec, off, &want));
		n++;
		assert_int_equal(find(ix, want.start, &got), 1);
		assert_int_equal(got.start, want.start);
		assert_int_equal(got.end, want.end);
		assert_int_equal(find(ix, (want.start + want.end) / 2, &got), 1);
		assert_int_equal(got.start, want.start);
		assert_int_equal(find(ix, want.end - 1, &got), 1);
		assert_int_equal(got.start, want.start);
		if (find(ix, want.end, &got))
			assert_int_equal(got.start, want.end);
	}
	assert_true(n > 50);
	assert_int_equal(find(ix, 0, &got), 0);
	assert_int_equal(find(ix, UINT64_MAX, &got), 0);
}

static void finds_by_the_linkers_table(void **state)
{
	struct elf_image *img = open_bytes(the_file.bytes);
	struct cfi_index ix;

	(void)state;
	cfi_index_open_eh(&ix, img);
	assert_true(ix.n_hdr_rows > 50);
	n_listed = 0;
	assert_finds_all(&ix, &ix.sec);
	assert_false(ix.rows_made);  /* it was believed to the end */
	assert_true(n_listed > 150); /* for each its first, middle and last address */
	cfi_index_done(&ix);
	elf_image_close(img);
}

/* As in static programs of glibc. */
static void finds_without_a_table(void **state)
{
	uint8_t *bytes = copy_of_file();
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)bytes;
	Elf64_Phdr *ph = (Elf64_Phdr *)(bytes + eh->e_phoff);
	struct elf_image *img;
	struct cfi_index ix;
	unsigned i;

	(void)state;
	for (i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			ph[i].p_type = PT_NULL;
	img = open_bytes(bytes);
	cfi_index_open_eh(&ix, img);
	assert_int_equal(ix.n_hdr_rows, 0);
	n_listed = 0;
	assert_finds_all(&ix, &ix.sec);
	assert_true(ix.rows_made);
	assert_int_equal(n_listed, 0);
	cfi_index_done(&ix);
	elf_image_close(img);
	free(bytes);
}

static void finds_without_section_headers(void **state)
{
	uint8_t *bytes = copy_of_file();
	Elf64_Ehdr *eh = (Elf64_Ehdr *)bytes;
	struct elf_image *whole = open_bytes(the_file.bytes), *img;
	struct cfi_index ix, truth;

	(void)state;
	eh->e_shoff = 0;
	eh->e_shnum = eh->e_shstrndx = 0;
	img = open_bytes(bytes);
	assert_non_null(img);
	cfi_index_open_eh(&ix, img);
	cfi_index_open_eh(&truth, whole);
	assert_true(ix.n_hdr_rows > 50);
	assert_finds_all(&ix, &truth.sec);
	cfi_index_done(&ix);
	cfi_index_done(&truth);
	elf_image_close(img);
	elf_image_close(whole);
	free(bytes);
}

/* Where the table of the header begins in the file: version, three encodings, pointer, count. */
static uint8_t *table_of(uint8_t *bytes)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)bytes;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(bytes + eh->e_phoff);
	unsigned i;

	for (i = 0; ph[i].p_type != PT_GNU_EH_FRAME; i++)
		assert_true(i < eh->e_phnum);
	return bytes + ph[i].p_offset;
}

/* A table that does not belong to its section must not hide anything. */
static void survives_lying_tables(void **state)
{
	unsigned lie;

	(void)state;
	for (lie = 0; lie < 4; lie++) {
		uint8_t *bytes = copy_of_file(), *hdr = table_of(bytes);
		struct elf_image *img;
		struct cfi_index ix;
		uint32_t v, i, n;

		memcpy(&n, hdr + 8, 4);
		switch (lie) {
		case 0: /* more rows than there are bytes */
			v = 0x7fffffff;
			memcpy(hdr + 8, &v, 4);
			break;
		case 1: /* another encoding */
			hdr[3] = 0x1b;
			break;
		case 2: /* a future version */
			hdr[0] = 2;
			break;
		case 3: /* every row points to its neighbour's FDE */
			for (i = 0; i + 1 < n; i++)
				memcpy(hdr + 12 + 8 * i + 4, hdr + 12 + 8 * (i + 1) + 4, 4);
			break;
		}
		img = open_bytes(bytes);
		cfi_index_open_eh(&ix, img);
		assert_finds_all(&ix, &ix.sec);
		cfi_index_done(&ix);
		elf_image_close(img);
		free(bytes);
	}
}

/* Field `field` of row `row` of the table, and where in the file the FDE is to which it points. */
static int32_t *row_field(uint8_t *hdr, unsigned row, unsigned field)
{
	return (int32_t *)(void *)(hdr + 12 + 8 * row + 4 * field);
}

static uint8_t *fde_of_row(uint8_t *hdr, unsigned row)
{
	return hdr + *row_field(hdr, row, 1); /* both are in the first segment: same distance */
}

/* Of functions at one address lld lists the first only, which may be one without code: so the copy
 * of LLVM that rustc has loses one. Here the FDE before becomes such a one. */
static void finds_behind_functions_without_code(void **state)
{
	enum { ROW = 20 };
	uint8_t *bytes = copy_of_file(), *hdr = table_of(bytes), *empty = fde_of_row(hdr, ROW);
	int32_t start = *row_field(hdr, ROW + 1, 0), range = 0;
	struct cfi_fde want, got;
	struct elf_image *img;
	struct cfi_index ix;

	(void)state;
	img = open_bytes(bytes);
	cfi_index_open_eh(&ix, img);
	assert_true(cfi_fde_read(
		&ix.sec, ix.hdr_vaddr + (uint64_t)*row_field(hdr, ROW + 1, 1) - ix.sec.vaddr,
		&want));
	cfi_index_done(&ix);
	elf_image_close(img);
	/* length, CIE, start as distance from itself, how many bytes */
	start += (int32_t)(hdr - (empty + 8));
	memcpy(empty + 8, &start, 4);
	memcpy(empty + 12, &range, 4);
	*row_field(hdr, ROW + 1, 1) = *row_field(hdr, ROW, 1);
	img = open_bytes(bytes);
	cfi_index_open_eh(&ix, img);
	assert_true(ix.n_hdr_rows > 50);
	assert_false(cfi_index_listed(&ix, want.start, &got));
	assert_int_equal(find(&ix, want.start, &got), 1);
	assert_int_equal(got.start, want.start);
	assert_int_equal(got.end, want.end);
	assert_int_equal(find(&ix, want.end - 1, &got), 1);
	assert_int_equal(got.start, want.start);
	cfi_index_done(&ix);
	elf_image_close(img);
	free(bytes);
}

/* Everything that is done with an address, over randomly damaged call frame information. */
static void survives_damage(void **state)
{
	uint64_t seed = 11;
	unsigned round, i;

	(void)state;
	for (round = 0; round < 60; round++) {
		uint8_t *bytes = copy_of_file();
		struct elf_image *img = open_bytes(bytes);
		struct arena arena = {0};
		struct cfi_index ix;
		size_t from;

		cfi_index_open_eh(&ix, img);
		from = (size_t)(table_of(bytes) - bytes);
		for (i = 0; i < 200; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			bytes[from + (seed >> 33) % (ix.sec.size + ix.n_hdr_rows * 8)] ^=
				(uint8_t)(seed >> 20);
		}
		cfi_index_done(&ix);
		elf_image_close(img);
		img = open_bytes(bytes);
		cfi_index_open_eh(&ix, img);
		for (i = 0; i < 2000; i++) {
			uint64_t vaddr = (seed = seed * 6364136223846793005u + 1) >> 20;
			struct cfi_fde fde;
			struct cfi_row row;
			struct rule rule;

			vaddr %= 0x40000;
			if (find(&ix, vaddr, &fde) <= 0 ||
			    !cfi_row_find(&fde, &arch_x86_64, vaddr, NULL, &row))
				continue;
			rule_pack(&row, &arch_x86_64, vaddr, &rule);
			assert_non_null(rule_full(&row, &arch_x86_64, FRAME_CFI, &arena));
		}
		arena_done(&arena);
		cfi_index_done(&ix);
		elf_image_close(img);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_the_linkers_table),
		cmocka_unit_test(finds_without_a_table),
		cmocka_unit_test(finds_without_section_headers),
		cmocka_unit_test(survives_lying_tables),
		cmocka_unit_test(finds_behind_functions_without_code),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
