/* params.h - what the parts of params.c share. Private to dwarf/. */
#ifndef DWARF_PARAMS_H
#define DWARF_PARAMS_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/attributes.h"
#include "dwarf/dwarf.h"
#include "dwarf/line.h"
#include "dwarf/ranges.h"
#include "dwarf/split.h"

/* A part of the code of a function. */
struct dwarf_function_range {
	uint64_t lo, hi, off; /* off: of its DIE */
};

/* A unit that was opened. */
struct dwarf_param_unit {
	struct dwarf_cu main, split;
	const struct dwarf_cu *cu; /* of the two the one with DIEs; NULL: damaged */
	uint64_t loclists_base;
	struct dwarf_slice loclists; /* .debug_loclists, or .debug_loc before DWARF 5 */
	const char *producer;	     /* NULL: unknown */
	bool is_rust, has_few_lists; /* has_few_lists: only of is_rust, see param_places.c */
	bool is_read;
	VEC(struct dwarf_function_range) functions; /* by lo */
	VEC(uint64_t) entries;			    /* where functions with code begin */
	struct hash_table copy_of; /* offset of an abstract function -> index in entries */
	bool has_lines;
	struct dwarf_lines lines;
};

struct dwarf_unit_range {
	uint64_t lo, hi;
	uint32_t unit;
};

struct dwarf_params {
	struct dwarf_file main, alt;
	struct dwarf_splits *splits;
	struct dwarf_filter filter;
	VEC(struct dwarf_unit_range) ranges; /* by lo */
	VEC(struct dwarf_param_unit *) units;
	struct hash_table by_unit;	/* address of a struct dwarf_unit -> index in units */
	struct hash_table by_vaddr;	/* -> index in sites */
	VEC(struct dwarf_site *) sites; /* NULL: nothing is known */
	struct hash_table by_type;	/* place of a type's DIE -> index in types */
	VEC(const struct dwarf_type *) types;
	struct hash_table tails; /* place of a function's DIE -> 1: it may call itself last */
	struct arena memory;
	uint64_t seed, budget; /* budget: DIEs and entries of lists that may still be read */
	bool failed;	       /* out of memory */
};

/* param_unit.c: a unit, opened. NULL: damaged, or out of memory (then p->failed). */
struct dwarf_param_unit *dwarf_param_unit(struct dwarf_params *p, const struct dwarf_file *f,
					  const struct dwarf_unit *unit);
/* Reads its line table. */
void dwarf_param_lines(struct dwarf_params *p, struct dwarf_param_unit *u);
/* The opened unit of a DIE. NULL: none, damaged, or out of memory (then p->failed). */
struct dwarf_param_unit *dwarf_param_unit_of(struct dwarf_params *p, struct dwarf_ref die);
/* Reads the DIE that a reference leads to, and its unit. */
bool dwarf_param_die(struct dwarf_params *p, struct dwarf_ref at, struct dwarf_any_die *ret,
		     struct dwarf_param_unit **unit);
/* Fills functions and copy_of. */
void dwarf_param_unit_read(struct dwarf_params *p, struct dwarf_param_unit *u);
/* The part of a function that has an address, after dwarf_param_unit_read(). NULL: none. */
const struct dwarf_function_range *dwarf_param_function(const struct dwarf_param_unit *u,
							uint64_t vaddr);

/* params.c: the function that has code at an address, and its unit. NULL: none. */
const struct dwarf_function_range *dwarf_param_function_at(struct dwarf_params *p, uint64_t vaddr,
							   struct dwarf_param_unit **unit);
/* Does its compiler follow the processor's ABI of C? */
bool dwarf_param_is_c(uint64_t language);
/* The row of lines that is valid at an address. NULL: none. Reads the unit's lines. */
const struct dwarf_row *dwarf_param_row(struct dwarf_params *p, struct dwarf_param_unit *u,
					uint64_t vaddr);
/* Calls each() for the children of a DIE until it returns false. */
void dwarf_param_children(struct dwarf_params *p, const struct dwarf_param_unit *u,
			  const struct dwarf_any_die *d,
			  bool (*each)(void *arg, const struct dwarf_any_die *child), void *arg);
/* An attribute of a DIE or of those it is a copy of (DW_AT_abstract_origin, DW_AT_specification);
 * *unit becomes the unit that has it. Form 0: none has it. */
struct dwarf_attribute dwarf_param_inherited(struct dwarf_params *p, const struct dwarf_any_die *d,
					     struct dwarf_param_unit **unit,
					     enum dwarf_attribute_slot slot);
/* Linkage name, else name. NULL: none. */
const char *dwarf_param_function_name(struct dwarf_params *p, const struct dwarf_any_die *d,
				      struct dwarf_param_unit *unit);
static inline uint64_t dwarf_param_key(const struct dwarf_params *p, struct dwarf_ref at)
{
	return hash_mix(hash_mix(p->seed, (uintptr_t)at.file), at.off);
}

/* param_places.c: do few of a unit's variables have lists of places? */
bool dwarf_param_few_lists(const struct dwarf_cu *cu);
/* How far to trust places that parameters have in all of a function. */
void dwarf_param_places(const struct dwarf_param_unit *u, const struct dwarf_any_die *function,
			bool *is_unoptimized, bool *is_untracked);

/* param_types.c: the type of a DIE with DW_AT_type. NULL: not known. */
const struct dwarf_type *dwarf_param_type(struct dwarf_params *p, struct dwarf_ref at);

/* locations.c: the expression for vaddr of an attribute that is an expression or a list.
 * entry: where the function begins. *is_kept: of a list, that also is for vaddr + 1. Returns false
 * if there is none. */
bool dwarf_location_at(struct dwarf_params *p, const struct dwarf_param_unit *u,
		       const struct dwarf_attribute *a, uint64_t vaddr, uint64_t entry,
		       struct dwarf_expr *ret, bool *is_list, bool *is_kept);

/* param_calls.c */
bool dwarf_is_call(uint16_t tag);
/* Does this call return to vaddr + 1? */
bool dwarf_call_returns_to(const struct dwarf_param_unit *u, const struct dwarf_any_die *d,
			   uint64_t vaddr);
const struct dwarf_call *dwarf_param_call(struct dwarf_params *p, struct dwarf_param_unit *u,
					  const struct dwarf_any_die *d);

#endif
