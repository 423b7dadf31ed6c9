/* profile_stack.c - from frames to nodes of the calling-context tree.
 *
 * The tables are larger than the processor's caches, so what several stacks need of them is fetched
 * side by side, in three rounds: first the location of each frame is found, which gives the hash of
 * its node; then the place in the table that the hash leads to, which gives a candidate; then the
 * candidates are compared. Stacks that follow each other mostly share their root frames (main, the
 * event loop): these are not looked up again. */
#include "output/index.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/pages.h"
#include "output/pair.h"

enum { JIT_MEMOS = 4096, KNOWN_BITS = 14 };

static bool is_monotonic(const struct perf_attr *a)
{
	return a->flags & PERF_ATTR_USE_CLOCKID && a->clockid == CLOCK_MONOTONIC;
}

static int jit_moment(struct profile *p, const struct perf_sample *s, struct jit_moment *ret,
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

static const struct jit_memo *jit_memo(struct profile *p, const struct jit_moment *now,
				       uint64_t off)
{
	struct profile_index *x = p->index_;
	struct jit_memo *m;

	if (!x->jit_memos)
		x->jit_memos = calloc(JIT_MEMOS, sizeof *x->jit_memos);
	if (!x->jit_memos)
		return NULL;
	m = &x->jit_memos[hash_u64(off) % JIT_MEMOS];
	if (m->dump != now->dump || m->off != off || now->version < m->span.from ||
	    now->version >= m->span.until)
		*m = (struct jit_memo){now->dump, off, jitdump_span(now->dump, off, now->version)};
	return m;
}

/* Is the code that the memo was made for still at its address? */
static bool memo_holds(const struct jit_memo *m, const struct jit_moment *now)
{
	return !m->dump || (now->version >= m->span.from && now->version < m->span.until);
}

/* The location of a frame that is not known. In a process with a jitdump *jit gets what that says
 * about JIT code. */
static int find_location(struct profile *p, const struct frame *f, uint32_t flags,
			 const struct jit_moment *now, struct jit_memo *jit, uint32_t *ret,
			 struct err *err)
{
	const struct map *map = f->map;
	uint64_t lookup = frame_lookup_ip(f);
	struct location_key key = {.off = lookup, .flags = flags};
	const struct jit_memo *memo;

	if (map) {
		if (profile_intern_mapping(p, map->dso, map, &key.mapping, err))
			return -ERR_NOMEM;
		if (mapping_has_offsets(map->dso->kind))
			key.off = map_ip_to_off(map, lookup);
		if (map->dso->kind == DSO_ANON && now->dump) {
			memo = jit_memo(p, now, lookup);
			if (!memo)
				return err_nomem(err);
			*jit = *memo;
			key.made_ns = memo->span.made_ns;
		}
	}
	return profile_intern_location(p, key, f->ip, ret, err);
}

/* The same for all frames, most of which are known. What time changes is not. */
static int frame_location(struct profile *p, const struct frame *f, uint32_t flags,
			  const struct jit_moment *now, struct jit_memo *jit, uint32_t *ret,
			  struct err *err)
{
	struct profile_index *x = p->index_;
	struct known_frame *k = &x->known[f->ip * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];

	if (now->dump && f->map && f->map->dso->kind == DSO_ANON)
		return find_location(p, f, flags, now, jit, ret, err);
	if (k->ip == f->ip && k->map == f->map && k->flags == flags && k->location) {
		*ret = k->location - 1;
		return 0;
	}
	if (find_location(p, f, flags, now, jit, ret, err))
		return -ERR_NOMEM;
	*k = (struct known_frame){f->ip, f->map, flags, *ret + 1};
	return 0;
}

/* How many frames, from the root on, the stack has in common with the one before. */
static size_t count_same(const struct profile_index *x, const struct stack_trace *t,
			 const struct jit_moment *now)
{
	size_t n = t->n < x->path.n ? t->n : x->path.n, i;

	if (now->dump != x->path_dump)
		return 0;
	for (i = 0; i < n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		const struct path_step *s = &x->path.v[i];

		if (s->ip != f->ip || s->map != f->map ||
		    s->flags != location_flags(f->is_return_address, f->is_kernel, f->how) ||
		    (now->dump && !memo_holds(&x->path_jit.v[i], now)))
			break;
	}
	return i;
}

/* First round: the stack becomes the path; steps for the frames that are not the same. */
static int begin_stack(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		       size_t *same, struct err *err)
{
	struct profile_index *x = p->index_;
	struct jit_memo jit, *jit_steps = NULL;
	struct jit_moment now;
	uint32_t hash;
	size_t i;

	if (jit_moment(p, s, &now, err) || vec_reserve(&x->path, t->n) ||
	    vec_reserve(&x->path_nodes, t->n) || vec_reserve(&x->steps, x->steps.n + t->n) ||
	    (now.dump && vec_reserve(&x->path_jit, t->n)))
		return err_nomem(err);
	*same = count_same(x, t, &now);
	x->path.n = *same;
	x->path_dump = now.dump;
	if (now.dump)
		jit_steps = x->path_jit.v;
	hash = *same ? x->path.v[*same - 1].hash : 0;
	for (i = *same; i < t->n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		uint32_t flags = location_flags(f->is_return_address, f->is_kernel, f->how);
		struct node_step step;

		jit.dump = NULL;
		if (frame_location(p, f, flags, &now, &jit, &step.location, err))
			return -ERR_NOMEM;
		if (jit_steps)
			jit_steps[i] = jit;
		step.hash = hash = node_hash(hash, step.location);
		hash_index_prefetch(&x->nodes, hash);
		x->steps.v[x->steps.n++] = step;
		x->path.v[i] = (struct path_step){f->ip, f->map, flags, hash};
	}
	x->path.n = t->n;
	return 0;
}

void profile_find_candidates(const struct profile *p, struct node_step *steps, size_t n)
{
	const struct hash_index *nodes = &p->index_->nodes;
	size_t i;

	for (i = 0; i < n; i++) {
		struct hash_probe probe = hash_index_probe(nodes, steps[i].hash);

		steps[i].candidate = hash_index_next(nodes, &probe);
		if (steps[i].candidate != HASH_NONE)
			__builtin_prefetch(&p->nodes.v[steps[i].candidate]);
	}
}

int profile_take_node(struct profile *p, uint32_t parent, const struct node_step *s, uint32_t *ret,
		      struct err *err)
{
	*ret = s->candidate;
	if (s->candidate != HASH_NONE && node_is(p, s->candidate, parent, s->location))
		return 0;
	return profile_intern_node(p, parent, s->location, s->hash, ret, err);
}

/* Third round: the node of one stack. Returns behind its last step; NULL when out of memory. */
static const struct node_step *finish_stack(struct profile *p, const struct node_step *s,
					    size_t same, size_t n, uint32_t *ret, struct err *err)
{
	uint32_t *nodes = p->index_->path_nodes.v, at = same ? nodes[same - 1] : 0;
	size_t i;

	for (i = same; i < n; i++, s++) {
		if (profile_take_node(p, at, s, &nodes[i], err))
			return NULL;
		at = nodes[i];
	}
	*ret = at;
	return s;
}

int profile_intern_stacks(struct profile *p, const struct perf_sample *const *samples,
			  const struct stack_trace *traces, size_t n, uint32_t *nodes,
			  struct err *err)
{
	struct profile_index *x = p->index_;
	const struct node_step *s;
	size_t same[PROFILE_BATCH], i, n_path;

	assert(n <= PROFILE_BATCH);
	if (!x->known)
		x->known = pages_calloc((size_t)1 << KNOWN_BITS, sizeof *x->known);
	if (!x->known)
		return err_nomem(err);
	x->steps.n = 0;
	for (i = 0; i < n; i++)
		if (begin_stack(p, samples[i], &traces[i], &same[i], err)) {
			x->path.n = 0;
			return -ERR_NOMEM;
		}
	profile_find_candidates(p, x->steps.v, x->steps.n);
	n_path = x->path.n;
	x->path.n = 0; /* until all its nodes are known */
	s = x->steps.v;
	for (i = 0; i < n; i++) {
		s = finish_stack(p, s, same[i], traces[i].n, &nodes[i], err);
		if (!s && x->steps.n)
			return -ERR_NOMEM;
	}
	x->path.n = n_path;
	return 0;
}
