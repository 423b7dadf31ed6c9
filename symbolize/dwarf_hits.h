/* dwarf_hits.h - which units the wanted addresses fall into. Private to symbolize/dwarf*. */
#ifndef SYMBOLIZE_DWARF_HITS_H
#define SYMBOLIZE_DWARF_HITS_H

#include "base/vec.h"
#include "symbolize/dwarf_filter.h"
#include "symbolize/dwarf_orphan.h"

/* A unit says that its code covers the wanted addresses [first, end). */
struct dwarf_claim {
	uint32_t unit;
	size_t first, end;
};

struct dwarf_hits {
	struct dwarf_file *file;
	const struct dwarf_filter *filter;
	struct dwarf_offsets line_tables; /* of the units */
	struct {
		struct dwarf_claim *v;
		size_t n, cap;
	} claims;		 /* by unit */
	VEC(uint32_t) rangeless; /* units that may have code and do not say where, and orphans */
	bool *taken;		 /* per unit: given out */
	size_t n_damaged;
};

/* Whether a unit's ranges count. */
bool dwarf_hits_may_claim(const struct dwarf_cu *cu);

/* Reads the root DIE of every unit, and finds the file's orphans. 0 or -ERR_NOMEM. A zeroed one is
 * closed. */
int dwarf_hits_open(struct dwarf_hits *h, struct dwarf_file *f, const struct dwarf_filter *filter);
void dwarf_hits_close(struct dwarf_hits *h);

struct dwarf_jobs {
	uint32_t *v; /* units */
	size_t n, cap;
};

/* Appends the first unit that claims each address: of functions that several units have, the linker
 * keeps the first. 0 or -ERR_NOMEM. */
int dwarf_hits_first(struct dwarf_hits *h, struct dwarf_jobs *jobs);
/* Appends units that may know more about addresses that were not resolved: others that claim them,
 * and those that say nothing. */
int dwarf_hits_more(struct dwarf_hits *h, const bool *resolved, struct dwarf_jobs *jobs);

#endif
