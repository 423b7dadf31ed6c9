/* stack.c - converts frames to nodes of the calling-context tree.
 *
 * Stacks that were seen before are found as a whole, by the memo. Of other stacks, consecutive ones
 * mostly share their root frames (main, the event loop), which are not looked up again. The tables
 * are larger than the processor's caches, so the memory that several stacks need is prefetched
 * together: first the memo's sets, then the locations of frames, then the index of samples. */
#include "base/err.h"
#include "base/vec.h"
#include "profile/intern.h"
#include "profile/profile.h"
#include "reader/reader.h"

#include <assert.h>
#include <string.h>

#include "base/pair.h"

enum { KNOWN_BITS = 12 };

/* Finds the location of a frame. */
static int frame_location(struct profile *p, const struct frame *f, uint32_t flags,
			  const struct jit_moment *now, struct jit_memo *jit, uint32_t *ret,
			  struct err *err)
{
	struct known_frame *k;

	if (f->place_id && mapping_has_offsets(f->map->dso->kind))
		return profile_place_location(p, f, flags, ret, err);
	if (now->dump && f->map && f->map->dso->kind == DSO_ANON) {
		if (profile_jit_location(p, f, flags, now, jit, err))
			return -ERR_NOMEM;
		*ret = jit->location;
		return 0;
	}
	k = &p->index_->known[f->ip * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];
	if (k->ip == f->ip && k->map == map_number(f->map) && k->flags == flags && k->location) {
		*ret = k->location - 1;
		return 0;
	}
	if (profile_find_location(p, f, flags, 0, ret, err))
		return -ERR_NOMEM;
	*k = (struct known_frame){f->ip, map_number(f->map), flags, *ret + 1};
	return 0;
}

/* Returns how many frames, from the root on, the stack has in common with the previous one. */
static size_t count_same(const struct profile_index *x, const struct stack_trace *t,
			 const struct jit_moment *now)
{
	size_t n = t->n < x->path.n ? t->n : x->path.n, i;

	if (now->dump != x->path_dump)
		return 0;
	for (i = 0; i < n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		const struct path_step *s = &x->path.v[i];

		if (s->ip != f->ip || s->what != frame_what(f) ||
		    (now->dump && !jit_memo_holds(&x->path_jit.v[i], now)))
			break;
	}
	return i;
}

/* Makes sure that the base has a node. Most have one, because many stacks share a base. */
static int begin_base(struct profile *p, const struct perf_sample *s, struct stack_base *base,
		      struct err *err)
{
	struct profile_index *x = p->index_;
	uint32_t parent, location;
	struct jit_moment now;
	struct jit_memo jit;

	if (!base || base->tag)
		return 0;
	if (profile_jit_moment(p, s, &now, err))
		return -ERR_NOMEM;
	for (x->bases.n = 0; base && !base->tag; base = base->up)
		if (vec_push(&x->bases, base))
			return err_nomem(err);
	parent = base ? base->tag : 0;
	while (x->bases.n) {
		const struct frame *f;

		base = x->bases.v[--x->bases.n];
		f = &base->frame;
		if (frame_location(p, f, location_flags(f->is_return_address, f->is_kernel, f->how),
				   &now, &jit, &location, err))
			return -ERR_NOMEM;
		if (profile_intern_node(p, parent, location, &base->tag, err))
			return -ERR_NOMEM;
		parent = base->tag;
	}
	return 0;
}

/* Makes the stack the current path and finds the locations of the frames that differ from the
 * previous path. */
static int begin_stack(struct profile *p, const struct perf_sample *s, const struct stack_trace *t,
		       size_t *same, struct err *err)
{
	struct profile_index *x = p->index_;
	struct jit_memo jit, *jit_steps = NULL;
	struct jit_moment now;
	uint32_t base;
	size_t i;

	if (profile_jit_moment(p, s, &now, err) || vec_reserve(&x->path, t->n) ||
	    vec_reserve(&x->path_nodes, t->n) ||
	    vec_reserve(&x->locations_of, x->locations_of.n + t->n) ||
	    (now.dump && vec_reserve(&x->path_jit, t->n)))
		return err_nomem(err);
	base = t->base ? t->base->tag : 0;
	*same = base == x->path_base ? count_same(x, t, &now) : 0;
	x->path.n = *same;
	x->path_base = base;
	x->path_dump = now.dump;
	if (now.dump)
		jit_steps = x->path_jit.v;
	for (i = *same; i < t->n; i++) {
		const struct frame *f = &t->frames[t->n - 1 - i];
		uint64_t what = frame_what(f);
		uint32_t flags = FRAME_CFI << 2 | 1, location;

		if (!frame_what_usual(what))
			flags = location_flags(f->is_return_address, f->is_kernel, f->how);
		jit.dump = NULL;
		if (!place_is_known(x, f, flags, &location) &&
		    frame_location(p, f, flags, &now, &jit, &location, err))
			return -ERR_NOMEM;
		if (jit_steps)
			jit_steps[i] = jit;
		x->locations_of.v[x->locations_of.n++] = location;
		x->path.v[i] = (struct path_step){f->ip, what};
	}
	x->path.n = t->n;
	return 0;
}

/* Finds the node of one stack. *locations are those of its frames that differ, and advances. */
static int finish_stack(struct profile *p, const uint32_t **locations, size_t same,
			const struct stack_trace *t, uint32_t *ret, struct err *err)
{
	uint32_t *nodes = p->index_->path_nodes.v;

	*ret = same ? nodes[same - 1] : t->base ? t->base->tag : 0;
	if (same == t->n)
		return 0;
	if (profile_intern_nodes(p, *ret, *locations, t->n - same, nodes + same, err))
		return -ERR_NOMEM;
	*locations += t->n - same;
	*ret = nodes[t->n - 1];
	return 0;
}

/* Allocates the tables at the first stack. */
static int tables_make(struct profile_index *x)
{
	if (!x->known)
		x->known = calloc((size_t)1 << KNOWN_BITS, sizeof *x->known);
	return x->known && !stack_memo_make(&x->memo) ? 0 : -1;
}

static struct stack_memo_context memo_context(const struct profile_sample *s)
{
	return (struct stack_memo_context){.names = pair_key(s->comm, s->event << 8 | s->stop),
					   .task = pair_key(s->pid, s->tid),
					   .labels = s->labels,
					   .cpu = s->cpu};
}

/* Looks up the samples in the memo; HASH_NONE for those that are not there. */
static void remember(struct profile *p, const struct perf_sample *const *samples,
		     const struct stack_trace *traces, const struct stack_digest *digests, size_t n,
		     const struct profile_sample *keys, struct stack_memo_at *at, uint32_t *ids)
{
	const struct profile_index *x = p->index_;
	size_t i;

	for (i = 0; i < n; i++) {
		const struct stack_digest *d = digests ? &digests[i] : NULL;
		struct stack_digest own;

		at[i] = (struct stack_memo_at){0};
		if (x->jit.codes && jit_codes_describe(x->jit.codes, samples[i]))
			continue; /* code may have changed */
		if (!d || !stack_digest_fits(d, &traces[i])) {
			own = stack_digest(&x->memo, &traces[i]);
			d = &own;
		}
		at[i] = stack_memo_at(&x->memo, memo_context(&keys[i]), &traces[i], d);
	}
	for (i = 0; i < n; i++) {
		ids[i] = stack_memo_get(&at[i]);
		if (ids[i] != HASH_NONE)
			__builtin_prefetch(&p->samples.v[ids[i]], 1);
	}
}

void profile_digest(const struct profile *p, const struct stack_trace *traces, size_t n,
		    struct stack_digest *ret)
{
	size_t i;

	for (i = 0; i < n; i++)
		ret[i] = stack_digest(&p->index_->memo, &traces[i]);
}

int profile_intern_stacks(struct profile *p, const struct perf_sample *const *samples,
			  const struct stack_trace *traces, const struct stack_digest *digests,
			  size_t n, struct profile_sample *keys, uint32_t *ids, struct err *err)
{
	struct profile_index *x = p->index_;
	const uint32_t *locations;
	uint32_t hashes[PROFILE_BATCH];
	struct stack_memo_at memo[PROFILE_BATCH];
	size_t same[PROFILE_BATCH], i, n_path;

	assert(n <= PROFILE_BATCH);
	if (tables_make(x))
		return err_nomem(err);
	for (i = 0; i < n; i++)
		if (begin_base(p, samples[i], traces[i].base, err))
			return -ERR_NOMEM;
	remember(p, samples, traces, digests, n, keys, memo, ids);
	x->locations_of.n = 0;
	for (i = 0; i < n; i++)
		if (ids[i] == HASH_NONE && begin_stack(p, samples[i], &traces[i], &same[i], err)) {
			x->path.n = 0;
			return -ERR_NOMEM;
		}
	n_path = x->path.n;
	x->path.n = 0; /* until all its nodes are known */
	locations = x->locations_of.v;
	for (i = 0; i < n; i++) {
		if (ids[i] != HASH_NONE)
			continue;
		if (finish_stack(p, &locations, same[i], &traces[i], &keys[i].node, err))
			return -ERR_NOMEM;
		hashes[i] = profile_expect_sample(p, &keys[i]);
	}
	for (i = 0; i < n; i++) {
		if (ids[i] != HASH_NONE)
			continue;
		if (profile_intern_sample(p, &keys[i], hashes[i], &ids[i], err))
			return -ERR_NOMEM;
		stack_memo_set(&memo[i], ids[i]);
	}
	x->path.n = n_path;
	return 0;
}
