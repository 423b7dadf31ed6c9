/* vaddr.c - converts runtime addresses and file offsets to ELF addresses. */
#include <sys/mman.h>

#include "modules/image.h"
#include "modules/modules.h"

/* Did the dso's executable map show this segment, number i? *vaddr is that of the map's first byte.
 * The kernel and ld.so map whole pages; with the first segment ld.so also maps the pages of the
 * segments after it (_dl_map_segments() of glibc). */
static bool map_showed(const struct dso *dso, const struct elf_segment *g, size_t i,
		       uint64_t *vaddr)
{
	static const uint64_t pages[] = {4096, 16384, 65536};
	size_t p;

	for (p = 0; p < sizeof pages / sizeof *pages; p++) {
		uint64_t before = g->vaddr & (pages[p] - 1),
			 size = (before + g->memsz + pages[p] - 1) & ~(pages[p] - 1);

		*vaddr = g->vaddr - before;
		if (size == dso->code_size || (!i && size < dso->code_size))
			return true;
	}
	return false;
}

/* For a file of objcopy --only-keep-debug, which keeps only the address and the size in memory of
 * code segments: the recorded map tells which part of the file was there. */
static bool map_off_to_vaddr(const struct dso *dso, const struct elf_segment *g, size_t n,
			     uint64_t off, uint64_t *ret)
{
	uint64_t vaddr;
	size_t i, found = 0;

	if (off < dso->code_off || off - dso->code_off >= dso->code_size)
		return false;
	for (i = 0; i < n; i++)
		if (g[i].flags & PF_X && map_showed(dso, &g[i], i, &vaddr)) {
			*ret = off - dso->code_off + vaddr;
			found++;
		}
	return found == 1;
}

/* Finds the address with a debug file alone: eu-strip keeps the program headers of the binary. */
static bool debug_off_to_vaddr(const struct module *mod, uint64_t off, uint64_t *ret)
{
	const struct elf_segment *g;
	size_t n = elf_image_segments(mod->debug, &g), i;

	for (i = 0; i < n; i++)
		if (g[i].flags & PF_X && off >= g[i].off && off - g[i].off < g[i].filesz) {
			*ret = off - g[i].off + g[i].vaddr;
			return true;
		}
	return map_off_to_vaddr(mod->dso, g, n, off, ret);
}

bool module_off_to_vaddr(const struct module *mod, uint64_t off, uint64_t *ret)
{
	if (mod->image)
		return elf_image_off_to_vaddr(mod->image, off, ret);
	return mod->debug && debug_off_to_vaddr(mod, off, ret);
}

/* An executable mapping shows an executable segment. The page of the file in which one segment ends
 * and the next begins is mapped for both, at addresses that need not be congruent. */
bool module_ip_to_vaddr(const struct module *mod, const struct map *map, uint64_t ip, uint64_t *ret)
{
	uint64_t off = map_ip_to_off(map, ip);

	return (mod->image && map->prot & PROT_EXEC &&
		image_off_to_vaddr(mod->image, off, PF_X, ret)) ||
	       module_off_to_vaddr(mod, off, ret);
}
