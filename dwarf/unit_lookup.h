/* unit_lookup.h - finds the units that contain the wanted addresses. Private to dwarf/. */
#ifndef DWARF_UNIT_LOOKUP_H
#define DWARF_UNIT_LOOKUP_H

#include "base/vec.h"
#include "dwarf/filter.h"
#include "dwarf/line_orphans.h"

/* A unit says that its code covers the wanted addresses number [first, end). */
struct dwarf_claim {
	uint32_t unit;
	size_t first, end;
};

struct dwarf_unit_lookup {
	struct dwarf_file *file;
	const struct dwarf_filter *filter;
	struct dwarf_offsets line_tables; /* offsets of the units' line tables */
	struct {
		struct dwarf_claim *v;
		size_t n, cap;
	} claims; /* by unit */
	/* Units that may have code at addresses that they do not say, and orphans. */
	VEC(uint32_t) rangeless;
	bool *taken; /* per unit: it was given out */
	size_t n_damaged;
};

/* What a unit's root DIE says about its code. */
enum dwarf_code_claim {
	DWARF_CODE_ELSEWHERE, /* a partial, type or split unit: other units say it */
	DWARF_CODE_NONE,      /* none that the linker kept: never given out */
	DWARF_CODE_MAYBE,     /* may have code at addresses that it does not say */
	DWARF_CODE_OTHER,     /* has code, but none that is wanted */
	DWARF_CODE_WANTED,
};

/* Each range list entry that is read subtracts 1 from *budget. */
enum dwarf_code_claim dwarf_unit_lookup_claim(const struct dwarf_cu *cu,
					      const struct dwarf_filter *filter, uint64_t *budget);
/* Estimates the bytes of the units that dwarf_unit_lookup_first() will give out, from
 * .debug_aranges alone. Returns false if that does not say, or when out of memory. */
bool dwarf_unit_lookup_estimate(const struct dwarf_file *f, uint64_t info_size,
				const struct dwarf_filter *filter, uint64_t *ret);

/* Reads the root DIE of every unit, and finds the file's orphans. A zeroed struct is closed.
 * Returns 0 or -ERR_NOMEM. */
int dwarf_unit_lookup_open(struct dwarf_unit_lookup *h, struct dwarf_file *f,
			   const struct dwarf_filter *filter);
void dwarf_unit_lookup_close(struct dwarf_unit_lookup *h);

struct dwarf_jobs {
	uint32_t *v; /* units */
	size_t n, cap;
};

/* Appends the first unit that claims each address: of a function that several units have, the
 * linker keeps the first. Returns 0 or -ERR_NOMEM. */
int dwarf_unit_lookup_first(struct dwarf_unit_lookup *h, struct dwarf_jobs *jobs);
/* Appends units that may know more about addresses that were not resolved: others that claim them,
 * and those that may have code at unknown addresses. */
int dwarf_unit_lookup_more(struct dwarf_unit_lookup *h, const bool *resolved,
			   struct dwarf_jobs *jobs);

#endif
