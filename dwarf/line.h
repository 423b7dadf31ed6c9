/* line.h - the line table of a unit. Private to dwarf/. */
#ifndef DWARF_LINE_H
#define DWARF_LINE_H

#include "base/arena.h"
#include "base/vec.h"
#include "dwarf/filter.h"
#include "dwarf/unit.h"

#define DWARF_ROW_END UINT32_MAX

/* Valid from addr up to the next row. */
struct dwarf_row {
	uint64_t addr;
	/* As the line program numbers it; DWARF_ROW_END: nothing is known from here on. */
	uint32_t file;
	uint32_t line; /* 0: code made by the compiler that belongs to no line */
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
	uint64_t path_budget;	/* bytes that paths may still take */
	bool damaged;		/* a part of the table is missing here */
};

enum dwarf_rows_wanted {
	DWARF_ROWS_NONE,
	DWARF_ROWS_CHANGES, /* where file or line change */
	DWARF_ROWS_ALL,	    /* also where only the column or the like does */
};

/* Reads the header of the unit's table with its file names and, if rows are wanted, runs the
 * program. Sequences of dropped or unwanted code are left out. A damaged table ends early. Returns
 * 0 or -ERR_NOMEM. */
int dwarf_lines_read(struct dwarf_lines *l, const struct dwarf_cu *cu,
		     const struct dwarf_filter *filter, enum dwarf_rows_wanted rows);
void dwarf_lines_done(struct dwarf_lines *l);

/* Bytes of the line table of a unit, header included; 0 without one. */
uint64_t dwarf_lines_size(const struct dwarf_cu *cu);

/* Full path of a file, as far as it is known. Returns NULL if there is no such file, or when out of
 * memory (then *nomem is set). */
const char *dwarf_lines_path(struct dwarf_lines *l, uint64_t file, struct arena *a, bool *nomem);

#endif
