/* test_go_table.c - Go tables of all layouts, built here from the description in runtime/symtab.go,
 * inside a minimal ELF file; and tables that lie. The layout of Go 1.18 and 1.19 is also checked on
 * real programs, against .debug_frame, by tool_cfi_rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "functions/functions.h"

#define TEXT	   0x401000u
#define TABLE	   0x500000u
#define N_FUNC	   3
#define FUNC_BYTES 0x100

struct bytes {
	uint8_t v[8192];
	size_t n;
};

static void put(struct bytes *b, uint64_t v, unsigned size)
{
	memcpy(b->v + b->n, &v, size);
	b->n += size;
}

static void set(struct bytes *b, size_t at, uint64_t v, unsigned size)
{
	memcpy(b->v + at, &v, size);
}

struct version {
	uint32_t magic;
	bool offsets, text_start, short_funcs;
	uint8_t flags_at; /* in struct _func after the entry field; 0: none */
};

static const struct version versions[] = {
	{0xfffffffb, false, false, false, 0},
	{0xfffffffa, true, false, false, 33},
	{0xfffffff0, true, true, true, 33},
	{0xfffffff1, true, true, true, 37},
};

/* Functions at TEXT, + 0x100, + 0x200. Their stack pointer: 0 for 4 bytes, then 24 below. The
 * second is runtime.goexit, the third has the flag of a function that switches stacks. */
static void build_table(struct bytes *b, const struct version *v, uint64_t text_start)
{
	static const char names[] = "main.main\0runtime.goexit\0main.other";
	static const uint32_t name_offs[N_FUNC] = {0, 10, 25};
	static const uint8_t steps[] = {2, 4, 48, 0xfc, 1, 0}; /* 0 for 4 bytes, 24 for 252 bytes */
	unsigned field = v->short_funcs ? 4 : 8;
	size_t header, names_off, pcs_off, funcs_off, i, at;

	b->n = 0;
	put(b, v->magic, 4);
	put(b, 0, 2);
	put(b, 1, 1); /* quantum */
	put(b, 8, 1); /* pointer size */
	put(b, N_FUNC, 8);
	header = b->n;
	b->n += v->offsets ? 8 * (6u + v->text_start) : 0;
	funcs_off = b->n;
	b->n += (2 * N_FUNC + 1) * field;
	names_off = b->n;
	memcpy(b->v + b->n, names, sizeof names);
	b->n += sizeof names;
	pcs_off = b->n;
	put(b, 0, 1); /* offset 0 means no table */
	memcpy(b->v + b->n, steps, sizeof steps);
	b->n += sizeof steps;
	if (v->offsets) {
		const uint64_t offsets[] = {names_off, 0, 0, pcs_off, funcs_off};

		at = header + 8;
		if (v->text_start) {
			set(b, at, text_start, 8);
			at += 8;
		}
		for (i = 0; i < 5; i++)
			set(b, at + 8 * i, offsets[i], 8);
	}
	for (i = 0; i <= N_FUNC; i++) {
		uint64_t start = i * FUNC_BYTES + (v->short_funcs ? 0 : TEXT);
		size_t info = b->n;

		set(b, funcs_off + i * 2 * field, start, field);
		if (i == N_FUNC)
			break;
		set(b, funcs_off + i * 2 * field + field, info - (v->offsets ? funcs_off : 0),
		    field);
		put(b, start, field);
		put(b, name_offs[i] + (v->offsets ? 0 : names_off), 4);
		put(b, 0, 8);
		put(b, v->offsets ? 1 : pcs_off + 1, 4);
		memset(b->v + b->n, 0, 32);
		if (v->flags_at)
			b->v[info + field + v->flags_at] = i == 2 ? 2 : 0;
		b->n += 32;
	}
}

/* An ELF file with .text, .gopclntab and .rela.dyn. */
static struct elf_image *build_elf(const struct bytes *table, const Elf64_Rela *rela)
{
	static const char names[] = "\0.text\0.gopclntab\0.rela.dyn\0.shstrtab";
	static uint8_t file[32768];
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file;
	Elf64_Shdr *sh = (Elf64_Shdr *)(file + 64);
	struct elf_image *img;
	struct err err;

	memset(file, 0, sizeof file);
	memcpy(eh->e_ident, ELFMAG "\2\1\1", 7);
	eh->e_type = ET_EXEC;
	eh->e_machine = EM_X86_64;
	eh->e_version = 1;
	eh->e_ehsize = 64;
	eh->e_shoff = 64;
	eh->e_shentsize = 64;
	eh->e_shnum = 5;
	eh->e_shstrndx = 4;
	sh[1] = (Elf64_Shdr){1, SHT_PROGBITS, SHF_ALLOC, TEXT, 1024, 768, 0, 0, 1, 0};
	sh[2] = (Elf64_Shdr){7, SHT_PROGBITS, SHF_ALLOC, TABLE, 4096, table->n, 0, 0, 1, 0};
	sh[3] = (Elf64_Shdr){18, SHT_RELA, SHF_ALLOC, 0, 2048, rela ? sizeof *rela : 0,
			     0,	 0,	   8,	      24};
	sh[4] = (Elf64_Shdr){28, SHT_STRTAB, 0, 0, 3072, sizeof names, 0, 0, 1, 0};
	if (rela)
		memcpy(file + 2048, rela, sizeof *rela);
	memcpy(file + 3072, names, sizeof names);
	memcpy(file + 4096, table->v, table->n);
	if (elf_image_open_memory(&img, file, 4096 + table->n, "go", &err))
		fail_msg("%s", err.what);
	return img;
}

static void check_sizes(struct elf_image *img, uint64_t text, bool has_flags)
{
	struct go_table t;
	uint64_t size = 99;

	go_table_open(&t, img);
	assert_non_null(t.data);
	assert_int_equal(go_table_find(&t, text - 1, NULL, &size), GO_FRAME_NONE);
	assert_int_equal(go_table_find(&t, text, NULL, &size), GO_FRAME_SIZE);
	assert_int_equal(size, 0);
	assert_int_equal(go_table_find(&t, text + 3, NULL, &size), GO_FRAME_SIZE);
	assert_int_equal(size, 0);
	assert_int_equal(go_table_find(&t, text + 4, NULL, &size), GO_FRAME_SIZE);
	assert_int_equal(size, 24);
	assert_int_equal(go_table_find(&t, text + 0xff, NULL, &size), GO_FRAME_SIZE);
	assert_int_equal(go_table_find(&t, text + 0x100, NULL, &size), GO_FRAME_ROOT);
	assert_int_equal(go_table_find(&t, text + 0x2ff, NULL, &size),
			 has_flags ? GO_FRAME_SWITCH : GO_FRAME_SIZE);
	assert_int_equal(go_table_find(&t, text + 0x300, NULL, &size), GO_FRAME_NONE);
	elf_image_close(img);
}

static void reads_all_layouts(void **state)
{
	static struct bytes b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof versions / sizeof *versions; i++) {
		build_table(&b, &versions[i], TEXT);
		check_sizes(build_elf(&b, NULL), TEXT, versions[i].flags_at);
	}
}

/* A position-independent program's start of text is a relocation; without one it is .text's. */
static void finds_the_start_of_text(void **state)
{
	const Elf64_Rela rela = {TABLE + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x700000};
	static struct bytes b;

	(void)state;
	build_table(&b, &versions[3], 0);
	check_sizes(build_elf(&b, &rela), 0x700000, true);
	check_sizes(build_elf(&b, NULL), TEXT, true);
}

static void survives_mutations(void **state)
{
	static struct bytes good, b;
	uint64_t seed = 3, size;
	unsigned round, i, answered = 0, unanswered = 0, limited = 0;

	(void)state;
	for (round = 0; round < 20000; round++) {
		enum go_frame kind = GO_FRAME_NONE;
		uint64_t steps = 1;
		struct elf_image *img;
		struct go_table t;

		if (round % 4 == 0)
			build_table(&good, &versions[round / 4 % 4], TEXT);
		b = good;
		for (i = 0; i < 1 + round % 3; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			b.v[(seed >> 33) % b.n] = (uint8_t)(seed >> 20);
		}
		if (round % 5 == 0)
			b.n = (seed >> 40) % b.n + 1;
		img = build_elf(&b, NULL);
		go_table_open(&t, img);
		for (i = 0; i < 8; i++) {
			kind = go_table_find(&t, TEXT + 0x60 * i, NULL, &size);
			assert_in_range(kind, GO_FRAME_NONE, GO_FRAME_CALLBACK);
			/* Outside of the code there is nothing, whatever the table says. */
			assert_int_equal(go_table_find(&t, 0, NULL, &size), GO_FRAME_NONE);
			answered += kind != GO_FRAME_NONE;
			unanswered += kind == GO_FRAME_NONE;
		}
		/* The limit on steps is kept, and what was used is taken off. */
		kind = go_table_find(&t, TEXT + 0x280, &steps, &size);
		assert_in_range(steps, 0, 1);
		limited += kind == GO_FRAME_NONE;
		elf_image_close(img);
	}
	/* Most damage is survived with an answer, some without: the mutations reach the table. */
	assert_true(answered > unanswered);
	assert_true(unanswered > 2 * 20000);
	assert_true(limited > 0);
}

/* A file of 1 MB that is built to be looked at for hours: candidates for Go's table of functions,
 * words with their addresses, relocations to be searched for each of these, and sections that all
 * show the same bytes. */
static uint8_t *hostile_go_file(uint64_t *ret_size)
{
	enum { HEADER = 32, CANDIDATES = 64, WORDS = 30000, RELAS = 20000, SECTIONS = 6000 };
	static const char names[] = "\0.data.rel.ro\0.go.buildinfo\0.rela.dyn\0.data";
	enum { DATA_REL_RO = 1, GO_BUILDINFO = 14, RELA_DYN = 28, DATA = 38 };
	const uint64_t base = 0x400000, data = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		       data_size = CANDIDATES * HEADER + WORDS * 8, relas = data + data_size,
		       strings = relas + RELAS * sizeof(Elf64_Rela),
		       table = (strings + sizeof names + 7) & ~7ull,
		       size = table + (SECTIONS + 4) * sizeof(Elf64_Shdr);
	uint8_t *file = calloc(1, size);
	uint64_t i;

	assert_non_null(file);
	*(Elf64_Ehdr *)file = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = 1,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = table,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTIONS + 4,
		.e_shstrndx = 0,
	};
	*(Elf64_Phdr *)(file + sizeof(Elf64_Ehdr)) =
		(Elf64_Phdr){PT_LOAD, PF_R | PF_W, 0, base, base, table, table, 0x1000};
	for (i = 0; i < CANDIDATES; i++)
		memcpy(file + data + i * HEADER, "\xf1\xff\xff\xff\0\0\1\10", 8);
	for (i = 0; i < WORDS; i++) {
		uint64_t word = i / 11 % 2 ? 0 : base + data + i % CANDIDATES * HEADER;

		memcpy(file + data + CANDIDATES * HEADER + i * 8, &word, sizeof word);
	}
	memcpy(file + strings, names, sizeof names);
	for (i = 0; i < SECTIONS + 4; i++)
		((Elf64_Shdr *)(file + table))[i] = (Elf64_Shdr){i ? DATA : 0,
								 SHT_PROGBITS,
								 SHF_ALLOC | SHF_WRITE,
								 base + data,
								 data,
								 data_size,
								 0,
								 0,
								 8,
								 sizeof(Elf64_Rela)};
	((Elf64_Shdr *)(file + table))[0] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = strings, .sh_size = sizeof names};
	((Elf64_Shdr *)(file + table))[1].sh_name = DATA_REL_RO;
	((Elf64_Shdr *)(file + table))[2].sh_name = GO_BUILDINFO;
	((Elf64_Shdr *)(file + table))[3] = (Elf64_Shdr){.sh_name = RELA_DYN,
							 .sh_type = SHT_RELA,
							 .sh_flags = SHF_ALLOC,
							 .sh_offset = relas,
							 .sh_size = RELAS * sizeof(Elf64_Rela)};
	*ret_size = size;
	return file;
}

static void hostile_file_takes_no_hours(void **state)
{
	uint64_t size;
	uint8_t *file = hostile_go_file(&size);
	struct go_table found;
	struct elf_image *img;

	(void)state;
	assert_int_equal(elf_image_open_memory(&img, file, size, "go", NULL), 0);
	assert_false(go_table_open(&found, img));
	elf_image_close(img);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_layouts),
		cmocka_unit_test(finds_the_start_of_text),
		cmocka_unit_test(survives_mutations),
		cmocka_unit_test(hostile_file_takes_no_hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
