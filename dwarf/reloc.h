/* reloc.h - relocatable files (kernel modules), whose sections have no addresses yet. Private
 * to dwarf/. */
#ifndef DWARF_RELOC_H
#define DWARF_RELOC_H

#include "dwarf/file.h"

#define DWARF_NOT_PLACED UINT64_MAX

/* The address of each section as the kernel lays out a module's code (kernel/module/main.c,
 * __layout_sections): executable sections in file order, aligned, without those that are freed
 * after init; 0 is the module's base. DWARF_NOT_PLACED for all others. To be freed with free().
 * Returns NULL when out of memory. */
uint64_t *dwarf_reloc_layout(struct elf_image *img);

/* Replaces the loaded sections by relocated copies. Returns 0 or -ERR_NOMEM. */
int dwarf_reloc_apply(struct dwarf_file *f);

#endif
