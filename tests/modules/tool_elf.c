/* tool_elf.c FILE - prints what the image reader sees, for test_elf_readelf.py. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "modules/modules.h"

static void print_build_id(const struct build_id *id)
{
	unsigned i;

	printf("B ");
	for (i = 0; i < id->size; i++)
		printf("%02x", id->bytes[i]);
	printf("\n");
}

int main(int argc, char **argv)
{
	const struct elf_segment *g;
	struct elf_image *img;
	struct elf_section s;
	struct err err = {0};
	const char *name;
	char line[1024];
	size_t i, n;

	if (argc != 2 || elf_image_open(&img, argv[1], &err)) {
		err_format(&err, line, sizeof line);
		printf("E %s\n", line);
		return 2;
	}
	printf("H %d %d %u %u %" PRIx64 "\n", elf_image_is_64(img) ? 64 : 32,
	       elf_image_swapped(img), elf_image_type(img), elf_image_machine(img),
	       elf_image_entry(img));
	n = elf_image_segments(img, &g);
	for (i = 0; i < n; i++)
		printf("L %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %x\n", g[i].off,
		       g[i].vaddr, g[i].filesz, g[i].memsz, g[i].flags);
	for (i = 0; elf_image_section_at(img, i, &name, &s); i++)
		printf("S %zu %s %u %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %u %u\n", i,
		       *name ? name : "-", s.type, s.vaddr, s.off, s.size, s.entsize, s.link,
		       s.info);
	/* Contents as they are in memory, by name. */
	for (i = 0; elf_image_section_at(img, i, &name, &s); i++)
		if (elf_image_section(img, name, &s, NULL) && s.data)
			printf("C %s %" PRIu64 " %08lx\n", *name ? name : "-", s.size,
			       crc32_z(0, s.data, s.size));
	print_build_id(elf_image_build_id(img));
	elf_image_close(img);
	return 0;
}
