/* functions.h - what code there is in a module, for those who unwind it and those who name it.
 *
 * Sources of truth stand with each part.
 */
#ifndef FUNCTIONS_FUNCTIONS_H
#define FUNCTIONS_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "modules/modules.h"

/* ---- a table of functions by address (functab.c) -----------------------------------------
 *
 * Whatever they come from: fill with functab_add() in any order, functab_finish() once, then look
 * up from any thread. Names are borrowed: they live in the source's bytes or in the table's arena.
 */

enum func_flags {
	FUNC_WEAK = 1,
	FUNC_GLOBAL = 2,
	FUNC_SIZELESS = 4, /* size unknown: reaches to the next start, at most to `end` */
};

#define FUNC_TAG_MAX ((1u << 28) - 1)

struct func {
	uint64_t start;
	uint64_t end; /* one past the last byte */
	const char *name;
	uint32_t flags : 4; /* enum func_flags */
	uint32_t tag : 28;  /* the owner's: module of kallsyms, record of a JIT map */
};

/* All functions that start at one address. */
struct func_group {
	uint64_t start;
	uint32_t first; /* in funcs; the next group's first ends it */
	uint32_t outer; /* innermost earlier group that is still open here; FUNC_NONE */
};

#define FUNC_NONE UINT32_MAX

/* A zeroed table is empty and can be filled. */
struct functab {
	VEC(struct func) funcs;
	VEC(struct func_group) groups;
	struct arena names;
	/* Of overlapping functions the one with the highest tag counts; added by rising tag, all
	 * with a size (JIT code). */
	bool latest_wins;
};

/* A function of no length (start == end) is ignored. 0, or -1 when out of memory. */
int functab_add(struct functab *t, const struct func *f);
/* Sorts. 0, or -1 when out of memory. */
int functab_finish(struct functab *t);
void functab_done(struct functab *t);

/* Where the last lookup ended: rising addresses are found in a few steps. Zeroed to start. */
struct func_cursor {
	size_t group;
};

/* The function at addr, or NULL. Among functions with the same start perf's choice is made: known
 * size, then non-weak, global, fewer leading underscores, longer name, first added; among those
 * without size the last added. Of nested functions the innermost counts; a function of unknown size
 * only where no sized one is. */
const struct func *functab_find(const struct functab *t, uint64_t addr, struct func_cursor *cursor);
/* The same among functions whose tag is below `limit`; for tables where the latest wins: as they
 * were then. */
const struct func *functab_find_before(const struct functab *t, uint64_t addr, uint32_t limit,
				       struct func_cursor *cursor);
/* For tables where the latest wins: of those whose tag is at the limit or above, the first. */
const struct func *functab_find_next(const struct functab *t, uint64_t addr, uint32_t limit,
				     struct func_cursor *cursor);
/* The functions that cover addr, the innermost groups first, at most max. Returns how many. */
size_t functab_covering(const struct functab *t, uint64_t addr, const struct func **found,
			size_t max);
/* The functions that are the same bytes as f, f among them, at most max. Returns how many. */
size_t functab_twins(const struct functab *t, const struct func *f, const struct func **twins,
		     size_t max);

/* ---- Go's table of functions (go_table.c, go_lines.c) -------------------------------------
 *
 * The Go runtime needs .gopclntab for its own stack traces, so the linker always writes it, also
 * into stripped programs, which have no .eh_frame. Sources of truth: Go's runtime/symtab.go,
 * runtime/runtime2.go (struct _func), runtime/symtabinl.go, cmd/link/internal/ld/pcln.go; "Go 1.2
 * Runtime Symbol Information" for the idea and the encoding of values by pc. */

struct go_layout; /* what differs between versions of Go */

/* Strings and bytes live with the image. */
struct go_table {
	struct elf_image *img;
	const struct go_layout *layout;
	const uint8_t *data; /* NULL: the file has none, or one of an unknown version */
	size_t size;
	uint64_t text_vaddr; /* what function addresses are relative to */
	uint64_t n_funcs;
	uint64_t names_off, units_off, files_off, pcs_off, funcs_off; /* in data */
	uint64_t funcdata_vaddr; /* what offsets of function data are relative to; 0: not found */
	uint8_t quantum, ptr_bytes;
};

/* False: there is none. */
bool go_table_open(struct go_table *t, struct elf_image *img);

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

/* Adds all functions. 0, or -1 when out of memory. */
int go_table_functions(const struct go_table *t, struct functab *tab);

/* A function at an address, or one that was inlined there. NULL and 0: not known. */
struct go_line {
	const char *name, *file;
	uint32_t line;
	uint32_t start_line; /* of the function */
};

/* The inline chain at vaddr, innermost first, the function that was compiled last. */
size_t go_table_chain(const struct go_table *t, uint64_t vaddr, struct go_line *chain, size_t max);

#endif
