/* fuzz_dwp.c - libFuzzer target: a program whose debug information is elsewhere, and the package
 * with it: the program's size (4 bytes, big-endian), the program, then the .dwp beside it. Both are
 * files of a folder of their own, as packages are only read from there. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dwarf/dwarf.h"
#include "tests/dwarf/lookup.h"
#include "tests/fuzz.h"

enum { ADDRESSES = 256, DEPTH = 64, LENGTH_BYTES = 4 };

static char dir[] = "/tmp/fuzz-dwp-XXXXXX", program[64], package[64];

static void remove_files(void)
{
	unlink(program);
	unlink(package);
	rmdir(dir);
}

static void make_folder(void)
{
	if (*program)
		return;
	FUZZ_CHECK(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/p", dir);
	snprintf(package, sizeof package, "%s/p.dwp", dir);
	atexit(remove_files);
}

static void put(const char *path, const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "w");

	FUZZ_CHECK(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

/* All units, then those of some addresses, by several threads. */
static void compile(struct module *mod)
{
	static struct dwarf_frame frames[DEPTH], line;
	struct dwarf_index_stats st;
	uint64_t addrs[ADDRESSES];
	struct dwarf_index *d;
	size_t i, n;

	for (i = 0; i < ADDRESSES; i++)
		addrs[i] = 0x1000 + i;
	if (!dwarf_index_open(&d, mod, NULL, 0, NULL, 1, NULL) && d)
		dwarf_index_free(d);
	if (dwarf_index_open(&d, mod, addrs, ADDRESSES, NULL, 2, NULL) || !d)
		return;
	for (i = 0; i < ADDRESSES; i++) {
		n = dwarf_index_lookup(d, addrs[i], frames, DEPTH, &line);
		FUZZ_CHECK(n <= DEPTH);
		while (n--)
			fuzz_sum_bytes(frames[n].name ? frames[n].name : "",
				       frames[n].name ? strlen(frames[n].name) : 0);
	}
	dwarf_index_stats(d, &st);
	FUZZ_CHECK(st.units_compiled <= st.units);
	FUZZ_CHECK(st.units_unsplit <= st.units);
	dwarf_index_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module mod = {0};
	size_t n;

	if (size < LENGTH_BYTES)
		return 0;
	n = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
	data += LENGTH_BYTES;
	size -= LENGTH_BYTES;
	n = n < size ? n : size;
	make_folder();
	put(program, data, n);
	put(package, data + n, size - n);
	if (elf_image_open(&mod.image, program, NULL))
		return 0;
	mod.debug = mod.image;
	compile(&mod);
	elf_image_close(mod.image);
	return 0;
}
