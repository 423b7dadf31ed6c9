/* split.h - functions of one name that the recordings can tell apart. Private to regress/.
 *
 * While runs are read, a function of a program or a library has the key of its name and its source
 * file (none: its module): a part of the name. Which parts of a name are functions of their own is
 * decided when all runs are known (split.c): files have other paths in another checkout, one side
 * may lack debug information, and a function may have lines of several files (yyparse). */
#ifndef REGRESS_SPLIT_H
#define REGRESS_SPLIT_H

#include "regress/inside.h"

/* What is seen of a run's functions. */
struct split_run {
	struct regress *g;
	const struct profile *p;
	enum side side;
	bool is_past;
	struct hash_table owners;  /* machine code, name and line -> part */
	struct hash_table symbols; /* module and symbol -> where it begins */
	struct hash_table bases;   /* name and base name of a file -> part */
};

/* The key of a function of a name (whole) at a location, whose function `line` is; is_outermost:
 * the machine code is its own. It is `whole` or one of its parts. STRTAB_FAILED when out of memory.
 */
uint32_t split_key(struct split_run *r, uint32_t whole, const struct profile_location *l,
		   const struct profile_line *line, bool is_outermost);
void split_run_done(struct split_run *r);

#endif
