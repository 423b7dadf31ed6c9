/* fuzz_elf.c - libFuzzer target: symbol tables, PLT, .eh_frame_hdr and .gopclntab of any file.
 * */
#include <string.h>

#include "symbolize/elfsyms.h"
#include "tests/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct go_line chain[64];
	struct func_cursor cursor = {0};
	const struct dso dso = {.path = "fuzz"};
	struct module mod = {.dso = &dso};
	struct elfsyms s = {0};
	const struct func *f;
	size_t i;

	if (elf_image_open_memory(&mod.image, data, size, "fuzz", NULL))
		return 0;
	if (!elfsyms_load(&s, &mod, NULL, 0))
		for (i = 0; i < 64; i++) {
			uint64_t vaddr = i < 32 ? 0x1000 + i * 16 : 0x401000 + (i - 32) * 4;

			if (elfsyms_find(&s, vaddr, &cursor, &f))
				break;
			if (f)
				FUZZ_CHECK(f->start <= vaddr && vaddr < f->end && strlen(f->name));
			if (s.go.data)
				FUZZ_CHECK(go_table_chain(&s.go, vaddr, chain, 64) <= 64);
		}
	elfsyms_done(&s);
	elf_image_close(mod.image);
	return 0;
}
