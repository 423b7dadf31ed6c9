/* versions.h - immutable versions of address spaces. Private to reader/.
 *
 * A version that was captured for a sample is never changed: the next change makes a new one. Old
 * versions are freed when no held batch can refer to them any more. */
#ifndef READER_VERSIONS_H
#define READER_VERSIONS_H

#include "base/vec.h"
#include "reader/space.h"

/* Zeroed: empty. Functions that return int: 0 or -ERR_NOMEM. */
struct versions {
	struct space_pool pool;
	VEC(const struct map *) kept; /* maps that live until the end */
	bool keep_all;
	uint64_t last_layout;
	uint64_t epoch;
	/* versions_reclaim() has nothing to do up to this epoch; 0: unknown */
	uint64_t reclaimed_to;
	struct address_space *superseded; /* versions that were captured and are not current */
};

/* Call it when all current versions have been freed. */
void versions_done(struct versions *v);

/* Replaces *cur by a version with the maps of `like` (NULL: none) and a new layout id. */
int versions_restart(struct versions *v, struct address_space **cur,
		     const struct address_space *like);
/* Makes sure that *cur may be changed: replaces it by a copy if it was captured. */
int versions_own(struct versions *v, struct address_space **cur);
/* Replaces [start, end) of *cur by the map `fresh`, which has these bounds, or by nothing (NULL).
 */
int versions_replace(struct versions *v, struct address_space **cur, uint64_t start, uint64_t end,
		     const struct map *fresh);
/* Frees a version, or keeps it for as long as samples may refer to it. NULL is allowed. */
void versions_drop(struct versions *v, struct address_space *old);

/* Captures the version for a sample of this epoch: it is never changed after that. */
static inline const struct address_space *versions_capture(const struct versions *v,
							   struct address_space *as)
{
	as->captured = true;
	as->epoch = v->epoch;
	return as;
}

/* Frees superseded versions that were last captured before `oldest_held`. */
void versions_reclaim(struct versions *v, uint64_t oldest_held);

/* The last map of a version that overlaps [start, end); NULL: none. */
const struct map *versions_last_overlap(const struct address_space *as, uint64_t start,
					uint64_t end);

#endif
