/* split.h - .dwo files and .dwp packages: where -gsplit-dwarf puts the DIEs. Private to dwarf/. */
#ifndef DWARF_SPLIT_H
#define DWARF_SPLIT_H

#include "dwarf/unit.h"

/* ---- package.c: the index of a package ------------------------------------------------ */

/* The parts of a package's sections that belong to one unit. */
struct dwarf_contribution {
	uint64_t dwo_id;
	uint64_t info_off, info_size, abbrev_off;
	struct dwarf_slice str_offsets, rnglists;
	uint32_t row; /* place in the package, from 1 */
};

/* Reads .debug_cu_index; leaves f->package NULL if it is damaged. Returns 0 or -ERR_NOMEM. */
int dwarf_package_open(struct dwarf_file *f);
void dwarf_package_free(struct dwarf_package *p);
size_t dwarf_package_count(const struct dwarf_package *p);
const struct dwarf_contribution *dwarf_package_at(const struct dwarf_package *p, size_t i);
/* NULL: not in the package. */
const struct dwarf_contribution *dwarf_package_find(const struct dwarf_package *p, uint64_t dwo_id);
/* Restricts a unit that is being opened to its part of the sections. */
void dwarf_package_narrow(struct dwarf_cu *cu);

/* ---- split.c: finding split units ------------------------------------------------------ */

/* The split files of a module, opened when a unit asks for them. */
struct dwarf_splits;

/* Packages and files with relative names are searched for beside the files of[], of which one may
 * be NULL, all below the root that these were opened below. of[] must outlive the splits. Returns 0
 * or -ERR_NOMEM. */
int dwarf_splits_new(struct dwarf_splits **ret, const struct elf_image *const of[2]);
void dwarf_splits_free(struct dwarf_splits *s);
/* Frees what only compiling needs; strings stay valid. */
void dwarf_splits_forget_units(struct dwarf_splits *s);
/* Opens the split unit of a skeleton; its dwo id must match. Sets *differs if there is such a file,
 * but without that unit. The skeleton must outlive *ret. Returns 0; 1 if the unit is not found or
 * damaged; -ERR_NOMEM. For any thread. */
int dwarf_splits_cu(struct dwarf_splits *s, const struct dwarf_cu *skeleton, struct dwarf_cu *ret,
		    bool *differs);

#endif
