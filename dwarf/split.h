/* split.h - .dwo files and .dwp packages: where -gsplit-dwarf puts the DIEs. Private to dwarf/. */
#ifndef DWARF_SPLIT_H
#define DWARF_SPLIT_H

#include "dwarf/unit.h"

/* ---- package.c: the index of a package ------------------------------------------------ */

/* What one unit owns of a package's sections. */
struct dwarf_contribution {
	uint64_t dwo_id;
	uint64_t info_off, info_size, abbrev_off;
	struct dwarf_slice str_offsets, rnglists;
	uint32_t row; /* place in the package, from 1 */
};

/* Reads .debug_cu_index; leaves f->package NULL when it is damaged. 0 or -ERR_NOMEM. */
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

/* Packages and relative names are looked for beside these, all below the root that these were
 * opened below. One may be NULL. They must outlive the splits. */
int dwarf_splits_new(struct dwarf_splits **ret, const struct elf_image *const of[2]);
void dwarf_splits_free(struct dwarf_splits *s);
/* Frees what is needed for compiling only; strings stay. */
void dwarf_splits_forget_units(struct dwarf_splits *s);
/* Opens the unit that the skeleton stands for, checked by its dwo id. 0; 1 when it is not found or
 * damaged; -ERR_NOMEM. *differs becomes true when there is such a file, without that unit. The
 * skeleton must outlive *ret. Any thread. */
int dwarf_splits_cu(struct dwarf_splits *s, const struct dwarf_cu *skeleton, struct dwarf_cu *ret,
		    bool *differs);

#endif
