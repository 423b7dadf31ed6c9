/* test_hostile.c - symbol tables, PLT and .eh_frame_hdr of damaged ELF files: nothing may be read
 * outside of the file (the sanitizers watch), nothing may loop. What comes out does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolize/elfsyms.h"
#include "symbolize/read_file.h"
#include "tests/random.h"

static uint64_t state = 4711;

static char *sample;
static size_t sample_size;

static int make_sample(void **unused)
{
	static const char source[] =
		"#include <stdio.h>\\n#include <stdlib.h>\\nstatic int f(int x) { return x; }\\n"
		"int g(int x) { return f(x); }\\n"
		"int main(int c, char **v) { puts(v[0]); free(v); exit(g(c)); }\\n";
	char command[1024];

	(void)unused;
	snprintf(command, sizeof command,
		 "printf '%s' > h.c && cc -O0 -rdynamic -fcf-protection -Wl,-z,ibtplt h.c -o h.elf",
		 source);
	if (system(command) || read_file("h.elf", 1 << 20, &sample, &sample_size, NULL, NULL))
		return -1;
	return 0;
}

static int free_sample(void **unused)
{
	(void)unused;
	free(sample);
	return 0;
}

static void use_all(struct elf_image *img)
{
	const struct dso dso = {.path = "h.elf"};
	const struct module mod = {.dso = &dso, .image = img};
	struct code_section section = {0};
	struct functab tab = {0}, plt = {0};
	struct func_cursor c = {0};
	struct cfi_index eh;
	size_t n, i;

	assert_int_equal(symtab_read(&tab, img, ".symtab", NULL, &n), 0);
	assert_int_equal(symtab_read(&tab, img, ".dynsym", NULL, &n), 0);
	assert_int_equal(functab_finish(&tab), 0);
	assert_int_equal(plt_read(&plt, &mod), 0);
	cfi_index_open_eh(&eh, img);
	for (i = 0; i < tab.funcs.n; i++)
		assert_true(strlen(tab.funcs.v[i].name) > 0);
	for (i = 0; i < plt.funcs.n; i++)
		assert_true(strlen(plt.funcs.v[i].name) > 0);
	for (i = 0; i < 16; i++) {
		uint64_t vaddr = i < 8 ? 0x1000 + next_random(&state) % 0x400 : next_random(&state),
			 start;
		const struct func *f = functab_find(&tab, vaddr, &c);

		assert_true(!f || (f->start <= vaddr && vaddr < f->end));
		plt_covers(img, vaddr, &section);
		if (cfi_index_start(&eh, vaddr, &start) > 0)
			assert_true(start <= vaddr);
	}
	cfi_index_done(&eh);
	functab_done(&tab);
	functab_done(&plt);
}

static void good_sample(void **unused)
{
	struct functab tab = {0}, plt = {0};
	struct elf_image *img;
	size_t n;

	(void)unused;
	assert_int_equal(elf_image_open_memory(&img, sample, sample_size, "sample", NULL), 0);
	assert_int_equal(symtab_read(&tab, img, ".symtab", NULL, &n), 0);
	assert_true(n > 5);
	assert_int_equal(symtab_read(&tab, img, ".dynsym", NULL, &n), 0);
	assert_true(n > 1);
	assert_int_equal(functab_finish(&tab), 0);
	assert_int_equal(plt_read(&plt, &(struct module){.image = img}), 0);
	assert_true(plt.funcs.n > 3);
	functab_done(&tab);
	functab_done(&plt);
	elf_image_close(img);
}

/* Interesting values at interesting places: the tables this folder reads. */
static void damage(char *data, size_t size)
{
	static const uint64_t values[] = {0,
					  1,
					  2,
					  7,
					  0x7f,
					  0xff,
					  0x7fff,
					  0xffff,
					  0x7fffffff,
					  0xffffffff,
					  0x8000000000000000,
					  UINT64_MAX};
	uint64_t shoff, at = next_random(&state) % size, v = values[next_random(&state) % 12];
	size_t n = (size_t)1 << next_random(&state) % 4;

	memcpy(&shoff, sample + 0x28, sizeof shoff);
	if (next_random(&state) % 2) /* a section header field */
		at = shoff + next_random(&state) % (size - shoff);
	if (next_random(&state) % 3 == 0)
		v = next_random(&state) % size;
	if (at + n <= size)
		memcpy(data + at, &v, n);
}

static void mutated_files(void **unused)
{
	char *data = malloc(sample_size);
	unsigned round, i;

	(void)unused;
	for (round = 0; round < 6000; round++) {
		struct elf_image *img;
		size_t size = sample_size;

		memcpy(data, sample, sample_size);
		for (i = 0; i <= round % 8; i++)
			damage(data, size);
		if (round % 10 == 0)
			size = next_random(&state) % size;
		if (elf_image_open_memory(&img, data, size, "mutated", NULL))
			continue;
		use_all(img);
		elf_image_close(img);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_sample),
		cmocka_unit_test(mutated_files),
	};

	return cmocka_run_group_tests(tests, make_sample, free_sample);
}
