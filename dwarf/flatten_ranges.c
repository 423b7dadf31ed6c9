/* flatten_ranges.c - one pass over sorted ranges with a stack of the open ones. */
#include "dwarf/flatten_ranges.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"

/* Limit on ranges open at one address. Inlining nests some dozens deep, and linkers fold some
 * hundreds of equal functions; beyond the limit the ranges of lowest priority are dropped. */
enum { OPEN_MAX = 1024, INSERTION_MAX = 16 };

static bool before(const struct dwarf_range *a, const struct dwarf_range *b)
{
	return a->lo != b->lo ? a->lo < b->lo : a->priority < b->priority;
}

static void insertion_sort(struct dwarf_range *r, size_t n)
{
	size_t i, k;

	for (i = 1; i < n; i++) {
		struct dwarf_range x = r[i];

		for (k = i; k && before(&x, &r[k - 1]); k--)
			r[k] = r[k - 1];
		r[k] = x;
	}
}

/* Merges the sorted halves [0, mid) and [mid, n). */
static void merge(struct dwarf_range *r, size_t mid, size_t n, struct dwarf_range *scratch)
{
	size_t a = 0, b = mid, to = 0;

	if (!before(&r[mid], &r[mid - 1]))
		return;
	memcpy(scratch, r, mid * sizeof *r);
	while (a < mid)
		r[to++] = b < n && before(&r[b], &scratch[a]) ? r[b++] : scratch[a++];
}

void dwarf_ranges_sort(struct dwarf_range *r, size_t n, struct dwarf_range *scratch)
{
	size_t mid = n / 2;

	if (n <= INSERTION_MAX) {
		insertion_sort(r, n);
		return;
	}
	dwarf_ranges_sort(r, mid, scratch);
	dwarf_ranges_sort(r + mid, n - mid, scratch);
	merge(r, mid, n, scratch);
}

static int emit(struct dwarf_spans *out, uint64_t addr, uint32_t id)
{
	if (out->n && out->v[out->n - 1].addr == addr)
		out->n--;
	if (out->n && out->v[out->n - 1].id == id)
		return 0;
	return vec_push(out, (struct dwarf_span){addr, id});
}

struct open_ranges {
	const struct dwarf_range *v[OPEN_MAX]; /* by priority, the highest last */
	size_t n;
};

static void open_insert(struct open_ranges *o, const struct dwarf_range *r)
{
	size_t k;

	if (o->n == OPEN_MAX)
		memmove(o->v, o->v + 1, --o->n * sizeof *o->v);
	for (k = o->n++; k && o->v[k - 1]->priority > r->priority; k--)
		o->v[k] = o->v[k - 1];
	o->v[k] = r;
}

int dwarf_flatten_ranges(const struct dwarf_range *r, size_t n, struct dwarf_spans *out)
{
	struct open_ranges open;
	uint64_t now;
	size_t i = 0;

	out->n = 0;
	open.n = 0;
	while (i < n || open.n) {
		const struct dwarf_range *top = open.n ? open.v[open.n - 1] : NULL;

		if (top && (i == n || top->hi <= r[i].lo)) {
			now = top->hi;
			while (open.n && open.v[open.n - 1]->hi <= now)
				open.n--;
		} else {
			now = r[i].lo;
			open_insert(&open, &r[i++]);
		}
		if (emit(out, now, open.n ? open.v[open.n - 1]->id : DWARF_NOTHING))
			return -ERR_NOMEM;
	}
	return 0;
}
