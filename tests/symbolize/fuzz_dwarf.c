/* fuzz_dwarf.c - libFuzzer target: debug information of any ELF file, compiled and looked up. */
#include <string.h>

#include "symbolize/dwarf.h"
#include "tests/fuzz.h"

enum { ADDRESSES = 256, DEPTH = 64 };

/* Strings must end inside of memory that is ours. */
static size_t read_frames(const struct dwarf_frame *f, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		total += f[i].linkage_name ? strlen(f[i].linkage_name) : 0;
		total += f[i].name ? strlen(f[i].name) : 0;
		total += f[i].file ? strlen(f[i].file) : 0;
	}
	return total;
}

static void check_stats(const struct dwarf_index *d)
{
	struct dwarf_index_stats st;

	dwarf_index_stats(d, &st);
	FUZZ_CHECK(st.units_compiled <= st.units);
}

static void compile(struct elf_image *img)
{
	struct module mod = {.image = img, .debug = img};
	struct dwarf_frame frames[DEPTH], line;
	struct dwarf_index *d;
	uint64_t addrs[ADDRESSES];

	for (size_t i = 0; i < ADDRESSES; i++)
		addrs[i] = 0x1000 + i;
	if (!dwarf_index_new(&d, &mod, addrs, ADDRESSES, 1, NULL) && d) {
		for (size_t i = 0; i < ADDRESSES; i++) {
			size_t n = dwarf_index_lookup(d, addrs[i], frames, DEPTH, &line);

			FUZZ_CHECK(n <= DEPTH);
			(void)read_frames(frames, n);
			(void)read_frames(&line, 1);
		}
		check_stats(d);
		dwarf_index_free(d);
	}
	/* Everything, not only what is asked for. */
	if (!dwarf_index_new(&d, &mod, NULL, 0, 1, NULL) && d) {
		check_stats(d);
		dwarf_index_free(d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image *img;

	if (!elf_image_open_memory(&img, data, size, "fuzz", NULL)) {
		compile(img);
		elf_image_close(img);
	}
	return 0;
}
