/* batch_group.h - the addresses of one dso in a batch, and their results. Private to symbolize/. */
#ifndef SYMBOLIZE_BATCH_GROUP_H
#define SYMBOLIZE_BATCH_GROUP_H

#include "base/hash.h"
#include "symbolize/batch.h"

#define NAME_NONE UINT32_MAX

/* A name as the sources gave it, and what became of it. */
struct name {
	const char *system, *shown;
	uint32_t aliases;	      /* "[+N]" */
	bool readable;		      /* put together from DWARF, not mangled */
	uint32_t system_id, shown_id; /* NAME_NONE until interned */
	const struct sym_line
		*plain; /* the answer for a function without line; NULL until needed */
};

struct group {
	struct symbol_source *src;
	size_t first_pair, n_pairs;
	struct lookups lookups;
	uint32_t *symbol_names;	   /* per lookup: index into names, or NAME_NONE */
	VEC(uint32_t) frame_names; /* per frame: the same */
	VEC(struct name) names;
	struct hash_table by_pointer; /* system name's address -> index into names */
	struct arena text;	      /* demangled names */
	uint64_t cost;
	int rc;
};

/* batch_names.c: collects the distinct names of all lookups and demangles each once. Returns 0 or
 * -ERR_NOMEM. */
int group_names(struct group *g, struct name_style style);

/* batch_answers.c: interns the results of all lookups into r[], and counts them. Single-threaded.
 * Returns 0, or -1 when out of memory. */
int group_answers(struct symbolizer *s, struct group *g, struct sym_result *r);
/* Counts one result. */
void count_answer(struct symbolize_stats *st, const struct sym_result *r);

#endif
