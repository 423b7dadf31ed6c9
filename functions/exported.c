/* exported.c - what a file exports, by one look-up in its GNU hash table (gABI supplement:
 * DT_GNU_HASH). A bundle has no such table, and few symbols. */
#include <string.h>

#include "functions/functions.h"
#include "modules/modules.h"

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

struct hashes {
	const uint8_t *data;
	size_t n; /* words */
};

static uint32_t word(const struct hashes *t, uint64_t i)
{
	uint32_t v = 0;

	if (i < t->n)
		memcpy(&v, t->data + i * sizeof v, sizeof v);
	return v;
}

/* Looks for the name in the chain of its bucket. */
static bool find(const struct hashes *t, const struct elf_symbols *syms, const char *name,
		 Elf64_Sym *ret)
{
	const uint32_t hash = gnu_hash(name);
	const uint64_t buckets = 4 + 2ull * word(t, 2), chain = buckets + word(t, 0);
	uint64_t i = word(t, buckets + hash % word(t, 0));

	for (; i >= word(t, 1) && i < syms->n && chain + i - word(t, 1) < t->n; i++) {
		const uint32_t link = word(t, chain + i - word(t, 1));

		if ((link | 1) == (hash | 1)) {
			const Elf64_Sym sym = elf_symbols_at(syms, i);
			const char *is = elf_symbols_name(syms, &sym);

			*ret = sym;
			if (is && !strcmp(is, name))
				return true;
		}
		if (link & 1)
			return false;
	}
	return false;
}

/* For files without the table. */
static bool find_by_all(const struct elf_symbols *syms, const char *name, Elf64_Sym *ret)
{
	for (size_t i = 0; i < syms->n; i++) {
		const char *is;

		*ret = elf_symbols_at(syms, i);
		is = ret->st_name ? elf_symbols_name(syms, ret) : NULL;
		if (is && !strcmp(is, name))
			return true;
	}
	return false;
}

bool elf_exported_find(struct elf_image *img, const char *name, Elf64_Sym *ret)
{
	struct hashes t = {0};
	struct elf_section sec;
	struct elf_symbols syms;

	if (!elf_image_is_64(img) || elf_image_swapped(img) ||
	    !elf_symbols_open(&syms, img, ".dynsym"))
		return false;
	if (elf_image_section(img, ".gnu.hash", &sec, NULL) && sec.data)
		t = (struct hashes){sec.data, sec.size / sizeof(uint32_t)};
	if (!(word(&t, 0) ? find(&t, &syms, name, ret) : find_by_all(&syms, name, ret)))
		return false;
	return ret->st_shndx != SHN_UNDEF;
}

/* Without gcc each instruction of PHP is a function, and execute_ex() only calls them. */
enum { HYBRID_BYTES_MIN = 8192 };

bool php_vm_find(struct elf_image *img, uint64_t *vaddr)
{
	Elf64_Sym sym;

	if (!elf_exported_find(img, "execute_ex", &sym) || sym.st_size < HYBRID_BYTES_MIN)
		return false;
	*vaddr = sym.st_value + sym.st_size / 2;
	return true;
}
