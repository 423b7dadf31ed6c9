/* functab.c - sorting, nesting, and perf's choice between several names of one address. */
#include "functions/functions.h"

#include <string.h>

#include "base/sort.h"

/* Limits on the work of one look-up in a crafted table. In real tables the linker folds a few
 * thousand identical functions into one, and nesting is below 10. */
enum { ALIASES_MAX = 4096, NESTING_MAX = 256 };

int functab_add(struct functab *t, const struct func *f)
{
	if (f->end <= f->start)
		return 0;
	if (t->funcs.n >= FUNC_NONE - 1)
		return -1;
	return vec_push(&t->funcs, *f);
}

/* Sorts funcs by start. The sort is stable: functions with the same start stay in the order in
 * which they were added. */
static int sort_funcs(struct functab *t)
{
	size_t n = t->funcs.n, i;
	struct sort_pair *pairs;
	struct func *sorted;

	for (i = 1; i < n && t->funcs.v[i - 1].start <= t->funcs.v[i].start; i++)
		;
	if (i >= n)
		return 0;
	pairs = malloc(n * sizeof *pairs);
	sorted = malloc(n * sizeof *sorted);
	if (!pairs || !sorted)
		goto nomem;
	for (i = 0; i < n; i++)
		pairs[i] = (struct sort_pair){t->funcs.v[i].start, (uint32_t)i};
	if (sort_pairs(pairs, n))
		goto nomem;
	for (i = 0; i < n; i++)
		sorted[i] = t->funcs.v[pairs[i].index];
	free(pairs);
	free(t->funcs.v);
	t->funcs.v = sorted;
	t->funcs.cap = n;
	return 0;
nomem:
	free(pairs);
	free(sorted);
	return -1;
}

static size_t group_end(const struct functab *t, size_t g)
{
	return g + 1 < t->groups.n ? t->groups.v[g + 1].first : t->funcs.n;
}

/* The greatest end of the sized functions of a group; its start if there are none. */
static uint64_t group_reach(const struct functab *t, size_t g)
{
	uint64_t reach = t->groups.v[g].start;
	size_t i;

	for (i = t->groups.v[g].first; i < group_end(t, g); i++)
		if (!(t->funcs.v[i].flags & FUNC_SIZELESS) && t->funcs.v[i].end > reach)
			reach = t->funcs.v[i].end;
	return reach;
}

struct open_group {
	uint64_t end;
	uint32_t group;
};

/* Sets `outer` of all groups. When the last group at or before an address is reached, all earlier
 * groups that cover this address are on the stack of open groups, so following `outer` from there
 * visits them all. */
static int link_groups(struct functab *t)
{
	VEC(struct open_group) open = {0};
	size_t g;

	for (g = 0; g < t->groups.n; g++) {
		struct func_group *group = &t->groups.v[g];
		uint64_t reach = group_reach(t, g);

		while (open.n && open.v[open.n - 1].end <= group->start)
			open.n--;
		group->outer = open.n ? open.v[open.n - 1].group : FUNC_NONE;
		if (reach > group->start &&
		    vec_push(&open, (struct open_group){reach, (uint32_t)g})) {
			vec_done(&open);
			return -1;
		}
	}
	vec_done(&open);
	return 0;
}

int functab_finish(struct functab *t)
{
	size_t i;

	if (sort_funcs(t) || vec_reserve(&t->groups, t->funcs.n))
		return -1;
	t->groups.n = 0;
	for (i = 0; i < t->funcs.n; i++)
		if (!i || t->funcs.v[i].start != t->funcs.v[i - 1].start)
			t->groups.v[t->groups.n++] =
				(struct func_group){t->funcs.v[i].start, (uint32_t)i, FUNC_NONE};
	return link_groups(t);
}

void functab_done(struct functab *t)
{
	vec_done(&t->funcs);
	vec_done(&t->groups);
	arena_done(&t->names);
	*t = (struct functab){0};
}

/* perf's tie break between aliases of the kernel's system calls (tools/perf/util/symbol.c). */
static bool is_syscall_alias(const char *name)
{
	return !strncmp(name, "SyS", 3) || !strncmp(name, "compat_SyS", 10);
}

/* True when b, which was added later, is a better name than a. */
static bool is_better(const struct func *a, const struct func *b)
{
	size_t na, nb;

	/* perf gives the code up to the next symbol to the last of several symbols without size,
	 * and prefers those with a size (symbols__fixup_end(), then symbols__fixup_duplicate()). */
	if (b->flags & FUNC_SIZELESS)
		return true;
	if ((a->flags ^ b->flags) & FUNC_WEAK)
		return a->flags & FUNC_WEAK;
	if ((a->flags ^ b->flags) & FUNC_GLOBAL)
		return b->flags & FUNC_GLOBAL;
	if (a->name == b->name)
		return false;
	na = strspn(a->name, "_");
	nb = strspn(b->name, "_");
	if (na != nb)
		return nb < na;
	na = strlen(a->name);
	nb = strlen(b->name);
	if (na != nb)
		return nb > na;
	return is_syscall_alias(a->name) && !is_syscall_alias(b->name);
}

/* The best function of group g that covers addr: of those with a size (sizeless 0), or without one
 * (FUNC_SIZELESS). */
static const struct func *pick(const struct functab *t, size_t g, uint64_t addr, unsigned sizeless,
			       uint32_t limit)
{
	const struct func *best = NULL;
	size_t i, end = group_end(t, g);

	if (end - t->groups.v[g].first > ALIASES_MAX)
		end = t->groups.v[g].first + ALIASES_MAX;
	for (i = t->groups.v[g].first; i < end; i++) {
		const struct func *f = &t->funcs.v[i];

		if ((f->flags & FUNC_SIZELESS) != sizeless || addr >= f->end || f->tag >= limit)
			continue;
		if (!best || is_better(best, f))
			best = f;
	}
	return best;
}

/* With latest_wins, tags rise within each group: the index of the first function of group g with a
 * tag of at least `limit`. */
static size_t first_at(const struct functab *t, size_t g, uint32_t limit)
{
	size_t lo = t->groups.v[g].first, hi = group_end(t, g);

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->funcs.v[mid].tag < limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The last function of group g with a tag below `limit` that covers addr. */
static const struct func *pick_last(const struct functab *t, size_t g, uint64_t addr,
				    uint32_t limit)
{
	size_t first = t->groups.v[g].first, i = first_at(t, g, limit), steps;

	for (steps = 0; i-- > first && steps < ALIASES_MAX; steps++)
		if (addr < t->funcs.v[i].end)
			return &t->funcs.v[i];
	return NULL;
}

/* The first function of group g with a tag of at least `limit` that covers addr. */
static const struct func *pick_next(const struct functab *t, size_t g, uint64_t addr,
				    uint32_t limit)
{
	size_t i = first_at(t, g, limit), end = group_end(t, g), steps;

	for (steps = 0; i < end && steps < ALIASES_MAX; i++, steps++)
		if (addr < t->funcs.v[i].end)
			return &t->funcs.v[i];
	return NULL;
}

static const struct func *find_latest(const struct functab *t, size_t g, uint64_t addr,
				      uint32_t limit)
{
	const struct func *best = NULL, *f;
	unsigned hops;

	for (hops = 0; hops < NESTING_MAX && g != FUNC_NONE; hops++) {
		f = pick_last(t, g, addr, limit);
		if (f && (!best || f->tag > best->tag))
			best = f;
		g = t->groups.v[g].outer;
	}
	return best;
}

/* The last group that starts at or before addr; groups.n if there is none. Doubles its steps from
 * the cursor on, then bisects. */
static size_t seek(const struct functab *t, uint64_t addr, struct func_cursor *cursor)
{
	const struct func_group *v = t->groups.v;
	size_t n = t->groups.n, lo = 0, hi = n, step = 1;

	if (!n || addr < v[0].start)
		return n;
	if (cursor->group < n && v[cursor->group].start <= addr) {
		lo = cursor->group;
		while (lo + step < n && v[lo + step].start <= addr) {
			lo += step;
			step *= 2;
		}
		hi = lo + step < n ? lo + step : n;
	}
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (v[mid].start <= addr)
			lo = mid;
		else
			hi = mid;
	}
	cursor->group = lo;
	return lo;
}

const struct func *functab_find_before(const struct functab *t, uint64_t addr, uint32_t limit,
				       struct func_cursor *cursor)
{
	size_t last = seek(t, addr, cursor), g = last;
	unsigned hops;

	if (last == t->groups.n)
		return NULL;
	if (t->latest_wins)
		return find_latest(t, g, addr, limit);
	for (hops = 0; hops < NESTING_MAX && g != FUNC_NONE; hops++) {
		const struct func *f = pick(t, g, addr, 0, limit);

		if (f)
			return f;
		g = t->groups.v[g].outer;
	}
	return pick(t, last, addr, FUNC_SIZELESS, limit);
}

const struct func *functab_find_next(const struct functab *t, uint64_t addr, uint32_t limit,
				     struct func_cursor *cursor)
{
	size_t g = seek(t, addr, cursor);
	const struct func *best = NULL, *f;
	unsigned hops;

	if (g == t->groups.n)
		return NULL;
	for (hops = 0; hops < NESTING_MAX && g != FUNC_NONE; hops++) {
		f = pick_next(t, g, addr, limit);
		if (f && (!best || f->tag < best->tag))
			best = f;
		g = t->groups.v[g].outer;
	}
	return best;
}

const struct func *functab_find(const struct functab *t, uint64_t addr, struct func_cursor *cursor)
{
	return functab_find_before(t, addr, FUNC_TAG_MAX + 1, cursor);
}

size_t functab_covering(const struct functab *t, uint64_t addr, const struct func **found,
			size_t max)
{
	struct func_cursor cursor = {0};
	size_t g = seek(t, addr, &cursor), n = 0, i;
	unsigned hops;

	if (g == t->groups.n)
		return 0;
	for (hops = 0; hops < NESTING_MAX && g != FUNC_NONE; hops++) {
		for (i = t->groups.v[g].first; i < group_end(t, g) && n < max; i++)
			if (addr < t->funcs.v[i].end)
				found[n++] = &t->funcs.v[i];
		g = t->groups.v[g].outer;
	}
	return n;
}

size_t functab_aliases(const struct functab *t, const struct func *f, const struct func **aliases,
		       size_t max)
{
	size_t first = (size_t)(f - t->funcs.v), last = first, n = 0;

	while (first && t->funcs.v[first - 1].start == f->start && last - first < ALIASES_MAX)
		first--;
	for (; n < max && first < t->funcs.n && t->funcs.v[first].start == f->start; first++) {
		const struct func *g = &t->funcs.v[first];

		if (g->end == f->end && !((g->flags ^ f->flags) & FUNC_SIZELESS))
			aliases[n++] = g;
	}
	return n;
}
