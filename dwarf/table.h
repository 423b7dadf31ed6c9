/* table.h - the parts of all units in one sorted table. Private to dwarf/. */
#ifndef DWARF_TABLE_H
#define DWARF_TABLE_H

#include "dwarf/pack.h"

struct dwarf_table {
	struct pack_file code; /* pages, segments and nodes; closed if there are none */
	struct pack_bytes body;
	struct dwarf_func *funcs; /* their `file` is an index of `files` */
	size_t n_segs, n_funcs;
	VEC(const char *) files;
};

/* Fills a zeroed table. Where parts overlap, functions win over bare lines, and earlier units over
 * later ones. The parts must be encoded; they are emptied, except for their names, which the table
 * borrows. Returns 0 or -ERR_NOMEM. */
int dwarf_table_build(struct dwarf_table *t, struct dwarf_compiled_unit *parts, size_t n,
		      unsigned n_threads);
void dwarf_table_done(struct dwarf_table *t);
/* Finds the frame that the numbers of a level stand for. */
void dwarf_table_frame(const struct dwarf_table *t, const struct dwarf_at *at,
		       struct dwarf_frame *ret);

/* pack.c: writes the table as a file to *out, which is empty. Returns 0; 1 if the table cannot be
 * packed (names that are too long); -ERR_NOMEM. */
int dwarf_pack(struct dwarf_table *t, const struct pack_key *key, const struct pack_extent *extent,
	       struct pack_bytes *out);

#endif
