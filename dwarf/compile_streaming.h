/* compile_streaming.h - compiles units while .debug_info is still being inflated. Private to
 * dwarf/.
 *
 * Inflating one section takes one thread as long as compiling takes all others. So these compile
 * what is complete by then: each unit as if it were alone in its file, from bytes whose checksum
 * is not known yet. What comes of it is only taken when the whole section turned out to be right,
 * and the same unit is to be compiled in the same way; whatever looks beyond its unit (references,
 * split units ...) waits until everything is there. So the result is the same with and without.
 *
 * Of a unit that is done with nothing is needed any more but its header and its root DIE. Its
 * memory is let go of, and what is inflated next comes there: a few MB that stay in the processor's
 * cache do for all of .debug_info. Where more of it is needed after all (references to other
 * units, damage, ranges that are not true), it is inflated a second time. */
#ifndef DWARF_COMPILE_STREAMING_H
#define DWARF_COMPILE_STREAMING_H

#include "dwarf/compiled_unit.h"
#include "dwarf/store.h"

struct dwarf_streaming; /* opaque */

/* 0 or -ERR_NOMEM. The filter must outlive it, and the store, which knows when everything is to be
 * compiled. On so many threads; with one it compiles between the steps of inflating. */
int dwarf_streaming_new(struct dwarf_streaming **ret, const struct dwarf_filter *filter,
			const struct dwarf_store *store, unsigned n_threads);
/* When no thread is at it any more. */
void dwarf_streaming_free(struct dwarf_streaming *e);

/* What threads that load a file's sections say. .debug_info is to be watched. */
struct elf_watch dwarf_streaming_watch(struct dwarf_streaming *e);
/* One more section of f was loaded, or is not there. */
void dwarf_streaming_loaded(struct dwarf_streaming *e, const struct dwarf_file *f,
			    enum dwarf_section sec);
/* Compiles until nothing is left to do: for threads that have nothing else to do. Waits for all
 * sections, which other threads must be at, or have loaded. */
void dwarf_streaming_work(struct dwarf_streaming *e);

/* Once f has its units: gives it the abbreviation tables that were decoded. */
void dwarf_streaming_adopt(struct dwarf_streaming *e, struct dwarf_file *f);
/* Moves what a unit was compiled to into *part. False: it was not, or not in this way. */
bool dwarf_streaming_take(struct dwarf_streaming *e, const struct dwarf_unit *u,
			  const struct dwarf_filter *filter, struct dwarf_compiled_unit *part);
/* How much of .debug_info was let go of; of NULL 0. */
uint64_t dwarf_streaming_let_go_bytes(const struct dwarf_streaming *e);
/* Whether everything is compiled, as far as that was decided early; of NULL not at all. */
enum dwarf_extent { DWARF_EXTENT_OPEN, DWARF_EXTENT_WANTED, DWARF_EXTENT_ALL };
enum dwarf_extent dwarf_streaming_extent(const struct dwarf_streaming *e);
/* How many were taken; of NULL 0. */
size_t dwarf_streaming_taken(const struct dwarf_streaming *e);

#endif
