/* gopclntab.h - functions, lines and inlined calls of Go programs, stripped ones too. Private to
 * symbolize/.
 *
 * The Go runtime needs this table for its own stack traces, so the linker always writes it. Sources
 * of truth: Go's runtime/symtab.go, runtime/runtime2.go (struct _func), runtime/symtabinl.go,
 * cmd/link/internal/ld/pcln.go.
 */
#ifndef SYMBOLIZE_GOPCLNTAB_H
#define SYMBOLIZE_GOPCLNTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "modules/modules.h"
#include "dwarf/dwarf.h"
#include "symbolize/functab.h"

struct go_version; /* what differs between versions of Go */

struct gopclntab {
	struct elf_image *img;
	const struct go_version *version;
	const uint8_t *data;
	size_t size;
	uint8_t quantum, ptr_bytes;
	uint64_t text_vaddr; /* what function addresses are relative to */
	uint64_t n_funcs;
	uint64_t names_off, units_off, files_off, pcs_off, funcs_off; /* in data */
	uint64_t funcdata_vaddr; /* what offsets of function data are relative to; 0: not found */
};

/* False when the file has no such table, or one of an unknown version. */
bool gopclntab_open(struct gopclntab *g, struct elf_image *img);
/* Adds all functions; names live with the image. 0, or -1 when out of memory. */
int gopclntab_functions(const struct gopclntab *g, struct functab *tab);
/* The inline chain at vaddr, innermost first, as dwarf_index_lookup() gives it. Strings live with
 * the image. */
size_t gopclntab_chain(const struct gopclntab *g, uint64_t vaddr, struct dwarf_frame *frames,
		       size_t max);

#endif
