/* tool_mutate.c FILE N - opens N damaged copies of an ELF file as modules, looking for debug files
 * and reading all sections. Survives, or a sanitizer speaks. Called by test_find.py. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "modules/modules.h"

/* Half of the changes in the first 4 KiB and the last 8 KiB, where the headers and the small
 * sections are. */
static void mutate(uint8_t *p, size_t size, uint64_t seed)
{
	unsigned n = 1 + seed % 8, i;

	for (i = 0; i < n; i++) {
		uint64_t r = hash_mix(seed, i);
		size_t at = (size_t)(r >> 8) % size;

		if (r & 1)
			at = (r & 2) ? at % 4096 : size - 1 - at % 8192;
		if (at < size && (at >= 4 || n > 7))
			p[at] = (r & 4) ? (uint8_t)(r >> 32)
					: (uint8_t)(p[at] ^ 1u << (r >> 32) % 8);
	}
}

static unsigned use(struct modules *modules, const struct dso *dso)
{
	struct module *m = modules_get(modules, dso);
	struct elf_section s, whole;
	const char *name;
	unsigned sum = 0;
	uint64_t b;
	size_t i;

	module_debug(modules, m);
	for (i = 0; m->image && i < 100 && elf_image_section_at(m->image, i, &name, &s); i++) {
		if (!elf_image_section(m->image, name, &whole, NULL) || !whole.data)
			continue;
		for (b = 0; b < whole.size; b++)
			sum += whole.data[b];
	}
	return sum + (m->debug != NULL) + (m->mini != NULL);
}

int main(int argc, char **argv)
{
	const char *out = "mutated";
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, i, opened = 0;
	struct elf_image *img;
	const uint8_t *bytes;
	size_t size;

	if (argc < 3 || elf_image_open(&img, argv[1], NULL))
		return 2;
	bytes = elf_image_bytes(img, &size);
	for (i = 0; i < n; i++) {
		struct dso dso = {.path = out};
		struct modules *modules;
		uint8_t *copy = malloc(size);
		FILE *f = fopen(out, "w");
		size_t k;

		if (!copy || !f || modules_new(&modules, NULL, NULL))
			return 2;
		for (k = 0; k < size; k++)
			copy[k] = bytes[k];
		mutate(copy, size, hash_u64(i));
		fwrite(copy, 1, size, f);
		fclose(f);
		opened += use(modules, &dso) != 0;
		modules_free(modules);
		free(copy);
	}
	elf_image_close(img);
	printf("%lu of %lu still opened\n", opened, n);
	return opened ? 0 : 1;
}
