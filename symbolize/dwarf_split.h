/* dwarf_split.h - .dwo files and .dwp packages: where -gsplit-dwarf puts the DIEs. Private to
 * symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_SPLIT_H
#define SYMBOLIZE_DWARF_SPLIT_H

#include <pthread.h>

#include "base/vec.h"
#include "symbolize/dwarf_unit.h"

struct dwarf_units {
	struct dwarf_unit *v;
	size_t n, cap;
};

/* ---- the index of a package ---------------------------------------------------------------- */

/* What one unit owns of a package's sections. */
struct dwarf_contribution {
	uint64_t dwo_id;
	uint64_t info_off, info_size, abbrev_off;
	uint64_t str_offsets_off, str_offsets_size, rnglists_off, rnglists_size;
	uint32_t row; /* from 1 */
};

/* Reads .debug_cu_index; leaves f->package NULL when it is damaged. 0 or -ERR_NOMEM. */
int dwarf_package_open(struct dwarf_file *f);
void dwarf_package_free(struct dwarf_package *p);
size_t dwarf_package_count(const struct dwarf_package *p);
struct dwarf_contribution dwarf_package_unit(const struct dwarf_package *p, size_t i);
/* Restricts an opened unit of a package to its part of the sections. */
void dwarf_package_narrow(struct dwarf_cu *cu);

/* ---- finding split units ------------------------------------------------------------------- */

/* The split files of one main file, opened when a unit asks for them. */
struct dwarf_splits;

int dwarf_splits_new(struct dwarf_splits **ret, const struct dwarf_file *main);
void dwarf_splits_free(struct dwarf_splits *s);
/* Opens the unit that the skeleton stands for. 0; 1 when it is not found or damaged; -ERR_NOMEM.
 * Any thread. */
int dwarf_splits_cu(struct dwarf_splits *s, const struct dwarf_cu *skeleton, struct dwarf_cu *ret);

#endif
