/* fuzz_elf.c - libFuzzer target: any bytes as an ELF file. */
#include <string.h>

#include "modules/modules.h"
#include "tests/fuzz.h"

static void check_bytes(const struct elf_image *img)
{
	const struct build_id *id = elf_image_build_id(img);
	size_t size;
	const uint8_t *bytes = elf_image_bytes(img, &size);

	FUZZ_CHECK(bytes && id->size <= BUILD_ID_MAX);
	(void)fuzz_sum_bytes(bytes, size);
}

static void check_sections(struct elf_image *img)
{
	size_t n = elf_image_section_count(img), file_size;
	struct elf_section s, whole;
	enum err_code why;
	const char *name;

	(void)elf_image_bytes(img, &file_size);
	FUZZ_CHECK(!elf_image_section_at(img, n, &name, &s));
	for (size_t i = 0; i < n && i < 256; i++) {
		FUZZ_CHECK(elf_image_section_at(img, i, &name, &s) && s.index == i);
		FUZZ_CHECK(!s.data || s.size <= file_size || !*name);
		if (s.data)
			(void)fuzz_sum_bytes(s.data, s.size);
		why = ERR_OK;
		if (!elf_image_section(img, name, &whole, &why)) {
			FUZZ_CHECK(why != ERR_OK);
			continue;
		}
		if (whole.data)
			(void)fuzz_sum_bytes(whole.data, whole.size);
	}
}

/* An address that lies in a segment is there with as many bytes as were said to follow. */
static void check_vaddr(const struct elf_image *img, uint64_t vaddr)
{
	size_t left, file_size;
	const uint8_t *bytes = elf_image_bytes(img, &file_size);
	const uint8_t *p = elf_image_at_vaddr(img, vaddr, &left);
	uint64_t off;

	if (p) {
		FUZZ_CHECK(left && p >= bytes && left <= file_size - (size_t)(p - bytes));
		FUZZ_CHECK(elf_image_vaddr_to_off(img, vaddr, &off));
	}
	if (elf_image_vaddr_to_off(img, vaddr, &off))
		(void)elf_image_off_to_vaddr(img, off, &vaddr);
}

static void check_segments(const struct elf_image *img)
{
	static const uint32_t types[] = {PT_LOAD, PT_DYNAMIC, PT_NOTE, PT_GNU_EH_FRAME, 0x12345};
	const struct elf_segment *g;
	size_t n = elf_image_segments(img, &g);
	uint64_t vaddr;
	Elf64_Phdr ph;

	for (size_t i = 0; i < n && i < 256; i++) {
		const uint64_t near[] = {g[i].vaddr - 1, g[i].vaddr, g[i].vaddr + g[i].filesz - 1,
					 g[i].vaddr + g[i].filesz, g[i].vaddr + g[i].memsz};

		for (size_t k = 0; k < sizeof near / sizeof *near; k++)
			check_vaddr(img, near[k]);
		(void)elf_image_off_to_vaddr(img, g[i].off, &vaddr);
		(void)elf_image_off_to_vaddr(img, g[i].off + g[i].filesz, &vaddr);
	}
	check_vaddr(img, elf_image_entry(img));
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		FUZZ_CHECK(!elf_image_phdr(img, types[i], &ph) || ph.p_type == types[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_image *img;
	struct err err = {0};

	if (elf_image_open_memory(&img, data, size, "fuzz", &err)) {
		FUZZ_CHECK(err.code != ERR_OK && err.what[0]);
		return 0;
	}
	FUZZ_CHECK(!strcmp(elf_image_path(img), "fuzz"));
	check_bytes(img);
	check_sections(img);
	check_segments(img);
	elf_image_close(img);
	return 0;
}
