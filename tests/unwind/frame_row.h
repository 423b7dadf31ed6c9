/* frame_row.h - the row of call frame information that a frame was found by. */
#ifndef TESTS_FRAME_ROW_H
#define TESTS_FRAME_ROW_H

#include "unwind/cfi.h"
#include "unwind/unwind.h"

/* False: none. x86-64. */
static inline bool frame_row(struct modules *modules, const struct frame *f, struct cfi_row *row)
{
	struct module *mod = f->map ? modules_get(modules, f->map->dso) : NULL;
	struct cfi_index ix;
	struct cfi_fde fde;
	uint64_t vaddr;
	bool found;

	if (!mod || !mod->image || !module_ip_to_vaddr(mod, f->map, frame_lookup_ip(f), &vaddr))
		return false;
	cfi_index_open_eh(&ix, mod->image);
	found = cfi_index_find(&ix, vaddr, &fde) > 0 &&
		cfi_row_find(&fde, &arch_x86_64, vaddr, NULL, row);
	cfi_index_done(&ix);
	return found;
}

#endif
