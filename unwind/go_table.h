/* go_table.h - frame sizes from Go's .gopclntab. Private to unwind/.
 *
 * Go programs have this table even when stripped, and no .eh_frame. Sources of truth: Go's
 * runtime/symtab.go and cmd/link/internal/ld/pcln.go; "Go 1.2 Runtime Symbol Information" for the
 * idea and the encoding of values by pc.
 */
#ifndef UNWIND_GO_TABLE_H
#define UNWIND_GO_TABLE_H

#include "modules/modules.h"

struct go_table {
	const uint8_t *data; /* NULL: the file has none */
	size_t size;
	uint64_t text_vaddr; /* what function addresses are relative to */
	uint64_t n_funcs;
	uint64_t funcs_off; /* of the sorted table of functions */
	uint64_t pcs_off;   /* what offsets of tables by pc are relative to */
	uint64_t infos_off; /* what offsets of function infos are relative to */
	uint64_t names_off;
	const struct go_layout *layout; /* of the Go version */
	uint8_t quantum;
	uint8_t ptr_bytes;
};

void go_table_open(struct go_table *t, struct elf_image *img);

enum go_frame {
	GO_FRAME_NONE,	 /* no Go function, or the table is damaged */
	GO_FRAME_SIZE,	 /* the stack pointer is *size bytes below where it was on entry */
	GO_FRAME_ROOT,	 /* the first function of a goroutine or thread */
	GO_FRAME_SWITCH, /* sets the stack pointer: its caller may be on another stack */
};

/* NONE, too, when it takes more than *steps, from which it takes what it took. NULL: as many as
 * there are. */
enum go_frame go_table_find(const struct go_table *t, uint64_t vaddr, uint64_t *steps,
			    uint64_t *size);

#endif
