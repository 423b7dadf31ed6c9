/* code_ranges.c - memory with code and without a file. */
#include "capture/code_ranges.h"

#include <string.h>
#include <sys/mman.h>

/* More than any program has; CPython maps 64 KiB at a time. */
enum { RANGES_MAX = 4096 };

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool code_ranges_are(const struct mmap2 *m)
{
	/* Not [stack], which some linkers make executable for functions within functions: it holds
	 * what must not be in a recording (secrets.h, environs.h). */
	static const char *const prefixes[] = {"//anon",
					       "[anon",
					       "[heap]",
					       "/anon_hugepage",
					       "/dev/zero",
					       "/SYSV",
					       "/memfd:doublemapper",
					       "/memfd:vmem",
					       "/memfd:tcg-jit",
					       "/memfd:jit-"};

	if (!(m->prot & PROT_EXEC))
		return false;
	if (!*m->path || m->flags & MAP_HUGETLB)
		return true;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (begins_with(m->path, prefixes[i]))
			return true;
	return false;
}

/* The first range that ends behind `addr`. */
static size_t first_behind(const struct code_ranges *r, uint64_t addr)
{
	size_t lo = 0, hi = r->v.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->v.v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void code_ranges_add(struct code_ranges *r, uint64_t start, uint64_t end)
{
	size_t i = first_behind(r, start ? start - 1 : 0), n = i;

	if (start >= end)
		return;
	/* Those that it touches become one with it. */
	for (; n < r->v.n && r->v.v[n].start <= end; n++) {
		start = r->v.v[n].start < start ? r->v.v[n].start : start;
		end = r->v.v[n].end > end ? r->v.v[n].end : end;
	}
	if (n == i && (r->v.n >= RANGES_MAX || vec_reserve(&r->v, r->v.n + 1)))
		return;
	memmove(r->v.v + i + 1, r->v.v + n, (r->v.n - n) * sizeof *r->v.v);
	r->v.n += 1 + i - n;
	r->v.v[i] = (struct code_range){start, end};
}

const struct code_range *code_ranges_find(const struct code_ranges *r, uint64_t addr)
{
	size_t i;

	if (!r->v.n || addr < r->v.v[0].start || addr >= r->v.v[r->v.n - 1].end)
		return NULL;
	i = first_behind(r, addr);
	return i < r->v.n && r->v.v[i].start <= addr ? &r->v.v[i] : NULL;
}

void code_ranges_copy(struct code_ranges *to, const struct code_ranges *from)
{
	to->v.n = 0;
	if (!from->v.n || vec_reserve(&to->v, from->v.n))
		return;
	memcpy(to->v.v, from->v.v, from->v.n * sizeof *from->v.v);
	to->v.n = from->v.n;
}

void code_ranges_done(struct code_ranges *r)
{
	vec_done(&r->v);
}
