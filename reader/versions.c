/* versions.c - makes, changes and frees versions of address spaces. */
#include "reader/versions.h"

#include "base/err.h"
#include "reader/reader.h"

void versions_drop(struct versions *v, struct address_space *old)
{
	if (old && old->captured) {
		old->next = v->superseded;
		v->superseded = old;
		if (old->epoch < v->reclaimed_to)
			v->reclaimed_to = 0;
	} else {
		space_free(&v->pool, old);
	}
}

/* Replaces the current version by `fresh`. */
static void supersede(struct versions *v, struct address_space **cur, struct address_space *fresh)
{
	struct address_space *old = *cur;

	*cur = fresh;
	versions_drop(v, old);
}

int versions_restart(struct versions *v, struct address_space **cur,
		     const struct address_space *like)
{
	struct address_space *fresh = space_new(&v->pool, like, ++v->last_layout);

	if (!fresh)
		return -ERR_NOMEM;
	supersede(v, cur, fresh);
	return 0;
}

int versions_own(struct versions *v, struct address_space **cur)
{
	struct address_space *fresh;

	if (!(*cur)->captured)
		return 0;
	fresh = space_new(&v->pool, *cur, (*cur)->layout);
	if (!fresh)
		return -ERR_NOMEM;
	supersede(v, cur, fresh);
	return 0;
}

void versions_reclaim(struct versions *v, uint64_t oldest_held)
{
	struct address_space **p = &v->superseded, *as;

	if (oldest_held == v->reclaimed_to)
		return;
	v->reclaimed_to = oldest_held;
	while ((as = *p)) {
		if (as->epoch < oldest_held) {
			*p = as->next;
			space_free(&v->pool, as);
		} else {
			p = &as->next;
		}
	}
}

/* ---- maps -------------------------------------------------------------------------------- */

/* Kinds whose runtime addresses are used as they are; their pgoff is not a file offset. */
static bool is_identity(const struct dso *d)
{
	return d->kind != DSO_FILE && d->kind != DSO_VDSO && d->kind != DSO_KERNEL_MODULE;
}

/* Do both show the same byte of the same dso at any address they have in common? */
static bool map_agrees(const struct map *a, const struct map *b)
{
	if (a->dso != b->dso || a->prot != b->prot || a->flags != b->flags)
		return false;
	return is_identity(a->dso) ? a->dso->kind != DSO_KERNEL || a->pgoff == b->pgoff
				   : a->pgoff - a->start == b->pgoff - b->start;
}

/* Maps of the kernel live until the file is closed: symbols need their addresses later. */
static bool is_kept(const struct versions *v, const struct dso *d)
{
	return v->keep_all || d->kind == DSO_KERNEL || d->kind == DSO_KERNEL_MODULE ||
	       d->kind == DSO_GUEST_KERNEL || d->kind == DSO_BPF;
}

static int map_add(struct versions *v, struct address_space *as, const struct map *like)
{
	const struct map *map = space_map_new(&v->pool, like);
	bool keep = is_kept(v, like->dso);

	if (!map)
		return -ERR_NOMEM;
	if ((keep && vec_reserve(&v->kept, v->kept.n + 1)) || space_insert(&v->pool, as, map)) {
		space_map_unref(&v->pool, map);
		return -ERR_NOMEM;
	}
	if (keep)
		v->kept.v[v->kept.n++] = map;
	else
		space_map_unref(&v->pool, map);
	return 0;
}

/* Removes `old`, and adds its parts before and after [start, end) as new maps. */
static int map_cut(struct versions *v, struct address_space *as, const struct map *old,
		   uint64_t start, uint64_t end)
{
	const struct map whole = *old; /* which may be gone soon */
	struct map rest = whole;

	if (space_remove(&v->pool, as, old))
		return -ERR_NOMEM;
	rest.end = start;
	if (whole.start < start && map_add(v, as, &rest))
		return -ERR_NOMEM;
	rest.start = end;
	rest.end = whole.end;
	/* The pgoff of a kernel map is the address of a symbol, not of the map's start. */
	if (whole.dso->kind != DSO_KERNEL && whole.dso->kind != DSO_GUEST_KERNEL)
		rest.pgoff += end - whole.start;
	return whole.end > end ? map_add(v, as, &rest) : 0;
}

const struct map *versions_last_overlap(const struct address_space *as, uint64_t start,
					uint64_t end)
{
	const struct map *old = space_floor(as, end - 1);

	return old && old->end > start ? old : NULL;
}

int versions_replace(struct versions *v, struct address_space **cur, uint64_t start, uint64_t end,
		     const struct map *fresh)
{
	const struct map *old;
	bool moved = false;

	if (start >= end) /* at the very end of the address space */
		return 0;
	old = versions_last_overlap(*cur, start, end);
	if (!old && !fresh)
		return 0;
	/* The map is known already: perf's records of what existed at the start overlap with the
	 * kernel's events, and JIT compilers change protections back and forth. */
	if (old && fresh && old->start <= start && old->end >= end && map_agrees(old, fresh))
		return 0;
	if (versions_own(v, cur))
		return -ERR_NOMEM;
	for (; old; old = versions_last_overlap(*cur, start, end)) {
		moved |= !fresh || !map_agrees(old, fresh);
		if (!moved && space_keep_elder(&v->pool, *cur, old))
			return -ERR_NOMEM;
		if (map_cut(v, *cur, old, start, end))
			return -ERR_NOMEM;
	}
	if (moved) {
		(*cur)->layout = ++v->last_layout;
		space_forget_elders(&v->pool, *cur);
	}
	return fresh ? map_add(v, *cur, fresh) : 0;
}

void versions_done(struct versions *v)
{
	v->reclaimed_to = 0;
	versions_reclaim(v, UINT64_MAX);
	while (v->kept.n)
		space_map_unref(&v->pool, v->kept.v[--v->kept.n]);
	vec_done(&v->kept);
	space_pool_done(&v->pool);
}
