/* go_table.h - shared by the files that read Go's table. Private to functions/. */
#ifndef FUNCTIONS_GO_TABLE_H
#define FUNCTIONS_GO_TABLE_H

#include "base/buf.h"
#include "functions/functions.h"

/* ---- go_find.c: finds the table in a file -------------------------------------------------- */

struct go_place {
	const uint8_t *data; /* starts with the header of the table */
	size_t size;	     /* may include data after the table */
	uint64_t vaddr;
	uint64_t text_vaddr; /* base of the functions' offsets since Go 1.18 */
	/* The runtime's struct moduledata, since Go 1.16; 0: not found. */
	uint64_t moduledata_vaddr;
};

/* Returns false if the file has no table. */
bool go_place_find(struct elf_image *img, struct go_place *ret);
/* A pointer in a program's data; in 64-bit files also one that a relocation fills in. 0: none. */
uint64_t go_pointer(struct elf_image *img, uint64_t vaddr);

/* ---- go_table.c ---------------------------------------------------------------------------- */

/* The differences between versions of Go. Offsets are in bytes. */
struct go_layout {
	uint32_t magic;
	bool has_parts;		 /* the header has the offsets of the parts; files by compilation
				  * unit */
	bool has_text_start;	 /* in the header */
	bool short_funcs;	 /* function addresses are 32-bit offsets from text_vaddr */
	bool has_start_line;	 /* in struct _func */
	uint8_t inlined_bytes;	 /* size of struct inlinedCall; 0: inlined calls are not read */
	uint8_t inlined_name;	 /* offset in it: name of the called function */
	uint8_t inlined_parent;	 /* offset in it: an instruction at the call, relative to the
				  * function's start */
	uint8_t moduledata_word; /* index of struct moduledata.gofunc */
};

/* struct _func of runtime2.go. */
struct go_func {
	uint64_t start;
	uint32_t name, pcsp, pcfile, pcln, n_pcdata, unit, start_line;
	uint8_t flags, n_funcdata;
	uint64_t pcdata_off; /* offset of the arrays after the struct */
};

struct buf go_buf(const struct go_table *t, uint64_t off);
/* The string at offset `off` of a part of the table; NULL: damaged. */
const char *go_string(const struct go_table *t, uint64_t part, uint64_t off);
/* Finds the function that contains vaddr. */
bool go_func_find(const struct go_table *t, uint64_t vaddr, struct go_func *f);
/* Finds the value at pc in a table of (zigzag value delta, pc delta) pairs that starts with -1 at
 * the function's start. Returns false if there is none, or if more than *steps steps would be
 * needed. Subtracts the steps used from *steps. */
bool go_value_at(const struct go_table *t, const struct go_func *f, uint32_t table, uint64_t pc,
		 uint64_t *steps, int64_t *ret);

#endif
