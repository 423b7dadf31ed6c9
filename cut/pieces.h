/* pieces.h - a file with holes while it is made. Private to cut/. */
#ifndef CUT_PIECES_H
#define CUT_PIECES_H

#include "base/arena.h"
#include "cut/cut.h"

/* Ranges in any order. Where two overlap, a changed copy wins over the file's own bytes, then the
 * one that begins first, and of those the longer. */
struct pieces {
	struct elf_image *img;
	const uint8_t *bytes; /* of the image */
	size_t size;
	VEC(struct bundle_range) v;
	struct cut_addrs stubs;	     /* symbols (numbers in .dynsym) that the PLT names */
	struct arena owned;	     /* changed copies */
	VEC(uint8_t *) tables;	     /* those that take many pages */
	VEC(struct elf_range) taken; /* offsets of tables with holes: no own bytes are kept there */
	uint64_t copied;	     /* bytes of these */
	bool nomem;
};

/* Keeps bytes of the file as they are; what lies outside of it is ignored. */
void pieces_keep(struct pieces *p, uint64_t off, uint64_t size);
void pieces_keep_vaddr(struct pieces *p, uint64_t start, uint64_t end);
/* Keeps other bytes in their place, which live as long as the pieces. */
void pieces_put(struct pieces *p, uint64_t off, uint64_t size, const uint8_t *bytes);
/* A changed copy, to be filled at once; NULL: no memory, or no bytes. */
uint8_t *pieces_copy(struct pieces *p, const uint8_t *bytes, uint64_t size);
/* Sorts, joins and cuts them so that they rise and do not overlap. */
int pieces_finish(struct pieces *p);
void pieces_done(struct pieces *p);

/* A changed copy of a table of the file in which little is left: only that takes memory. Its parts
 * are added with rising offsets; of one that overlaps the part before only the rest is added. */
struct sparse {
	struct pieces *p;
	uint64_t off, size; /* of the table in the file */
	VEC(uint8_t) bytes;
	VEC(struct bundle_range) runs; /* their bytes follow each other in `bytes` */
};

/* Returns false if all copies would be more than the file has, as in one whose sections overlap:
 * the table is then kept as it is, and nothing is to be added. */
bool sparse_begin(struct sparse *s, struct pieces *p, uint64_t off, uint64_t size);
void sparse_add(struct sparse *s, uint64_t at, const void *bytes, size_t n);
/* Puts it, and frees what the pieces do not need. */
void sparse_put(struct sparse *s);

/* ---- parts of an image --------------------------------------------------------------------- */

/* The functions around wanted addresses, as tables of the file tell them. */
struct hit_functions {
	bool guessed;	       /* not all wanted addresses were frames */
	struct cut_addrs bare; /* wanted addresses without call frame information */
	struct cut_addrs lost; /* of these the ones that have none near them on both sides either */
};

/* frames.c: keeps the entries of .eh_frame or .debug_frame around the wanted addresses, in the
 * linker's table too; of others neither instructions nor rows are left. Adds the code of the
 * functions, and their tables of landing pads. */
void cut_frames(struct pieces *p, struct module *m, const struct cut_addrs *code,
		struct hit_functions *hit);
void cut_debug_frame(struct pieces *p, const struct cut_addrs *code);
/* a is sorted: has it v? */
bool cut_addrs_has(const struct cut_addrs *a, uint64_t v);
/* symbols.c: keeps the symbols that cover the addresses, begin before or follow them. */
void cut_symbols(struct pieces *p, const char *table, const struct cut_addrs *addrs, bool all);
/* Appends where the symbols of code begin that are nearest before each address, and nearest after
 * it; the same of functions alone. `addrs` is sorted, what is appended is not. Returns 0, or -1: no
 * memory. */
int cut_nearest_symbols(struct elf_image *img, const char *table, const struct cut_addrs *addrs,
			struct cut_addrs *symbols, struct cut_addrs *functions);
/* The dynamic relocations that name stubs of the PLT. Adds the functions that these call. */
void cut_relocations(struct pieces *p, bool all, struct cut_addrs *symbols);

/* lines.c: DWARF of its own for the frames. */
enum {
	CUT_INFO,
	CUT_ABBREV,
	CUT_LINE,
	CUT_RANGES,
	CUT_ARANGES,
	CUT_PARAMS,
	CUT_CONSTANTS,
	CUT_PARTS
};

struct cut_bytes {
	uint8_t *v;
	size_t n;
};

/* Zeroed: none. */
struct cut_dwarf {
	struct cut_bytes part[CUT_PARTS];
	bool nomem;
};

/* Adds to `entries` where symbols are needed to name inlined functions. Returns 0, or negative with
 * *err; call cut_dwarf_done() in any case. */
int cut_lines(struct module *m, const struct cut_need *need, struct cut_dwarf *ret,
	      struct cut_addrs *entries, struct err *err);
void cut_dwarf_done(struct cut_dwarf *d);

/* headers.c: section headers without what was left out, and with the sections of `d` at the end.
 * Returns the size of the file. */
uint64_t cut_headers(struct pieces *p, const struct cut_dwarf *d);

#endif
