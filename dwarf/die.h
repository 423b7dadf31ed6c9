/* die.h - DIEs of types and declarations, with all their attributes. Private to dwarf/. */
#ifndef DWARF_DIE_H
#define DWARF_DIE_H

#include "dwarf/names.h"

/* What one DIE says; strings are the file's, references may lead to other units and files. */
struct dwarf_die {
	struct dwarf_ref at;
	uint64_t end; /* offset behind its attributes */
	uint16_t tag;
	bool children;
	const char *name, *linkage_name, *template_name;
	struct dwarf_ref type, containing_type, sibling;
	struct dwarf_ref origin; /* DW_AT_abstract_origin, else DW_AT_specification */
	uint64_t value;		 /* DW_AT_const_value */
	uint64_t count;		 /* of a subrange */
	uint64_t line, column;	 /* of the declaration; 0: unknown */
	bool has_value, is_negative, has_count;
	bool artificial, external, lvalue_only, rvalue_only;
};

/* False at the end of a level, and where nothing can be read. Takes from n->type_steps; *rc becomes
 * -ERR_NOMEM without memory. */
bool dwarf_die_at(struct dwarf_namer *n, struct dwarf_ref at, struct dwarf_die *ret, int *rc);
bool dwarf_die_child(struct dwarf_namer *n, const struct dwarf_die *d, struct dwarf_die *ret,
		     int *rc);
/* Makes *d its next sibling. */
bool dwarf_die_next(struct dwarf_namer *n, struct dwarf_die *d, int *rc);

#endif
