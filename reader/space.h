/* space.h - address spaces as persistent B+ trees of maps. Private to reader/.
 *
 * A version (struct address_space) owns one reference to its root node, a node one to each child, a
 * leaf one to each map: a map lives as long as any version has it, in its tree or as an elder.
 * Versions share nodes. A node is changed in place only if every node from the root down to it has
 * one reference; else it is copied first. So a captured version never changes, and a change costs
 * one path (height * sizeof node), whatever the number of maps.
 *
 * Threads: reference counts and the pool belong to the one thread that feeds the machine. Readers
 * of a captured version access only keys and pointers of nodes that are never written again. */
#ifndef READER_SPACE_H
#define READER_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

struct space_node;

/* A map that was replaced by one that shows the same bytes, under the same layout id. Results of
 * lookups in an earlier version stay valid under that layout id, so the maps they refer to must
 * live as long. Versions share the tails of their lists. */
struct space_elder {
	struct space_elder *next;
	const struct map *map;
	uint32_t refs; /* from versions whose list begins with it, and from the elder before it */
};

struct address_space {
	struct space_node *root;    /* NULL: no maps */
	struct space_elder *elders; /* NULL: none */
	uint64_t layout;
	uint64_t epoch;		    /* when last captured, if captured */
	bool captured;		    /* handed out: must not change any more */
	const struct dso *jitdump;  /* see reader.h */
	uint64_t stack_end;	    /* likewise */
	const struct dso *program;  /* the first file with code; NULL: none was mapped so far */
	struct address_space *next; /* list of the machine's superseded versions */
};

/* Counts the objects that live, so that tests can see that they are freed. A zeroed pool is ready
 * for use. */
struct space_pool {
	size_t nodes, spaces, maps, elders;
	uint32_t last_map; /* the number of maps made so far: the source of unique ids */
};

/* Call it when no object of the pool lives any more. */
void space_pool_done(struct space_pool *p);

/* Makes a map with the fields of `like` but a new id. The caller owns the one reference. NULL when
 * out of memory. */
const struct map *space_map_new(struct space_pool *p, const struct map *like);
void space_map_unref(struct space_pool *p, const struct map *m);

/* Makes a version without maps, or with those of `like` (and with its elders if the layout is the
 * same). NULL when out of memory. */
struct address_space *space_new(struct space_pool *p, const struct address_space *like,
				uint64_t layout);
void space_free(struct space_pool *p, struct address_space *as);
/* Bytes used by nodes, versions and maps. */
size_t space_pool_bytes(const struct space_pool *p);

/* The last map that starts at or below addr; NULL: none. */
const struct map *space_floor(const struct address_space *as, uint64_t addr);

/* Change a version that is not captured. Return 0, or -1 when out of memory (nothing is changed
 * then). To insert m, no map of the space may overlap it; to remove m, it must be in the space. */
int space_insert(struct space_pool *p, struct address_space *as, const struct map *m);
int space_remove(struct space_pool *p, struct address_space *as, const struct map *m);

/* Keeps a map that is removed next for as long as this layout lives. Returns 0, or -1 when out of
 * memory. */
int space_keep_elder(struct space_pool *p, struct address_space *as, const struct map *m);
/* Releases these maps: the layout has changed. */
void space_forget_elders(struct space_pool *p, struct address_space *as);

#endif
