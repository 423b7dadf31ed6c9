/* intern.h - finds the mappings, locations, nodes and samples that a profile already has. Private
 * to profile/. */
#ifndef PROFILE_INTERN_H
#define PROFILE_INTERN_H

#include "base/hash.h"
#include "base/sum.h"
#include "demangle/demangle.h"
#include "functions/functions.h"
#include "profile/fill.h"
#include "profile/stack_memo.h"

/* The string id of a sample's details, 0: it has none that are kept; or STRTAB_FAILED. */
uint32_t profile_add_detail(struct profile *p, const struct perf_sample *s);

/* Frames with equal keys have the same location. */
struct location_key {
	uint64_t off; /* as in struct sym_query */
	uint32_t mapping;
	uint32_t flags;	  /* location_flags() */
	uint64_t made_ns; /* of JIT code; 0 */
};

/* The JIT code of a process at the time of one sample. */
struct jit_moment {
	const struct jitdump *dump; /* NULL: none, or its times say nothing */
	uint32_t version;
};

/* A frame in JIT code that was seen before, and the versions of the code for which its location is
 * valid. */
struct jit_memo {
	const struct jitdump *dump; /* NULL: none */
	uint64_t ip;
	uint32_t map; /* map_number() */
	uint32_t flags, location;
	struct jit_span span;
};

/* Is the code for which the memo was made still at its address? */
static inline bool jit_memo_holds(const struct jit_memo *m, const struct jit_moment *now)
{
	return !m->dump || (now->version >= m->span.from && now->version < m->span.until);
}

/* One frame of the stack added last. */
struct path_step {
	uint64_t ip, what; /* frame_what() */
};

/* A frame that was seen. */
struct known_frame {
	uint64_t ip;
	uint32_t map; /* map_number() */
	uint32_t flags;
	uint32_t location; /* + 1; 0: empty */
};

/* Caches the location of frames by place_id, which nearly all frames have. */
struct known_place {
	uint64_t off;  /* as in struct location_key */
	uint32_t sort; /* place_sort(); 0: empty */
	uint32_t location;
};
struct known_places {
	VEC(struct known_place) v;
};

/* Caches by map what frames in a file's code have in common. */
struct known_map {
	uint32_t map;	    /* id; 0: empty */
	uint64_t ip_to_off; /* to be added */
	uint32_t dso, mapping;
};
#define KNOWN_MAPS 64

/* For profile_demangle(). A zeroed one is empty. */
struct mangled_names {
	struct name_style style;
	bool is_wanted;
	struct demangler demangler;
	struct hash_table readable; /* string id -> string id */
};
void mangled_done(struct mangled_names *m); /* mangled.c */
/* Gives a function of which the mangled name is all that is known the readable one. Its name is one
 * of the profile's strings. */
int mangled_spell(struct profile *p, struct profile_function *f, struct err *err);

struct profile_index {
	unsigned keep; /* enum profile_keep */
	/* Key of the hashes: a hostile recording cannot choose addresses that collide. */
	uint32_t bound_mark; /* location, and 1; 0: not made yet */
	uint64_t secret;
	VEC(uint32_t) mapping_of; /* by dso id; 0: not yet */
	struct hash_index
		mappings; /* with PROFILE_KEEP_IPS instead: hash of the place -> mapping */
	struct hash_index locations; /* hash of a location_key -> location */
	/* Hash of (parent, location) -> node, unless the node is parent + 1. */
	struct hash_index nodes;
	struct hash_table comms;     /* address of a comm -> string id */
	struct hash_index samples;   /* hash of a sample's key -> sample */
	struct hash_table places;    /* (file, start line) -> dense id */
	struct hash_table functions; /* (name, places id) -> function */
	struct hash_table texts; /* address of a cgroup's path or a state -> string id of labels */
	const char *last_comm;
	uint32_t last_comm_id;
	/* The stack added last, root first. */
	VEC(struct path_step) path;
	VEC(uint32_t) path_nodes;
	uint32_t path_base;		 /* the node that it begins at */
	VEC(struct stack_base *) bases;	 /* on the way to the root */
	const struct jitdump *path_dump; /* of its process */
	VEC(struct jit_memo) path_jit;	 /* if there is one: of its JIT frames */
	/* The locations of the frames of the stacks that are being added. */
	VEC(uint32_t) locations_of;
	struct stack_memo memo;
	struct known_frame *known;		 /* by address */
	VEC(struct known_places) places_of;	 /* by dso id */
	struct known_map known_maps[KNOWN_MAPS]; /* by map id */
	const struct perf_file *file;		 /* NULL: none */
	struct jit_cursor jit;			 /* without codes JIT code has no time */
	struct jit_memo *jit_memos; /* JIT_MEMOS entries, by address; NULL until needed */
	struct mangled_names mangled;
	const struct strtab *answers; /* whose ids string_of translates */
	VEC(uint32_t) string_of;      /* symbolizer's string id -> ours + 1 */
};

/* Combines is_return_address, is_kernel and the way a frame was found in one number. Ways of the
 * same reliability are equal: two stacks do not differ because a frame came from another table, but
 * they differ if one is a guess. */
uint32_t location_flags(bool is_return_address, bool is_kernel, uint8_t how);

/* All return 0, or negative with *err. */
/* map: needed only with PROFILE_KEEP_IPS. */
int profile_intern_mapping(struct profile *p, const struct dso *dso, const struct map *map,
			   uint32_t *ret, struct err *err);
/* Appends a mapping and makes its path and names. */
int profile_push_mapping(struct profile *p, struct profile_mapping m, struct err *err);
/* ip: the frame's address, stored if the location is new. */
int profile_intern_location(struct profile *p, struct location_key key, uint64_t ip, uint32_t *ret,
			    struct err *err);
/* Finds what the process's jitdump, if it has one, says about the sample's time. */
int profile_jit_moment(struct profile *p, const struct perf_sample *s, struct jit_moment *ret,
		       struct err *err);
/* Finds the location of a frame. made_ns: of JIT code, else 0. */
int profile_find_location(struct profile *p, const struct frame *f, uint32_t flags,
			  uint64_t made_ns, uint32_t *ret, struct err *err);
/* The same for JIT code in a process with a jitdump: sets *jit to the location and the versions of
 * the code for which it is valid. */
int profile_jit_location(struct profile *p, const struct frame *f, uint32_t flags,
			 const struct jit_moment *now, struct jit_memo *jit, struct err *err);
/* The same for a frame with a place_id, in a map for which mapping_has_offsets() is true. */
int profile_place_location(struct profile *p, const struct frame *f, uint32_t flags, uint32_t *ret,
			   struct err *err);
int profile_intern_node(struct profile *p, uint32_t parent, uint32_t location, uint32_t *ret,
			struct err *err);
/* Finds the nodes of a path of n locations below `parent`, each node the parent of the next; writes
 * all n to ret[]. */
int profile_intern_nodes(struct profile *p, uint32_t parent, const uint32_t *locations, size_t n,
			 uint32_t *ret, struct err *err);
/* Finds the sample with this key, or adds it with a count of 0. `hash` comes from
 * profile_expect_sample(), which prefetches the memory that is needed. */
uint32_t profile_expect_sample(const struct profile *p, const struct profile_sample *key);
int profile_intern_sample(struct profile *p, const struct profile_sample *key, uint32_t hash,
			  uint32_t *ret, struct err *err);
/* The same for n <= PROFILE_BATCH stacks. The keys are complete except for the node. */
int profile_intern_stacks(struct profile *p, const struct perf_sample *const *samples,
			  const struct stack_trace *traces, const struct stack_digest *digests,
			  size_t n, struct profile_sample *keys, uint32_t *ids, struct err *err);
int profile_intern_function(struct profile *p, const struct profile_function *f, uint32_t *ret,
			    struct err *err);
/* The location "[frames left out]". */
int profile_add_bound_mark(struct profile *p, uint32_t *ret, struct err *err);
/* Makes sure that events[index] exists. */
int profile_grow_events(struct profile *p, size_t n, struct err *err);
int profile_name_event(struct profile *p, const struct perf_event *event, struct err *err);

static inline void profile_count(struct profile *p, uint32_t sample, uint64_t count,
				 uint64_t period)
{
	struct profile_sample *sum = &p->samples.v[sample];

	sum->count = add_saturated(sum->count, count);
	sum->period = add_saturated(sum->period, period);
}

static inline bool node_is(const struct profile *p, uint32_t node, uint32_t parent,
			   uint32_t location)
{
	return p->nodes.v[node].parent == parent && p->nodes.v[node].location == location;
}

/* Combines mapping and flags of a location in one number that is not 0; 0 if they do not fit. */
static inline uint32_t place_sort(uint32_t mapping, uint32_t flags)
{
	_Static_assert(FRAME_HOW_N <= 16, "bits of location_flags()");
	return mapping < 1u << 26 ? mapping << 6 | flags : 0;
}

/* The cached location of a frame, if the last frame with its place_id was at the same place. */
static inline bool place_is_known(const struct profile_index *x, const struct frame *f,
				  uint32_t flags, uint32_t *ret)
{
	const struct known_map *m;
	const struct known_place *k;

	if (!f->place_id)
		return false;
	m = &x->known_maps[f->map->id % KNOWN_MAPS];
	if (m->map != f->map->id || f->place_id >= x->places_of.v[m->dso].v.n)
		return false;
	k = &x->places_of.v[m->dso].v.v[f->place_id];
	*ret = k->location;
	return k->sort && k->sort == place_sort(m->mapping, flags) &&
	       k->off == frame_lookup_ip(f) + m->ip_to_off;
}

/* Must be called before samples of these times are added. */
static inline void profile_see_times(struct profile *p, uint64_t first_ns, uint64_t last_ns)
{
	if (!p->samples.n || first_ns < p->first_ns)
		p->first_ns = first_ns;
	if (!p->samples.n || last_ns > p->last_ns)
		p->last_ns = last_ns;
}

#endif
