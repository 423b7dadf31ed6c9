/* unit_lookup.h - which units the wanted addresses fall into. Private to dwarf/. */
#ifndef DWARF_UNIT_LOOKUP_H
#define DWARF_UNIT_LOOKUP_H

#include "base/vec.h"
#include "dwarf/filter.h"
#include "dwarf/line_orphans.h"

/* A unit says that its code covers the wanted addresses [first, end). */
struct dwarf_claim {
	uint32_t unit;
	size_t first, end;
};

struct dwarf_unit_lookup {
	struct dwarf_file *file;
	const struct dwarf_filter *filter;
	struct dwarf_offsets line_tables; /* of the units */
	struct {
		struct dwarf_claim *v;
		size_t n, cap;
	} claims; /* by unit */
	VEC(uint32_t)
	rangeless;   /* units that may have code and do not say where, or not of all, and
			orphans */
	bool *taken; /* per unit: given out */
	size_t n_damaged;
};

/* What a unit's root DIE says about its code. */
enum dwarf_code_claim {
	DWARF_CODE_ELSEWHERE, /* nothing: it is a part of others, or stands for another */
	DWARF_CODE_NONE,      /* it has none that the linker kept: it is never given out */
	DWARF_CODE_MAYBE,     /* it does not say where, or not of all */
	DWARF_CODE_OTHER,     /* none that is wanted */
	DWARF_CODE_WANTED,
};

/* Every range list entry takes one from the budget. */
enum dwarf_code_claim dwarf_unit_lookup_claim(const struct dwarf_cu *cu,
					      const struct dwarf_filter *filter, uint64_t *budget);
/* Bytes of the units that dwarf_unit_lookup_first() will give out, as .debug_aranges has it,
 * without a look at them. False: it does not say, or there is no memory. */
bool dwarf_unit_lookup_estimate(const struct dwarf_file *f, uint64_t info_size,
				const struct dwarf_filter *filter, uint64_t *ret);

/* Reads the root DIE of every unit, and finds the file's orphans. 0 or -ERR_NOMEM. A zeroed one is
 * closed. */
int dwarf_unit_lookup_open(struct dwarf_unit_lookup *h, struct dwarf_file *f,
			   const struct dwarf_filter *filter);
void dwarf_unit_lookup_close(struct dwarf_unit_lookup *h);

struct dwarf_jobs {
	uint32_t *v; /* units */
	size_t n, cap;
};

/* Appends the first unit that claims each address: of functions that several units have, the linker
 * keeps the first. 0 or -ERR_NOMEM. */
int dwarf_unit_lookup_first(struct dwarf_unit_lookup *h, struct dwarf_jobs *jobs);
/* Appends units that may know more about addresses that were not resolved: others that claim them,
 * and those that say nothing. */
int dwarf_unit_lookup_more(struct dwarf_unit_lookup *h, const bool *resolved,
			   struct dwarf_jobs *jobs);

#endif
