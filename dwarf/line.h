/* line.h - the line table of a unit. Private to dwarf/. */
#ifndef DWARF_LINE_H
#define DWARF_LINE_H

#include "base/arena.h"
#include "base/vec.h"
#include "dwarf/filter.h"
#include "dwarf/unit.h"

#define DWARF_ROW_END UINT32_MAX

/* From addr up to the next row. */
struct dwarf_row {
	uint64_t addr;
	uint32_t file; /* as the program numbers them; DWARF_ROW_END: nothing is known from here on
			*/
	uint32_t line; /* 0: made by the compiler, of no line */
};

struct dwarf_rows {
	struct dwarf_row *v;
	size_t n, cap;
};

struct dwarf_line_file {
	const char *name;
	uint64_t dir;
};

struct dwarf_lines {
	uint16_t version;
	const char *comp_dir; /* of the unit */
	VEC(const char *) dirs;
	VEC(struct dwarf_line_file) files;
	struct dwarf_rows rows; /* sorted by address */
	uint64_t path_budget;	/* bytes of paths that may still be put together */
	bool damaged;		/* something is missing here */
};

/* Reads the unit's header with its file names and, where `rows`, runs the program. Sequences of
 * dead or unwanted code are left out. 0 or -ERR_NOMEM; a damaged table ends early. */
int dwarf_lines_read(struct dwarf_lines *l, const struct dwarf_cu *cu,
		     const struct dwarf_filter *filter, bool rows);
void dwarf_lines_done(struct dwarf_lines *l);

/* Bytes of the line table of a unit, header included; 0 without one. */
uint64_t dwarf_lines_size(const struct dwarf_cu *cu);

/* Full path of a file as far as it is known. NULL: no such file; or *nomem is set. */
const char *dwarf_lines_path(struct dwarf_lines *l, uint64_t file, struct arena *a, bool *nomem);

#endif
