/* test_hostile.c - files that were made to cost much: sections that are the whole file, ten
 * thousands of them, with one long name; entries of call frame information without number that
 * begin at one place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "cut/cut.h"

enum {
	SECTIONS = 60000,
	NAME_BYTES = 60000,
	FILE_BYTES = 8 << 20,
	ROWS_OFF = 1 << 20,
	NAMES_OFF = 7 << 20,
	/* Address space in which it must do: many times the file. */
	MEMORY = 1 << 30,
};

static void section(uint8_t *file, unsigned i, uint32_t type, uint64_t flags, uint64_t off,
		    uint64_t size)
{
	const Elf64_Shdr s = {.sh_name = 1,
			      .sh_type = type,
			      .sh_flags = flags,
			      .sh_addr = off,
			      .sh_offset = off,
			      .sh_size = size,
			      .sh_addralign = 8,
			      .sh_entsize = sizeof(Elf64_Rela)};

	memcpy(file + ROWS_OFF + i * sizeof s, &s, sizeof s);
}

/* x86-64, one segment with all of it; SECTIONS sections of a type, all of them the whole file. */
static uint8_t *make(uint32_t type, uint64_t flags, const char *name, size_t name_bytes)
{
	uint8_t *file = calloc(1, FILE_BYTES);
	const Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_DYN,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof h,
			      .e_shoff = ROWS_OFF,
			      .e_ehsize = sizeof h,
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1,
			      .e_shentsize = sizeof(Elf64_Shdr),
			      .e_shnum = SECTIONS,
			      .e_shstrndx = SECTIONS - 1};
	const Elf64_Phdr p = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_filesz = FILE_BYTES,
			      .p_memsz = FILE_BYTES};

	assert_non_null(file);
	memcpy(file, &h, sizeof h);
	memcpy(file + sizeof h, &p, sizeof p);
	for (unsigned i = 1; i < SECTIONS - 1; i++)
		section(file, i, type, flags, 0, FILE_BYTES);
	section(file, SECTIONS - 1, SHT_STRTAB, 0, NAMES_OFF, NAME_BYTES + 2);
	memset(file + NAMES_OFF + 1, 'x', name_bytes);
	memcpy(file + NAMES_OFF + 1, name, strlen(name));
	return file;
}

static void cut(const uint8_t *file)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {
		.debug_dirs = no_dirs, .buildid_dir = "", .no_debuginfod_cache = true};
	struct cut_need need = {.level = CUT_SYMBOLS, .n_threads = 1, .zstd_level = 1};
	const struct bundle_entry e = {.path = "/bin/x"};
	struct dso dso = {.kind = DSO_FILE};
	struct bundle_blob out = {0};
	struct modules *modules;
	struct module *mod;
	struct bundle *b;
	char path[32];
	int fd = memfd_create("hostile", MFD_CLOEXEC);

	assert_int_equal(write(fd, file, FILE_BYTES), FILE_BYTES);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	dso.path = path;
	assert_int_equal(modules_new(&modules, &opt, NULL), 0);
	mod = modules_get(modules, &dso);
	assert_non_null(mod);
	assert_non_null(mod->image);
	for (uint64_t at = 0x1000; at < FILE_BYTES; at += 0x800)
		assert_int_equal(vec_push(&need.code, at) || vec_push(&need.frames, at), 0);
	assert_int_equal(bundle_begin(&out), 0);
	assert_int_equal(cut_module(modules, mod, &e, &need, &out, NULL), 0);
	assert_int_equal(bundle_open(&b, out.v, out.n, NULL), 0);
	assert_int_equal(bundle_count(b), 1);
	assert_true(bundle_at(b, 0)->packed <= 4 * FILE_BYTES);
	bundle_free(b);
	vec_done(&out);
	vec_done(&need.code);
	vec_done(&need.frames);
	modules_free(modules);
	close(fd);
}

static void hostile(uint32_t type, uint64_t flags, const char *name, size_t name_bytes)
{
	uint8_t *file = make(type, flags, name, name_bytes);

	cut(file);
	free(file);
}

static void relocations(void **state)
{
	(void)state;
	hostile(SHT_RELA, SHF_ALLOC, ".rela", 0);
}

static void stubs(void **state)
{
	(void)state;
	hostile(SHT_PROGBITS, SHF_ALLOC, ".plt", 0);
}

static void long_names(void **state)
{
	(void)state;
	hostile(SHT_PROGBITS, SHF_ALLOC, ".x", NAME_BYTES);
}

static void data(void **state)
{
	(void)state;
	hostile(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, ".gopclntab", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relocations),
		cmocka_unit_test(stubs),
		cmocka_unit_test(long_names),
		cmocka_unit_test(data),
	};

#if !defined(__SANITIZE_ADDRESS__)
	const struct rlimit memory = {MEMORY, MEMORY};

	if (setrlimit(RLIMIT_AS, &memory))
		return 1;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
