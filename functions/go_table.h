/* go_table.h - what the files that read Go's table share. Private to functions/. */
#ifndef FUNCTIONS_GO_TABLE_H
#define FUNCTIONS_GO_TABLE_H

#include "base/buf.h"
#include "functions/functions.h"

/* ---- go_find.c: where a file has it -------------------------------------------------------- */

struct go_place {
	const uint8_t *data; /* from its header on */
	size_t size;	     /* may include what lies behind it */
	uint64_t vaddr;
	uint64_t text_vaddr; /* what functions' offsets are relative to, since Go 1.18 */
	/* The runtime's struct moduledata, since Go 1.16; 0: not found. */
	uint64_t moduledata_vaddr;
};

/* False when the file has none. */
bool go_place_find(struct elf_image *img, struct go_place *ret);
/* A pointer in a program's data; 64-bit: also one that a relocation fills in. 0: none is there. */
uint64_t go_pointer(struct elf_image *img, uint64_t vaddr);

/* ---- go_table.c ---------------------------------------------------------------------------- */

/* What differs between versions of Go. Offsets in bytes. */
struct go_layout {
	uint32_t magic;
	bool has_parts;		/* the header says where the parts are; files by compilation unit */
	bool has_text_start;	/* in the header */
	bool short_funcs;	/* functions by 32-bit offset from text start, not by address */
	bool has_start_line;	/* in struct _func */
	uint8_t inlined_bytes;	/* size of struct inlinedCall; 0: inlined calls are not read */
	uint8_t inlined_name;	/* in it: name of the called function */
	uint8_t inlined_parent; /* in it: an instruction at the call, from the function's start */
	uint8_t moduledata_word; /* index of struct moduledata.gofunc */
};

/* struct _func of runtime2.go. */
struct go_func {
	uint64_t start;
	uint32_t name, pcsp, pcfile, pcln, n_pcdata, unit, start_line;
	uint8_t flags, n_funcdata;
	uint64_t pcdata_off; /* the arrays behind the struct */
};

struct buf go_buf(const struct go_table *t, uint64_t off);
/* The string `off` bytes into a part of the table; NULL: it is damaged. */
const char *go_string(const struct go_table *t, uint64_t part, uint64_t off);
/* The function that contains vaddr. */
bool go_func_find(const struct go_table *t, uint64_t vaddr, struct go_func *f);
/* The value at pc of a table of (zigzag value delta, pc delta) that begins with -1 at the
 * function's start. False: there is none, or it takes more than *steps, from which it takes what it
 * took. */
bool go_value_at(const struct go_table *t, const struct go_func *f, uint32_t table, uint64_t pc,
		 uint64_t *steps, int64_t *ret);

#endif
