/* libdw_space.c - reports the mappings to libdwfl, with our images, and gives what the CFI says
 * about an address. */
#include "unwind/libdw_space.h"

#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "modules/modules.h"
#include "reader/reader.h"

/* Size of the code of _start and what it falls through to: the outermost return addresses are in
 * it. */
#define ELF_ENTRY_BYTES 64

/* Opens the file, or for an image that exists only in memory its bytes. libdw decompresses sections
 * in place, so it needs its own private mapping of a file that may have compressed ones. */
static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	const struct module *m = *userdata;
	int fd = elf_image_reopen(m->image);
	const uint8_t *bytes;
	size_t size;

	(void)mod, (void)name, (void)base;
	*file_name = strdup(elf_image_path(m->image));
	if (fd < 0) {
		bytes = elf_image_bytes(m->image, &size);
		*elf = elf_memory((char *)(uintptr_t)bytes, size);
	}
	return fd;
}

/* Replaces the standard callback, which would query debuginfod servers. */
static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	const struct module *m = *userdata;
	int fd;

	(void)mod, (void)name, (void)base, (void)file, (void)link, (void)crc;
	if (!m->debug || m->debug == m->image)
		return -1;
	fd = elf_image_reopen(m->debug);
	if (fd >= 0)
		*found = strdup(elf_image_path(m->debug));
	return fd;
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

/* Our module for which a module of libdwfl was reported; NULL: none. */
static struct module *our_module(Dwfl_Module *mod)
{
	void **userdata = NULL;

	if (mod)
		dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	return userdata ? *userdata : NULL;
}

/* libdwfl places a module by the address of its first segment, rounded down by p_align. */
static bool module_range(const struct module *m, const struct map *map, uint64_t *start,
			 uint64_t *end)
{
	const struct elf_segment *g;
	size_t n = elf_image_segments(m->image, &g), i;
	uint64_t vaddr, bias, top = 0;
	Elf64_Phdr first;

	if (!elf_image_phdr(m->image, PT_LOAD, &first) ||
	    !module_ip_to_vaddr(m, map, map->start, &vaddr))
		return false;
	bias = map->start - vaddr;
	for (i = 0; i < n; i++)
		if (g[i].vaddr + g[i].memsz > top)
			top = g[i].vaddr + g[i].memsz;
	*start = bias + (first.p_vaddr & -first.p_align);
	*end = bias + top;
	return *start < *end && *start <= map->start && map->start < *end;
}

static void report_map(struct libdw_space *sp, const struct map *map)
{
	struct module *m;
	uint64_t start, end;
	Dwfl_Module *mod;
	void **userdata;
	char name[32];

	if (!(map->prot & PROT_EXEC) || (map->dso->kind != DSO_FILE && map->dso->kind != DSO_VDSO))
		return;
	m = modules_get(sp->modules, map->dso);
	if (!m || !m->image || elf_image_machine(m->image) != sp->arch->e_machine ||
	    elf_image_swapped(m->image) || elf_image_is_64(m->image) != (sp->arch->word_bytes == 8))
		return;
	if (our_module(dwfl_addrmodule(sp->dwfl, map->start)) == m ||
	    !module_range(m, map, &start, &end))
		return;
	snprintf(name, sizeof name, "%u", map->id);
	mod = dwfl_report_module(sp->dwfl, name, start, end);
	if (!mod)
		return;
	dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = m;
}

bool libdw_space_update(struct libdw_space *sp, const struct address_space *as)
{
	size_t n = address_space_count(as), i;

	if (!sp->dwfl) {
		elf_version(EV_CURRENT);
		sp->dwfl = dwfl_begin(&dwfl_callbacks);
		if (!sp->dwfl)
			return false;
	} else if (n == sp->n_maps) {
		return true;
	}
	/* Addresses without CFI so far may be in a module that was not reported yet. */
	hash_done(&sp->pcs);
	dwfl_report_begin_add(sp->dwfl);
	for (i = 0; i < n; i++)
		report_map(sp, address_space_at(as, i));
	sp->n_maps = n;
	return dwfl_report_end(sp->dwfl, NULL, NULL) == 0;
}

void libdw_space_done(struct libdw_space *sp)
{
	if (sp->dwfl)
		dwfl_end(sp->dwfl);
	hash_done(&sp->pcs);
	*sp = (struct libdw_space){0};
}

/* The PC_* flags of an address by one of the two tables (.eh_frame, .debug_frame). */
static unsigned ask_cfi(Dwarf_CFI *cfi, uint64_t vaddr)
{
	Dwarf_Op ops_mem[3], *ops;
	unsigned flags = PC_HAS_CFI;
	Dwarf_Frame *frame;
	bool is_signal;
	size_t n_ops;
	int ra;

	if (!cfi || dwarf_cfi_addrframe(cfi, vaddr, &frame))
		return 0;
	ra = dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal)
		flags |= PC_IS_SIGNAL;
	/* No operations, and `ops` points to our buffer: the register is undefined (libdw.h). */
	if (ra >= 0 && !dwarf_frame_register(frame, ra, ops_mem, &ops, &n_ops) && !n_ops &&
	    ops == ops_mem)
		flags |= PC_IS_ROOT;
	free(frame);
	return flags;
}

static unsigned ask_libdw(struct modules *modules, Dwfl_Module *mod, uint64_t lookup)
{
	struct module *m = our_module(mod);
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	unsigned flags;
	GElf_Addr main_bias;

	if (!m)
		return 0;
	cfi = dwfl_module_eh_cfi(mod, &bias);
	flags = ask_cfi(cfi, lookup - bias);
	if (flags)
		return flags;
	/* Finds the debug file for find_debuginfo(), which is not called before this point. */
	module_debug(modules, m);
	cfi = dwfl_module_dwarf_cfi(mod, &bias);
	flags = ask_cfi(cfi, lookup - bias);
	if (!flags && elf_image_entry(m->image) && dwfl_module_getelf(mod, &main_bias) &&
	    lookup - main_bias - elf_image_entry(m->image) < ELF_ENTRY_BYTES)
		flags = PC_IS_ELF_ENTRY;
	return flags;
}

unsigned libdw_space_pc(struct libdw_space *sp, Dwfl_Module *mod, uint64_t lookup)
{
	uint32_t known = hash_get(&sp->pcs, lookup);

	if (known == HASH_NONE) {
		known = ask_libdw(sp->modules, mod, lookup);
		hash_put(&sp->pcs, lookup, known); /* if out of memory, computed again next time */
	}
	return known;
}
