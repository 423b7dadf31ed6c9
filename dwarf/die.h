/* die.h - DIEs of types and declarations, with all their attributes. Private to dwarf/. */
#ifndef DWARF_DIE_H
#define DWARF_DIE_H

#include "dwarf/names.h"

/* The attributes of one DIE. Strings are borrowed from the file; references may lead to other units
 * and files. */
struct dwarf_die {
	struct dwarf_ref at;
	uint64_t end; /* offset after its attributes */
	uint16_t tag;
	bool children;
	const char *name, *linkage_name, *template_name;
	struct dwarf_ref type, containing_type, sibling;
	struct dwarf_ref origin;	  /* DW_AT_abstract_origin, else DW_AT_specification */
	uint64_t value;			  /* DW_AT_const_value */
	uint64_t count;			  /* elements of a subrange */
	uint64_t decl_file, line, column; /* of the declaration; 0: unknown */
	bool has_value, is_negative, has_count;
	bool artificial, external, lvalue_only, rvalue_only;
};

/* Reads a DIE. Returns false at the end of a level, and if nothing can be read. Each DIE subtracts
 * 1 from n->type_steps. Sets *rc to -ERR_NOMEM when out of memory. */
bool dwarf_die_at(struct dwarf_namer *n, struct dwarf_ref at, struct dwarf_die *ret, int *rc);
bool dwarf_die_child(struct dwarf_namer *n, const struct dwarf_die *d, struct dwarf_die *ret,
		     int *rc);
/* Replaces *d by its next sibling. */
bool dwarf_die_next(struct dwarf_namer *n, struct dwarf_die *d, int *rc);

#endif
