/* profile_index.c - interning: equal mappings, locations, nodes, functions and samples are one. */
#include "output/index.h"

#include <string.h>

#include "output/pair.h"

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
		[FRAME_GO_TABLE] = FRAME_CFI,
		[FRAME_LINK_REGISTER] = FRAME_FRAME_POINTER,
		[FRAME_NEAR_ROOT] = FRAME_FRAME_POINTER,
		[FRAME_CODE] = FRAME_FRAME_POINTER,
		[FRAME_SAVED_SP] = FRAME_FRAME_POINTER,
		[FRAME_STITCHED] = FRAME_STITCHED,
		[FRAME_SIGNAL_FRAME] = FRAME_CFI,
	};
	uint32_t class = how < FRAME_HOW_N ? same_worth[how] : how;

	return class << 2 | (uint32_t)is_kernel << 1 | is_return_address;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "/lib/modules/6.1/kernel/net/nf-nat.ko.xz" is [nf_nat] in kallsyms and in perf. */
static uint32_t add_module_name(struct strtab *strings, const char *path)
{
	char name[256];
	const char *base = base_name(path), *end = strstr(base, ".ko");
	size_t i, n = end ? (size_t)(end - base) : strlen(base);

	if (*base == '[' || n > sizeof name - 2)
		return strtab_add_cstr(strings, base);
	name[0] = '[';
	for (i = 0; i < n; i++)
		name[i + 1] = base[i] == '-' ? '_' : base[i];
	name[n + 1] = ']';
	return strtab_add(strings, name, n + 2);
}

static uint32_t add_name(struct strtab *strings, enum dso_kind kind, const char *path)
{
	switch (kind) {
	case DSO_KERNEL:
		return strtab_add_cstr(strings, "[kernel.kallsyms]");
	case DSO_GUEST_KERNEL:
		return strtab_add_cstr(strings, "[guest.kernel.kallsyms]");
	case DSO_KERNEL_MODULE:
		return add_module_name(strings, path);
	default:
		return strtab_add_cstr(strings, path);
	}
}

/* "[vdso]" -> "vdso", so that the writers' own brackets are the only ones. */
static uint32_t add_short_name(struct strtab *strings, uint32_t id)
{
	const char *name = base_name(strtab_get(strings, id));
	size_t n = strlen(name);

	if (n > 2 && name[0] == '[' && name[n - 1] == ']')
		return strtab_add(strings, name + 1, n - 2);
	return strtab_add(strings, name, n);
}

static int add_mapping(struct profile *p, const struct dso *dso, const struct map *map,
		       struct err *err)
{
	const char *path = dso && dso->path ? dso->path : "[unknown]";
	struct profile_mapping m = {
		.dso = dso,
		.map = map,
		.path = strtab_add_cstr(&p->strings, path),
		.kind = dso ? dso->kind : DSO_UNKNOWN,
	};

	m.name = add_name(&p->strings, m.kind, path);
	if (m.path == STRTAB_FAILED || m.name == STRTAB_FAILED)
		return err_nomem(err);
	m.short_name = add_short_name(&p->strings, m.name);
	if (m.short_name == STRTAB_FAILED || p->mappings.n >= UINT32_MAX ||
	    vec_push(&p->mappings, m))
		return err_nomem(err);
	return 0;
}

int profile_intern_mapping(struct profile *p, const struct dso *dso, const struct map *map,
			   uint32_t *ret, struct err *err)
{
	struct profile_index *x = p->index_;
	bool by_map = x->keep & PROFILE_KEEP_IPS;
	size_t i, old = x->mapping_of.n;

	if (!p->mappings.n && add_mapping(p, NULL, NULL, err))
		return -ERR_NOMEM;
	*ret = 0;
	if (!dso || (by_map && !map))
		return 0;
	i = by_map ? map->id : dso->id;
	if (i >= old) {
		if (vec_reserve(&x->mapping_of, i + 1))
			return err_nomem(err);
		memset(x->mapping_of.v + old, 0, (i + 1 - old) * sizeof *x->mapping_of.v);
		x->mapping_of.n = i + 1;
	}
	if (!x->mapping_of.v[i]) {
		if (add_mapping(p, dso, by_map ? map : NULL, err))
			return -ERR_NOMEM;
		x->mapping_of.v[i] = (uint32_t)p->mappings.n - 1;
	}
	*ret = x->mapping_of.v[i];
	return 0;
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

int profile_intern_node(struct profile *p, uint32_t parent, uint32_t location, uint32_t *ret,
			struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t hash = (uint32_t)hash_u64(pair_key(parent, location) ^ x->secret);
	struct hash_probe probe;
	size_t n = p->nodes.n;

	/* A stack is added from its root on, so a node's first child mostly is the next node; and
	 * the last node has no children. */
	*ret = parent + 1;
	if (*ret < n) {
		if (node_is(p, *ret, parent, location))
			return 0;
		probe = hash_index_probe(&x->nodes, hash);
		while ((*ret = hash_index_next(&x->nodes, &probe)) != HASH_NONE)
			if (node_is(p, *ret, parent, location))
				return 0;
	}
	*ret = (uint32_t)n;
	if (n >= HASH_NONE - 1 || vec_reserve(&p->nodes, n + 1) ||
	    hash_index_put(&x->nodes, hash, *ret))
		return err_nomem(err);
	p->nodes.v[p->nodes.n++] =
		(struct profile_node){parent, location, p->nodes.v[parent].depth + 1};
	return 0;
}

static bool comes_before(const struct profile *p, uint32_t a, uint32_t b)
{
	return a != b && strcmp(strtab_get(&p->strings, a), strtab_get(&p->strings, b)) < 0;
}

/* What people cannot tell apart is one function: constructors for complete and base objects, with
 * simple names also instances of a template and clones. Of their mangled names the first in the
 * alphabet stands for all, so that it does not depend on the order of the samples. */
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

static int intern_context(struct profile *p, const struct known_context *c, uint32_t *ret,
			  struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t names = pair_intern(&x->names, c->comm, c->event_stop);
	uint32_t tasks = pair_intern(&x->tasks, c->pid, c->tid);

	*ret = HASH_NONE;
	if (names != HASH_NONE && tasks != HASH_NONE)
		*ret = pair_intern(&x->contexts, names, tasks);
	return *ret == HASH_NONE ? err_nomem(err) : 0;
}

int profile_expect_sample(struct profile *p, const struct profile_sample *s, uint32_t *context,
			  struct err *err)
{
	struct profile_index *x = p->index_;
	struct known_context c = {s->comm, s->event << 8 | s->stop, s->pid, s->tid, 0}, *known;

	known = &x->known_contexts[(c.comm ^ c.event_stop ^ c.tid ^ c.pid) % KNOWN_CONTEXTS];
	if (known->comm != c.comm || known->event_stop != c.event_stop || known->pid != c.pid ||
	    known->tid != c.tid || !known->id) {
		if (intern_context(p, &c, context, err))
			return -ERR_NOMEM;
		c.id = *context + 1;
		*known = c;
	}
	*context = known->id - 1;
	hash_prefetch(&x->samples, pair_key(s->node, *context));
	return 0;
}

int profile_count(struct profile *p, const struct profile_sample *s, uint32_t context,
		  struct err *err)
{
	struct profile_index *x = p->index_;
	struct profile_sample *sum;
	uint32_t id;

	if (vec_reserve(&p->samples, p->samples.n + 1))
		return err_nomem(err);
	id = pair_intern(&x->samples, s->node, context);
	if (id == HASH_NONE)
		return err_nomem(err);
	if (id == p->samples.n) {
		p->samples.v[p->samples.n++] = *s;
		return 0;
	}
	sum = &p->samples.v[id];
	sum->count = add_saturated(sum->count, s->count);
	sum->period = add_saturated(sum->period, s->period);
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
	return 0;
}
