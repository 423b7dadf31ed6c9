/* compile_streaming.h - compiles units while .debug_info is still being inflated. Private to
 * dwarf/.
 *
 * Inflating one section keeps one thread busy for as long as the other threads need to compile. So
 * these compile the units that are complete by then: each unit as if it were alone in its file,
 * from bytes whose checksum is not known yet. Their results are used only if the whole section
 * turns out to be valid and the same unit is to be compiled in the same way; a unit that refers to
 * something beyond itself (references, split units ...) waits until everything is inflated. So the
 * result is the same with and without streaming.
 *
 * Of a unit that is compiled only the header and the root DIE are needed again. Its memory is
 * released, and reused for the bytes that are inflated next: a few MB that stay in the processor's
 * cache suffice for all of .debug_info. If more of it is needed after all (references to other
 * units, damage, wrong ranges), it is inflated a second time. */
#ifndef DWARF_COMPILE_STREAMING_H
#define DWARF_COMPILE_STREAMING_H

#include "dwarf/compiled_unit.h"
#include "dwarf/store.h"

struct dwarf_streaming; /* opaque */

/* Prepares compiling on n_threads threads; with one thread units are compiled between the steps of
 * inflating. The filter must outlive *ret, and so must the store, which decides whether everything
 * is compiled. Returns 0 or -ERR_NOMEM. */
int dwarf_streaming_new(struct dwarf_streaming **ret, const struct dwarf_filter *filter,
			const struct dwarf_store *store, unsigned n_threads);
/* Only after all threads have returned from the functions below. NULL is ignored. */
void dwarf_streaming_free(struct dwarf_streaming *e);

/* The callback for the thread that inflates .debug_info (elf_image_section_watched()). */
struct elf_watch dwarf_streaming_watch(struct dwarf_streaming *e);
/* To be called after a section of f was loaded, also if f does not have it. */
void dwarf_streaming_loaded(struct dwarf_streaming *e, const struct dwarf_file *f,
			    enum dwarf_section sec);
/* Compiles until no unit is left; for threads that have no section to load. Waits for all sections,
 * which other threads must be loading or have loaded. */
void dwarf_streaming_work(struct dwarf_streaming *e);

/* Once f has its units: moves the abbreviation tables that were decoded to f. */
void dwarf_streaming_adopt(struct dwarf_streaming *e, struct dwarf_file *f);
/* Moves a compiled unit to *part. Returns false if it was not compiled, or for another filter. */
bool dwarf_streaming_take(struct dwarf_streaming *e, const struct dwarf_unit *u,
			  const struct dwarf_filter *filter, struct dwarf_compiled_unit *part);
/* Bytes of .debug_info whose memory was released; 0 for NULL. */
uint64_t dwarf_streaming_let_go_bytes(const struct dwarf_streaming *e);
/* What was decided early: to compile the wanted units or all; OPEN: not decided, also for NULL. */
enum dwarf_extent { DWARF_EXTENT_OPEN, DWARF_EXTENT_WANTED, DWARF_EXTENT_ALL };
enum dwarf_extent dwarf_streaming_extent(const struct dwarf_streaming *e);
/* How many units dwarf_streaming_take() moved; 0 for NULL. */
size_t dwarf_streaming_taken(const struct dwarf_streaming *e);

#endif
