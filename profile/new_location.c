/* new_location.c - adds the location of a frame that was not seen before; finds the state of JIT
 * code at a time. */
#include "base/err.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "reader/reader.h"

#include "base/pages.h"

enum { JIT_MEMOS = 1 << 14 };

int profile_jit_moment(struct profile *p, const struct perf_sample *s, struct jit_moment *ret,
		       struct err *err)
{
	uint64_t time_ns = jit_sample_time(s);

	*ret = (struct jit_moment){0};
	if (!time_ns)
		return 0;
	if (jit_cursor_seek(&p->index_->jit, s, &ret->dump, err))
		return -ERR_NOMEM;
	ret->version = ret->dump ? jitdump_version(ret->dump, time_ns) : 0;
	return 0;
}

int profile_find_location(struct profile *p, const struct frame *f, uint32_t flags,
			  uint64_t made_ns, uint32_t *ret, struct err *err)
{
	const struct map *map = f->map;
	uint64_t lookup = frame_lookup_ip(f);
	struct location_key key = {.off = lookup, .flags = flags, .made_ns = made_ns};

	if (map) {
		if (profile_intern_mapping(p, map->dso, map, &key.mapping, err))
			return -ERR_NOMEM;
		if (mapping_has_offsets(map->dso->kind))
			key.off = map_ip_to_off(map, lookup);
	}
	return profile_intern_location(p, key, f->ip, ret, err);
}

static int learn_map(struct profile *p, const struct map *map, struct known_map *m, struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t dso = map->dso->id;

	*m = (struct known_map){.ip_to_off = map_ip_to_off(map, 0), .dso = dso};
	if (profile_intern_mapping(p, map->dso, map, &m->mapping, err))
		return -ERR_NOMEM;
	if (vec_reserve(&x->places_of, dso + 1ull))
		return err_nomem(err);
	while (x->places_of.n <= dso)
		x->places_of.v[x->places_of.n++] = (struct known_places){0};
	m->map = map->id;
	return 0;
}

int profile_place_location(struct profile *p, const struct frame *f, uint32_t flags, uint32_t *ret,
			   struct err *err)
{
	struct profile_index *x = p->index_;
	struct known_map *m = &x->known_maps[f->map->id % KNOWN_MAPS];
	struct known_places *places;

	if (m->map != f->map->id && learn_map(p, f->map, m, err))
		return -ERR_NOMEM;
	if (place_is_known(x, f, flags, ret))
		return 0;
	if (profile_find_location(p, f, flags, 0, ret, err))
		return -ERR_NOMEM;
	places = &x->places_of.v[m->dso];
	if (vec_reserve(&places->v, f->place_id + 1ull))
		return err_nomem(err);
	while (places->v.n <= f->place_id)
		places->v.v[places->v.n++] = (struct known_place){0};
	places->v.v[f->place_id] = (struct known_place){
		.off = frame_lookup_ip(f) + m->ip_to_off,
		.sort = place_sort(m->mapping, flags),
		.location = *ret,
	};
	return 0;
}

int profile_jit_location(struct profile *p, const struct frame *f, uint32_t flags,
			 const struct jit_moment *now, struct jit_memo *jit, struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t map = map_number(f->map);
	struct jit_memo *m;

	if (!x->jit_memos)
		x->jit_memos = pages_calloc(JIT_MEMOS, sizeof *x->jit_memos);
	if (!x->jit_memos)
		return err_nomem(err);
	m = &x->jit_memos[hash_u64(f->ip) % JIT_MEMOS];
	if (m->dump != now->dump || m->ip != f->ip || m->map != map || m->flags != flags ||
	    !jit_memo_holds(m, now)) {
		*m = (struct jit_memo){.map = map, .ip = f->ip, .flags = flags};
		m->span = jitdump_span(now->dump, frame_lookup_ip(f), now->version);
		if (profile_find_location(p, f, flags, m->span.made_ns, &m->location, err))
			return -ERR_NOMEM;
		m->dump = now->dump;
	}
	*jit = *m;
	return 0;
}
