/* space.h - address spaces as persistent B+ trees of maps. Private to reader/.
 *
 * A version (struct address_space) owns one reference to its root node, a node one to each child, a
 * leaf one to each map: a map lives as long as a version that has it, or knows it as an elder.
 * Versions share nodes; a node is changed in place only when every node from the root down to it
 * has one reference, else it is copied first. So what a captured version shows never changes, and a
 * change costs one path (height * sizeof node), however many maps there are.
 *
 * Threads: reference counts and pool belong to the one thread that feeds the machine; readers of a
 * captured version touch only keys and pointers of nodes that are not written any more.
 */
#ifndef READER_SPACE_H
#define READER_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct space_node;

/* A map that gave way to one that shows the same bytes, under the same layout: what was found in an
 * earlier version still counts then, so that maps must be there as long as the layout is. Versions
 * share the ends of their lists. */
struct space_elder {
	struct space_elder *next;
	const struct map *map;
	uint32_t refs; /* of versions whose first it is, and of the one before it */
};

struct address_space {
	struct space_node *root;    /* NULL: no maps */
	struct space_elder *elders; /* NULL: none */
	uint64_t layout;
	uint64_t epoch;		    /* when last captured, if captured */
	bool captured;		    /* handed out: must not change any more */
	const struct dso *jitdump;  /* see reader.h */
	uint64_t stack_end;	    /* likewise */
	struct address_space *next; /* of the machine's list of superseded versions */
};

/* Counts what lives, so that reclaiming can be seen. A zeroed pool is ready. */
struct space_pool {
	size_t nodes, spaces, maps, elders;
	uint32_t last_map; /* number of maps ever: no two have the same id */
};

/* When nothing lives any more. */
void space_pool_done(struct space_pool *p);

/* A map like that, but for its id, with a reference for the caller. NULL when out of memory. */
const struct map *space_map_new(struct space_pool *p, const struct map *like);
void space_map_ref(const struct map *m);
void space_map_unref(struct space_pool *p, const struct map *m);

/* Empty, or with the maps of `like`, and its elders if the layout is the same. NULL when out of
 * memory. */
struct address_space *space_new(struct space_pool *p, const struct address_space *like,
				uint64_t layout);
void space_free(struct space_pool *p, struct address_space *as);
/* Bytes in nodes, versions and maps. */
size_t space_pool_bytes(const struct space_pool *p);

/* The last map that starts at or below addr, or NULL. */
const struct map *space_floor(const struct address_space *as, uint64_t addr);

/* Changes of a version that is not captured. 0, or -1 when out of memory (nothing changed).
 * Insert: no map of the space may overlap m. Remove: m must be in the space. */
int space_insert(struct space_pool *p, struct address_space *as, const struct map *m);
int space_remove(struct space_pool *p, struct address_space *as, const struct map *m);

/* What is removed next is still known in this layout. 0, or -1 when out of memory. */
int space_keep_elder(struct space_pool *p, struct address_space *as, const struct map *m);
/* The layout is another one now. */
void space_forget_elders(struct space_pool *p, struct address_space *as);

#endif
