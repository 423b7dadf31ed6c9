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
	uint32_t parent; /* 0: a function of its own */
	uint32_t func;
	uint32_t call_file, call_line; /* where `parent` calls */
};

struct dwarf_func {
	const char *linkage_name, *name; /* no more than one of them */
	uint32_t decl_line;
	uint32_t file;	/* that most of its code is in */
	uint64_t entry; /* of the function as it is when not inlined; 0: unknown, or not needed */
};

/* From `off` bytes behind the begin of its block up to the next segment. */
struct dwarf_seg {
	uint32_t off;
	uint32_t node, file, line; /* 0: unknown */
};

/* Consecutive segments without a hole between them, in less than 4 GiB. */
struct dwarf_block {
	uint64_t lo, hi;
	uint32_t first, n; /* segments; once they are encoded, where in seg_bytes they begin */
	uint32_t order; /* number of its function in the unit; DWARF_NOTHING: lines without function
			 */
	uint32_t root;	/* number of it among part->roots, from 1; 0: none. When encoded */
	uint32_t code;	/* 0; for who reads the segments (unit_encode.h) */
};

/* A function and what is inlined into it, when encoded. */
struct dwarf_root {
	uint32_t first, n; /* where in node_bytes; how many nodes */
};

/* Files, functions and nodes are numbered from 1 in each unit. When it is compiled it is encoded
 * (unit_encode.h): nodes and segments become bytes. */
struct dwarf_compiled_unit {
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_func) funcs;
	VEC(const char *) files;
	VEC(struct dwarf_seg) segs;
	VEC(struct dwarf_block) blocks;
	VEC(struct dwarf_root) roots;
	VEC(uint8_t) node_bytes, seg_bytes;
	struct arena strings;
	uint32_t unit;	/* its index in the main file: earlier units win */
	uint64_t bytes; /* of .debug_info that were read */
	bool damaged;
	const char *missing_split; /* the .dwo file that was not found: another time it may be */
	bool split_differs;	   /* it was, with another unit in it */
};

/* inline.c: functions and inlined functions of a unit. `groups` numbers the functions: all
 * ranges of one have its number. Funcs are numbered, not named: keys identify their DIEs. */
struct dwarf_code {
	struct dwarf_compiled_unit *part;
	const struct dwarf_filter *filter;
	struct dwarf_ranges ranges; /* id: node; priority: inline depth */
	uint32_t n_groups;
	struct dwarf_scopes *scopes;
	VEC(struct dwarf_ref) keys; /* of part->funcs */
	/* Abstract instances, and where concrete ones begin that are functions of their own. */
	struct hash_table entry_by_die; /* index into entries */
	VEC(uint64_t) entries;
};

/* 0 or -ERR_NOMEM; damage sets part->damaged and keeps what was read before. */
int dwarf_code_read(struct dwarf_code *c, const struct dwarf_cu *cu);
/* Once the part is merged: drops nodes that no segment needs, because what is inlined into them or
 * came first has all their code, and functions of none; before names are looked for. 0 or
 * -ERR_NOMEM. */
int dwarf_code_prune(struct dwarf_code *c);
/* Where code of a function that is inlined in cu begins when it is not; 0: unknown. */
uint64_t dwarf_code_entry(const struct dwarf_code *c, const struct dwarf_cu *cu,
			  struct dwarf_ref die);
void dwarf_code_done(struct dwarf_code *c);

/* make_segments.c: ranges and rows become segments and blocks. 0 or -ERR_NOMEM. */
int dwarf_compiled_unit_merge(struct dwarf_compiled_unit *p, struct dwarf_ranges *ranges,
			      uint32_t n_groups, struct dwarf_lines *lines,
			      const struct dwarf_filter *filter);

void dwarf_compiled_unit_done(struct dwarf_compiled_unit *p);

#endif
