/* profile_place.c - the location of a frame that was not seen before, and JIT code's moment in
 * time. */
#include "output/index.h"

#include <time.h>

#include "base/pages.h"

enum { JIT_MEMOS = 1 << 14 };

static bool is_monotonic(const struct perf_attr *a)
{
	return a->flags & PERF_ATTR_USE_CLOCKID && a->clockid == CLOCK_MONOTONIC;
}

int profile_jit_moment(struct profile *p, const struct perf_sample *s, struct jit_moment *ret,
		       struct err *err)
{
	struct profile_index *x = p->index_;
	const struct dso *dump = x->jit ? address_space_jitdump(s->space) : NULL;

	*ret = (struct jit_moment){0};
	if (!dump || !s->time_ns || !is_monotonic(&s->event->attr))
		return 0;
	if (dump != x->jit_dso || s->pid != x->jit_pid) {
		if (jit_codes_open(x->jit, dump, s->pid, &x->jit_dump, err))
			return -ERR_NOMEM;
		x->jit_dso = dump;
		x->jit_pid = s->pid;
	}
	ret->dump = x->jit_dump;
	ret->version = ret->dump ? jitdump_version(ret->dump, s->time_ns) : 0;
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

int profile_jit_location(struct profile *p, const struct frame *f, uint32_t flags,
			 const struct jit_moment *now, struct jit_memo *jit, struct err *err)
{
	struct profile_index *x = p->index_;
	struct jit_memo *m;

	if (!x->jit_memos)
		x->jit_memos = pages_calloc(JIT_MEMOS, sizeof *x->jit_memos);
	if (!x->jit_memos)
		return err_nomem(err);
	m = &x->jit_memos[hash_u64(f->ip) % JIT_MEMOS];
	if (m->dump != now->dump || m->ip != f->ip || m->map != f->map || m->flags != flags ||
	    !jit_memo_holds(m, now)) {
		*m = (struct jit_memo){.map = f->map, .ip = f->ip, .flags = flags};
		m->span = jitdump_span(now->dump, frame_lookup_ip(f), now->version);
		if (profile_find_location(p, f, flags, m->span.made_ns, &m->location, err))
			return -ERR_NOMEM;
		m->dump = now->dump;
	}
	*jit = *m;
	return 0;
}
