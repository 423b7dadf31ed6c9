/* early.h - compiles units while .debug_info is still being inflated. Private to dwarf/.
 *
 * Inflating one section takes one thread as long as compiling takes all others. So these compile
 * what is complete by then: each unit as if it were alone in its file, from bytes whose checksum
 * nobody knows yet. What comes of it is only taken when the whole section turned out to be right,
 * and the same unit is to be compiled in the same way; whatever looks beyond its unit (references,
 * split units ...) waits until everything is there. So the result is the same with and without.
 *
 * Of a unit that is done with nothing is needed any more but its header and its root DIE. Its
 * memory is let go of, and what is inflated next comes there: a few MB that stay in the processor's
 * cache do for all of .debug_info. Should somebody want more of it after all (references to other
 * units, damage, ranges that are not true), it is inflated a second time. */
#ifndef DWARF_EARLY_H
#define DWARF_EARLY_H

#include "dwarf/part.h"
#include "dwarf/store.h"

struct dwarf_early; /* opaque */

/* 0 or -ERR_NOMEM. The filter must outlive it, and the store, which tells when everything is to be
 * compiled. On so many threads; with one it compiles between the steps of inflating. */
int dwarf_early_new(struct dwarf_early **ret, const struct dwarf_filter *filter,
		    const struct dwarf_store *store, unsigned n_threads);
/* When no thread is at it any more. */
void dwarf_early_free(struct dwarf_early *e);

/* What threads that load a file's sections say. .debug_info is to be watched. */
struct elf_watch dwarf_early_watch(struct dwarf_early *e);
/* One more section of f was loaded, or is not there. */
void dwarf_early_loaded(struct dwarf_early *e, const struct dwarf_file *f, enum dwarf_section sec);
/* Compiles until nothing is left to do: for threads that have nothing else to do. Waits for all
 * sections, which other threads must be at, or have loaded. */
void dwarf_early_work(struct dwarf_early *e);

/* Once f has its units: gives it the abbreviation tables that were decoded. */
void dwarf_early_adopt(struct dwarf_early *e, struct dwarf_file *f);
/* Moves what a unit was compiled to into *part. False: it was not, or not in this way. */
bool dwarf_early_take(struct dwarf_early *e, const struct dwarf_unit *u,
		      const struct dwarf_filter *filter, struct dwarf_part *part);
/* How much of .debug_info was let go of; of NULL 0. */
uint64_t dwarf_early_let_go_bytes(const struct dwarf_early *e);
/* Whether everything is compiled, as far as that was decided early; of NULL not at all. */
enum dwarf_extent { DWARF_EXTENT_OPEN, DWARF_EXTENT_WANTED, DWARF_EXTENT_ALL };
enum dwarf_extent dwarf_early_extent(const struct dwarf_early *e);
/* How many were taken; of NULL 0. */
size_t dwarf_early_taken(const struct dwarf_early *e);

#endif
