/* compiled_unit.h - what one compilation unit compiles to. Private to dwarf/. */
#ifndef DWARF_COMPILED_UNIT_H
#define DWARF_COMPILED_UNIT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/filter.h"
#include "dwarf/line.h"
#include "dwarf/flatten_ranges.h"
#include "dwarf/unit.h"

/* A function, or a function inlined into `parent`. Parents have smaller numbers. */
struct dwarf_node {
	uint32_t parent; /* 0: not inlined */
	uint32_t func;
	uint32_t call_file, call_line; /* of the call site in `parent` */
};

struct dwarf_func {
	const char *linkage_name, *name; /* at most one of them; NULL: unknown */
	uint32_t decl_line;
	uint32_t file;	/* the file of most of its code */
	uint64_t entry; /* start of a copy that is not inlined; 0: unknown, or not needed */
};

/* The code from `off` bytes after the begin of its block up to the next segment. */
struct dwarf_seg {
	uint32_t off;
	uint32_t node, file, line; /* 0: unknown */
};

/* Consecutive segments without a hole between them, in less than 4 GiB. */
struct dwarf_block {
	uint64_t lo, hi;
	uint32_t first, n; /* segments; once they are encoded, `first` is an offset in seg_bytes */
	uint32_t order; /* number of its function in the unit; DWARF_NOTHING: lines without function
			 */
	/* Number of the function in part->roots, from 1; 0: none. Set when encoded. */
	uint32_t root;
	/* 0 at first; the node of the segment that was decoded last (unit_encode.h). */
	uint32_t code;
};

/* A function and the functions inlined into it, once encoded. */
struct dwarf_root {
	uint32_t first, n; /* offset in node_bytes; number of nodes */
};

/* Files, functions and nodes are numbered from 1 in each unit. After compiling, nodes and segments
 * are encoded as bytes (unit_encode.h). */
struct dwarf_compiled_unit {
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_func) funcs;
	VEC(const char *) files;
	VEC(struct dwarf_seg) segs;
	VEC(struct dwarf_block) blocks;
	VEC(struct dwarf_root) roots;
	VEC(uint8_t) node_bytes, seg_bytes;
	struct arena strings;
	uint32_t unit;	/* its index in the main file; where units overlap, earlier ones win */
	uint64_t bytes; /* of .debug_info that were read */
	bool damaged;
	const char *missing_split; /* the .dwo file that was not found; a later run may find it */
	bool split_differs;	   /* the file was found, but has another unit */
};

/* inline.c: functions and inlined functions of a unit. Each function is a group: all its ranges
 * have its number. Functions have numbers here, not yet names: keys.v[i] is the DIE of function i.
 */
struct dwarf_code {
	struct dwarf_compiled_unit *part;
	const struct dwarf_filter *filter;
	struct dwarf_ranges ranges; /* id: node; priority: inline depth */
	uint32_t n_groups;
	struct dwarf_scopes *scopes;
	VEC(struct dwarf_ref) keys; /* of part->funcs */
	/* For abstract instances: where a copy begins that is not inlined. */
	struct hash_table entry_by_die; /* index into entries */
	VEC(uint64_t) entries;
};

/* Returns 0 or -ERR_NOMEM; damage sets part->damaged and keeps what was read before. */
int dwarf_code_read(struct dwarf_code *c, const struct dwarf_cu *cu);
/* To be called after the part is merged and before names are looked up. Drops the nodes that no
 * segment needs (all their code belongs to functions inlined into them, or to earlier ones), and
 * the functions that no node needs. Returns 0 or -ERR_NOMEM. */
int dwarf_code_prune(struct dwarf_code *c);
/* Where the code of a function that is inlined in cu begins in a copy that is not inlined; 0:
 * unknown. */
uint64_t dwarf_code_entry(const struct dwarf_code *c, const struct dwarf_cu *cu,
			  struct dwarf_ref die);
void dwarf_code_done(struct dwarf_code *c);

/* make_segments.c: makes segments and blocks from ranges and rows. Returns 0 or -ERR_NOMEM. */
int dwarf_compiled_unit_merge(struct dwarf_compiled_unit *p, struct dwarf_ranges *ranges,
			      uint32_t n_groups, struct dwarf_lines *lines,
			      const struct dwarf_filter *filter);

void dwarf_compiled_unit_done(struct dwarf_compiled_unit *p);

#endif
