/* intern.c - finds or adds mappings, locations, nodes, functions and samples. */
#include "profile/intern.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/pair.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "reader/reader.h"

uint32_t location_flags(bool is_return_address, bool is_kernel, uint8_t how)
{
	static const uint8_t same_worth[FRAME_HOW_N] = {
		[FRAME_SAMPLE] = FRAME_SAMPLE,
		[FRAME_KERNEL_CHAIN] = FRAME_KERNEL_CHAIN,
		[FRAME_USER_CHAIN] = FRAME_USER_CHAIN,
		[FRAME_BRANCH_STACK] = FRAME_BRANCH_STACK,
		[FRAME_CFI] = FRAME_CFI,
		[FRAME_FRAME_POINTER] = FRAME_FRAME_POINTER,
		[FRAME_STACK_TOP] = FRAME_FRAME_POINTER,
		[FRAME_RUNTIME_TABLE] = FRAME_CFI,
		[FRAME_LINK_REGISTER] = FRAME_FRAME_POINTER,
		[FRAME_NEAR_ROOT] = FRAME_FRAME_POINTER,
		[FRAME_CODE] = FRAME_FRAME_POINTER,
		[FRAME_SAVED_SP] = FRAME_FRAME_POINTER,
		[FRAME_STITCHED] = FRAME_STITCHED,
		[FRAME_SIGNAL_FRAME] = FRAME_CFI,
		[FRAME_FP_OWNER] = FRAME_FRAME_POINTER,
		[FRAME_OTHER_STACK] = FRAME_OTHER_STACK,
	};
	uint32_t class = how < FRAME_HOW_N ? same_worth[how] : how;

	return class << 2 | (uint32_t)is_kernel << 1 | is_return_address;
}

static uint32_t add_name(struct strtab *strings, enum dso_kind kind, const char *path)
{
	char name[DSO_MODULE_NAME_BYTES];

	switch (kind) {
	case DSO_KERNEL:
		return strtab_add_cstr(strings, "[kernel.kallsyms]");
	case DSO_GUEST_KERNEL:
		return strtab_add_cstr(strings, "[guest.kernel.kallsyms]");
	case DSO_KERNEL_MODULE:
		return strtab_add_cstr(strings, dso_module_name(path, name));
	default:
		return strtab_add_cstr(strings, path);
	}
}

/* "[vdso]" -> "vdso": writers add their own brackets. */
static uint32_t add_short_name(struct strtab *strings, uint32_t id)
{
	const char *name = base_name(strtab_get(strings, id));
	size_t n = strlen(name);

	if (n > 2 && name[0] == '[' && name[n - 1] == ']')
		return strtab_add(strings, name + 1, n - 2);
	return strtab_add(strings, name, n);
}

int profile_push_mapping(struct profile *p, struct profile_mapping m, struct err *err)
{
	if (m.path == STRTAB_FAILED || m.name == STRTAB_FAILED)
		return err_nomem(err);
	m.short_name = add_short_name(&p->strings, m.name);
	if (m.short_name == STRTAB_FAILED || p->mappings.n >= UINT32_MAX ||
	    vec_push(&p->mappings, m))
		return err_nomem(err);
	return 0;
}

static int add_mapping(struct profile *p, const struct dso *dso, const struct map *map,
		       struct err *err)
{
	const char *path = dso && dso->path ? dso->path : "[unknown]";
	struct profile_mapping m = {
		.dso = dso,
		.path = strtab_add_cstr(&p->strings, path),
		.kind = dso ? dso->kind : DSO_UNKNOWN,
	};

	if (map)
		m.map = *map;
	if (dso)
		m.build_id = dso->build_id;
	m.name = add_name(&p->strings, m.kind, path);
	return profile_push_mapping(p, m, err);
}

static int mapping_of_dso(struct profile *p, const struct dso *dso, uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	size_t i = dso->id, old = x->mapping_of.n;

	if (i >= old) {
		if (vec_reserve(&x->mapping_of, i + 1))
			return err_nomem(err);
		memset(x->mapping_of.v + old, 0, (i + 1 - old) * sizeof *x->mapping_of.v);
		x->mapping_of.n = i + 1;
	}
	if (!x->mapping_of.v[i]) {
		if (add_mapping(p, dso, NULL, err))
			return -ERR_NOMEM;
		x->mapping_of.v[i] = (uint32_t)p->mappings.n - 1;
	}
	*ret = x->mapping_of.v[i];
	return 0;
}

/* Processes that map a file at the same address share a mapping. */
static int mapping_of_place(struct profile *p, const struct map *map, uint32_t *ret,
			    struct err *err)
{
	struct profile_index *x = p->index_;
	uint64_t h = hash_mix(hash_mix(x->secret ^ map->dso->id, map->start), map->end);
	uint32_t hash = (uint32_t)hash_mix(h, map->pgoff);
	struct hash_probe probe = hash_index_probe(&x->mappings, hash);

	while ((*ret = hash_index_next(&x->mappings, &probe)) != HASH_NONE) {
		const struct map *m = &p->mappings.v[*ret].map;

		if (m->dso == map->dso && m->start == map->start && m->end == map->end &&
		    m->pgoff == map->pgoff)
			return 0;
	}
	*ret = (uint32_t)p->mappings.n;
	if (add_mapping(p, map->dso, map, err))
		return -ERR_NOMEM;
	return hash_index_put(&x->mappings, hash, *ret) ? err_nomem(err) : 0;
}

uint32_t profile_string(struct profile *p, const char *s, size_t n)
{
	enum { STRING_BYTES_MAX = 4096, TAIL_BYTES_MAX = 64 };
	char cut[STRING_BYTES_MAX];
	size_t keep = STRING_BYTES_MAX - TAIL_BYTES_MAX;

	if (n <= STRING_BYTES_MAX)
		return strtab_add(&p->strings, s, n);
	while (keep && ((unsigned char)s[keep] & 0xc0) == 0x80) /* do not cut a UTF-8 character */
		keep--;
	memcpy(cut, s, keep);
	n = keep + (size_t)snprintf(cut + keep, TAIL_BYTES_MAX, "... (%zu bytes, %016" PRIx64 ")",
				    n, hash_bytes(s, n));
	return strtab_add(&p->strings, cut, n);
}

int profile_intern_mapping(struct profile *p, const struct dso *dso, const struct map *map,
			   uint32_t *ret, struct err *err)
{
	bool by_map = p->index_->keep & PROFILE_KEEP_IPS;

	if (!p->mappings.n && add_mapping(p, NULL, NULL, err))
		return -ERR_NOMEM;
	*ret = 0;
	if (!dso || (by_map && !map))
		return 0;
	return by_map ? mapping_of_place(p, map, ret, err) : mapping_of_dso(p, dso, ret, err);
}

static uint32_t location_hash(const struct profile_index *x, struct location_key key)
{
	uint64_t h = hash_mix(x->secret, pair_key(key.mapping, key.flags));

	return (uint32_t)hash_mix(h, key.off ^ key.made_ns);
}

static bool location_is(const struct profile_location *l, struct location_key key)
{
	uint32_t flags = (uint32_t)l->how << 2 | (uint32_t)l->is_kernel << 1 | l->is_return_address;

	return l->off == key.off && l->mapping == key.mapping && flags == key.flags &&
	       l->made_ns == key.made_ns;
}

int profile_intern_location(struct profile *p, struct location_key key, uint64_t ip, uint32_t *ret,
			    struct err *err)
{
	struct profile_index *x = p->index_;
	struct profile_location new = {
		.mapping = key.mapping,
		.ip = ip,
		.off = key.off,
		.made_ns = key.made_ns,
		.is_return_address = key.flags & 1,
		.is_kernel = key.flags >> 1 & 1,
		.how = (uint8_t)(key.flags >> 2),
	};
	uint32_t hash = location_hash(x, key);
	struct hash_probe probe = hash_index_probe(&x->locations, hash);

	while ((*ret = hash_index_next(&x->locations, &probe)) != HASH_NONE)
		if (location_is(&p->locations.v[*ret], key))
			return 0;
	*ret = (uint32_t)p->locations.n;
	if (p->locations.n >= UINT32_MAX - 1 || vec_reserve(&p->locations, p->locations.n + 1) ||
	    hash_index_put(&x->locations, hash, *ret))
		return err_nomem(err);
	p->locations.v[p->locations.n++] = new;
	return 0;
}

/* Adds a path of new nodes, each the child of the one before. */
static int add_nodes(struct profile *p, uint32_t parent, const uint32_t *locations, size_t n,
		     uint32_t *ret, struct err *err)
{
	uint32_t depth = p->nodes.v[parent].depth;
	size_t i;

	if (n >= HASH_NONE - p->nodes.n || vec_reserve(&p->nodes, p->nodes.n + n))
		return err_nomem(err);
	for (i = 0; i < n; i++) {
		ret[i] = (uint32_t)p->nodes.n++;
		p->nodes.v[ret[i]] = (struct profile_node){parent, locations[i], ++depth};
		parent = ret[i];
	}
	return 0;
}

/* A stack is added from its root on, so a node's first child is mostly the node added after it.
 * Such a child is not in the index: its id is parent + 1. */
int profile_intern_node(struct profile *p, uint32_t parent, uint32_t location, uint32_t *ret,
			struct err *err)
{
	struct profile_index *x = p->index_;
	struct hash_probe probe;
	uint32_t hash;

	*ret = parent + 1;
	if (*ret == p->nodes.n)
		return add_nodes(p, parent, &location, 1, ret, err);
	if (node_is(p, *ret, parent, location))
		return 0;
	hash = (uint32_t)hash_u64(pair_key(parent, location) ^ x->secret);
	probe = hash_index_probe(&x->nodes, hash);
	while ((*ret = hash_index_next(&x->nodes, &probe)) != HASH_NONE)
		if (node_is(p, *ret, parent, location))
			return 0;
	if (add_nodes(p, parent, &location, 1, ret, err))
		return -ERR_NOMEM;
	if (hash_index_put(&x->nodes, hash, *ret)) {
		p->nodes.n--; /* it would not be found */
		return err_nomem(err);
	}
	return 0;
}

int profile_intern_nodes(struct profile *p, uint32_t parent, const uint32_t *locations, size_t n,
			 uint32_t *ret, struct err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (parent + 1 == p->nodes.n) /* has no children yet */
			return add_nodes(p, parent, locations + i, n - i, ret + i, err);
		if (profile_intern_node(p, parent, locations[i], &ret[i], err))
			return -ERR_NOMEM;
		parent = ret[i];
	}
	return 0;
}

static bool comes_before(const struct profile *p, uint32_t a, uint32_t b)
{
	return a != b && strcmp(strtab_get(&p->strings, a), strtab_get(&p->strings, b)) < 0;
}

/* Functions that look the same to users are one: constructors of complete and base objects, and,
 * with simple names, instances of a template and clones. They keep the mangled name that is first
 * in the alphabet, so that the result does not depend on the order of samples. */
int profile_intern_function(struct profile *p, const struct profile_function *f, uint32_t *ret,
			    struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t place = pair_intern(&x->places, f->file, f->start_line);
	uint32_t id;

	if (place == HASH_NONE || vec_reserve(&p->functions, p->functions.n + 1))
		return err_nomem(err);
	id = pair_intern(&x->functions, f->name, place);
	if (id == HASH_NONE)
		return err_nomem(err);
	if (id == p->functions.n)
		p->functions.v[p->functions.n++] = *f;
	else if (comes_before(p, f->system_name, p->functions.v[id].system_name))
		p->functions.v[id].system_name = f->system_name;
	*ret = id;
	return 0;
}

uint32_t profile_expect_sample(const struct profile *p, const struct profile_sample *key)
{
	const struct profile_index *x = p->index_;
	uint64_t h = hash_mix(x->secret, pair_key(key->node, key->comm));

	h = hash_mix(h, pair_key(key->pid, key->tid));
	h = hash_mix(h, pair_key(key->event, key->stop | (uint32_t)key->cpu << 8));
	h = key->labels ? hash_mix(h, key->labels) : h;
	hash_index_expect(&x->samples, (uint32_t)h);
	return (uint32_t)h;
}

static bool same_key(const struct profile_sample *a, const struct profile_sample *b)
{
	return a->node == b->node && a->event == b->event && a->comm == b->comm &&
	       a->pid == b->pid && a->tid == b->tid && a->stop == b->stop && a->cpu == b->cpu &&
	       a->labels == b->labels;
}

int profile_intern_sample(struct profile *p, const struct profile_sample *key, uint32_t hash,
			  uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	struct hash_probe probe = hash_index_probe(&x->samples, hash);
	struct profile_sample new = *key;

	while ((*ret = hash_index_next(&x->samples, &probe)) != HASH_NONE)
		if (same_key(&p->samples.v[*ret], key))
			return 0;
	*ret = (uint32_t)p->samples.n;
	new.count = new.period = 0;
	if (p->samples.n >= HASH_NONE - 1 || vec_reserve(&p->samples, p->samples.n + 1) ||
	    hash_index_put(&x->samples, hash, *ret))
		return err_nomem(err);
	p->samples.v[p->samples.n++] = new;
	return 0;
}

int profile_grow_events(struct profile *p, size_t n, struct err *err)
{
	size_t old = p->events.n;

	if (n <= old)
		return 0;
	if (n >= 1u << 24 || vec_reserve(&p->events, n))
		return err_nomem(err);
	memset(p->events.v + old, 0, (n - old) * sizeof *p->events.v);
	p->events.n = n;
	return 0;
}

int profile_name_event(struct profile *p, const struct perf_event *event, struct err *err)
{
	uint32_t name = strtab_add_cstr(&p->strings, event->name);

	if (name == STRTAB_FAILED)
		return err_nomem(err);
	if (profile_grow_events(p, (size_t)event->index + 1, err))
		return -ERR_NOMEM;
	p->events.v[event->index].name = name;
	p->events.v[event->index].attr = event->attr;
	if (event->heap_unit) {
		p->events.v[event->index].is_sum = true;
		p->events.v[event->index].is_default = !strcmp(event->name, "alloc_space");
		p->events.v[event->index].unit = strtab_add_cstr(&p->strings, event->heap_unit);
		return p->events.v[event->index].unit == STRTAB_FAILED ? err_nomem(err) : 0;
	}
	if (!event->is_ns && strcmp(event->name, WALL_CLOCK_EVENT) != 0)
		return 0;
	p->events.v[event->index].is_ns = true;
	p->events.v[event->index].is_default = strcmp(event->name, "runnable") != 0;
	p->events.v[event->index].unit = strtab_add_cstr(&p->strings, "nanoseconds");
	return p->events.v[event->index].unit == STRTAB_FAILED ? err_nomem(err) : 0;
}
