/* vdso.c - the vDSO of this process as an ELF image. */
#include <string.h>
#include <sys/auxv.h>

#include "modules/find.h"
#include "modules/image.h"

/* The kernel maps the whole pages that contain the image; only the image's own headers tell its
 * length. These bytes come from the kernel, so they are trusted. */
static size_t vdso_size(const uint8_t *base)
{
	ElfW(Ehdr) h;
	ElfW(Phdr) p;
	size_t end, i;

	memcpy(&h, base, sizeof h);
	end = h.e_shoff + (size_t)h.e_shnum * h.e_shentsize;
	for (i = 0; i < h.e_phnum; i++) {
		memcpy(&p, base + h.e_phoff + i * h.e_phentsize, sizeof p);
		if (p.p_type == PT_LOAD && p.p_offset + p.p_filesz > end)
			end = p.p_offset + p.p_filesz;
	}
	return end;
}

int vdso_of_this_process(struct elf_image **ret)
{
	const uint8_t *base = (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);

	*ret = NULL;
	return base ? elf_image_open_memory(ret, base, vdso_size(base), "[vdso]", NULL) : 0;
}
