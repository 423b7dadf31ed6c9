/* unit_lookup.c - finds units by the ranges of their root DIEs, else by .debug_aranges. */
#include "dwarf/unit_lookup.h"

#include <stdlib.h>

#include "base/err.h"
#include "dwarf/ranges.h"

/* Limit on units tried for an address that the first unit does not resolve. */
enum { TRIES_MAX = 4 };

/* ---- claims ------------------------------------------------------------------------------ */

static int add_claim(struct dwarf_unit_lookup *h, uint32_t unit, uint64_t lo, uint64_t hi)
{
	const struct dwarf_filter *f = h->filter;
	struct dwarf_claim c = {.unit = unit};

	if (!dwarf_filter_code(f, lo, &hi))
		return 0;
	if (!f->addrs) /* everything is wanted: one address stands for all */
		return vec_push(&h->claims, (struct dwarf_claim){unit, 0, 0}) ? -ERR_NOMEM : 0;
	c.first = dwarf_filter_first(f, lo);
	c.end = dwarf_filter_first(f, hi);
	if (c.first == c.end)
		return 0;
	return vec_push(&h->claims, c) ? -ERR_NOMEM : 0;
}

/* Linked units do not share range lists, so all lists together are no longer than the sections. */
static uint64_t ranges_budget(const struct dwarf_file *f)
{
	return f->n_units + f->sec[DWARF_RANGES].size + f->sec[DWARF_RNGLISTS].size;
}

static bool may_have_code(const struct dwarf_cu *cu)
{
	return cu->dwo_name || cu->abbrevs->has_code;
}

static bool may_claim(const struct dwarf_cu *cu)
{
	const uint8_t type = cu->unit->type;

	return (type == DW_UT_compile || type == DW_UT_skeleton) &&
	       cu->root->tag != DW_TAG_partial_unit;
}

static int read_unit(struct dwarf_unit_lookup *h, uint32_t unit, uint64_t *budget)
{
	const struct dwarf_unit *u = &h->file->units[unit];
	struct dwarf_range_iter it;
	struct dwarf_cu cu;
	uint64_t lo, hi;
	bool any = false;
	int rc;

	rc = dwarf_cu_open(&cu, h->file, u);
	h->n_damaged += rc > 0;
	if (rc)
		return rc < 0 ? rc : 0;
	if (cu.has_stmt_list && vec_push(&h->line_tables, cu.stmt_list))
		return -ERR_NOMEM;
	if (!may_claim(&cu))
		return 0;
	dwarf_range_iter_init(&it, &cu, cu.low_pc, cu.high_pc, cu.ranges);
	while (dwarf_range_next(&it, budget, &lo, &hi)) {
		any = true;
		rc = add_claim(h, unit, lo, hi);
		if (rc)
			return rc;
	}
	if ((!any || h->file->is_bolted) && may_have_code(&cu) && vec_push(&h->rangeless, unit))
		return -ERR_NOMEM;
	return 0;
}

enum dwarf_code_claim dwarf_unit_lookup_claim(const struct dwarf_cu *cu,
					      const struct dwarf_filter *filter, uint64_t *budget)
{
	enum dwarf_code_claim claim = DWARF_CODE_NONE;
	struct dwarf_range_iter it;
	uint64_t lo, hi;
	bool any = false;

	if (!may_claim(cu))
		return DWARF_CODE_ELSEWHERE;
	dwarf_range_iter_init(&it, cu, cu->low_pc, cu->high_pc, cu->ranges);
	while (claim != DWARF_CODE_WANTED && dwarf_range_next(&it, budget, &lo, &hi)) {
		any = true;
		if (dwarf_filter_code(filter, lo, &hi))
			claim = dwarf_filter_wants(filter, lo, hi) ? DWARF_CODE_WANTED
								   : DWARF_CODE_OTHER;
	}
	if (claim != DWARF_CODE_WANTED && (!any || cu->file->is_bolted) && may_have_code(cu))
		return DWARF_CODE_MAYBE;
	return claim;
}

/* ---- addresses without a unit ------------------------------------------------------------- */

/* Makes a table in which next[i] leads to the first index >= i of an address that may still get a
 * unit: at first i itself. Index filter->n always remains. */
static size_t *all_free(const struct dwarf_filter *filter)
{
	size_t *next = malloc((filter->n + 1) * sizeof *next), i;

	for (i = 0; next && i <= filter->n; i++)
		next[i] = i;
	return next;
}

static size_t next_free(size_t *next, size_t i)
{
	size_t end = i, step;

	while (next[end] != end)
		end = next[end];
	for (; i != end; i = step) {
		step = next[i];
		next[i] = end;
	}
	return end;
}

/* ---- .debug_aranges (DWARF5 6.1.2) --------------------------------------------------------- */

/* The ranges of one unit. */
struct range_set {
	uint64_t info_off; /* offset of the unit, not checked */
	uint8_t addr_size;
	struct buf pairs;
};

/* Returns false if the header is unknown. `header_at`: bytes of the length field before it. */
static bool read_set_header(struct range_set *set, uint8_t off_size, size_t header_at)
{
	struct buf *b = &set->pairs;
	size_t odd;

	if (buf_u16(b) != 2)
		return false;
	set->info_off = off_size == 8 ? buf_u64(b) : buf_u32(b);
	set->addr_size = buf_u8(b);
	if (buf_u8(b) || (set->addr_size != 4 && set->addr_size != 8))
		return false;
	/* Pairs are aligned to their size, relative to the begin of the header. */
	odd = ((size_t)(b->p - b->data) + header_at) % (2u * set->addr_size);
	buf_skip(b, odd ? 2u * set->addr_size - odd : 0);
	return buf_ok(b);
}

/* Reads the next set of the section. Returns false if there is none. */
static bool next_set(struct buf *section, struct range_set *ret)
{
	while (buf_left(section)) {
		uint64_t length = buf_u32(section);
		uint8_t off_size = length == 0xffffffff ? 8 : 4;

		if (off_size == 8)
			length = buf_u64(section);
		ret->pairs = buf_sub(section, length);
		if (!buf_ok(&ret->pairs))
			return false;
		if (read_set_header(ret, off_size, off_size == 8 ? 12 : 4))
			return true;
	}
	return false;
}

/* Reads the next range of a set that is not empty. Returns false if there is none. */
static bool next_range(struct range_set *set, uint64_t *lo, uint64_t *hi)
{
	struct buf *b = &set->pairs;

	while (buf_left(b)) {
		uint64_t size;

		*lo = set->addr_size == 8 ? buf_u64(b) : buf_u32(b);
		size = set->addr_size == 8 ? buf_u64(b) : buf_u32(b);
		*hi = *lo + size;
		if (!buf_ok(b))
			return false;
		if (*hi > *lo)
			return true;
	}
	return false;
}

static bool is_rangeless(const struct dwarf_unit_lookup *h, uint32_t unit)
{
	size_t lo = 0, hi = h->rangeless.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->rangeless.v[mid] < unit)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->rangeless.n && h->rangeless.v[lo] == unit;
}

static int read_aranges(struct dwarf_unit_lookup *h)
{
	const struct dwarf_file *f = h->file;
	struct buf b = dwarf_slice_at(&f->sec[DWARF_ARANGES], 0, f->swap);
	struct range_set set;
	uint64_t lo, hi;
	int rc = 0;

	while (!rc && next_set(&b, &set)) {
		const struct dwarf_unit *u = dwarf_file_unit_at(f, set.info_off);
		uint32_t unit = u ? (uint32_t)(u - f->units) : 0;

		if (!u || !is_rangeless(h, unit))
			continue;
		while (!rc && next_range(&set, &lo, &hi))
			rc = add_claim(h, unit, lo, hi);
	}
	return rc;
}

/* Takes the wanted addresses of a range that no earlier range contained. Returns true if there was
 * one. */
static bool take_range(const struct dwarf_filter *filter, size_t *next, uint64_t lo, uint64_t hi)
{
	bool any = false;
	size_t i;

	if (!dwarf_filter_code(filter, lo, &hi))
		return false;
	if (!filter->addrs)
		return true;
	for (i = next_free(next, dwarf_filter_first(filter, lo));
	     i < filter->n && filter->addrs[i] < hi; i = next_free(next, i)) {
		next[i] = i + 1;
		any = true;
	}
	return any;
}

static bool take_set(const struct dwarf_filter *filter, size_t *next, struct range_set *set)
{
	bool any = false;
	uint64_t lo, hi;

	while (next_range(set, &lo, &hi))
		any |= take_range(filter, next, lo, hi);
	return any;
}

/* This assumes that a unit ends where the next one with a set begins; units without code have no
 * set. */
bool dwarf_unit_lookup_estimate(const struct dwarf_file *f, uint64_t info_size,
				const struct dwarf_filter *filter, uint64_t *ret)
{
	struct buf b = dwarf_slice_at(&f->sec[DWARF_ARANGES], 0, f->swap);
	size_t *next = all_free(filter);
	struct range_set set;
	uint64_t last = 0, taken = 0;
	bool any = false, wanted = false, rising = next != NULL;

	while (rising && next_set(&b, &set)) {
		rising = set.info_off >= last && set.info_off < info_size;
		taken += wanted ? set.info_off - last : 0;
		last = set.info_off;
		wanted = take_set(filter, next, &set);
		any = true;
	}
	free(next);
	*ret = taken + (wanted ? info_size - last : 0);
	return any && rising;
}

static int claim_cmp(const void *a, const void *b)
{
	const struct dwarf_claim *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int add_orphans(struct dwarf_unit_lookup *h)
{
	size_t i;
	int rc = dwarf_line_orphans_find(h->file, &h->line_tables);

	for (i = 0; !rc && i < h->file->n_orphans; i++)
		rc = vec_push(&h->rangeless, (uint32_t)(h->file->n_units + i)) ? -ERR_NOMEM : 0;
	if (!rc)
		h->taken = calloc(h->file->n_units + h->file->n_orphans + 1, sizeof *h->taken);
	return !rc && !h->taken ? -ERR_NOMEM : rc;
}

int dwarf_unit_lookup_open(struct dwarf_unit_lookup *h, struct dwarf_file *f,
			   const struct dwarf_filter *filter)
{
	uint64_t budget = ranges_budget(f);
	size_t i;
	int rc = 0;

	*h = (struct dwarf_unit_lookup){.file = f, .filter = filter};
	for (i = 0; !rc && i < f->n_units && i < UINT32_MAX; i++)
		rc = read_unit(h, (uint32_t)i, &budget);
	if (!rc && h->rangeless.n) {
		rc = read_aranges(h);
		if (h->claims.n)
			qsort(h->claims.v, h->claims.n, sizeof *h->claims.v, claim_cmp);
	}
	if (!rc)
		rc = add_orphans(h);
	if (rc)
		dwarf_unit_lookup_close(h);
	return rc;
}

void dwarf_unit_lookup_close(struct dwarf_unit_lookup *h)
{
	vec_done(&h->claims);
	vec_done(&h->rangeless);
	vec_done(&h->line_tables);
	free(h->taken);
	*h = (struct dwarf_unit_lookup){0};
}

/* ---- giving out units -------------------------------------------------------------------- */

static int take(struct dwarf_unit_lookup *h, uint32_t unit, struct dwarf_jobs *jobs)
{
	if (h->taken[unit])
		return 0;
	h->taken[unit] = true;
	return vec_push(jobs, unit) ? -ERR_NOMEM : 0;
}

/* Gives each address that is not done up to `tries` units that claim it, in the order of the units.
 * The work is limited to claims + tries * addresses, however much the claims overlap. */
static int assign(struct dwarf_unit_lookup *h, const bool *done, unsigned tries,
		  struct dwarf_jobs *jobs)
{
	size_t n = h->filter->n, i, a;
	size_t *next = all_free(h->filter);
	uint8_t *tried = calloc(n + 1, 1);
	int rc = next && tried ? 0 : -ERR_NOMEM;

	for (i = 0; !rc && done && i < n; i++)
		next[i] += done[i];
	for (i = 0; !rc && i < h->claims.n; i++) {
		const struct dwarf_claim *c = &h->claims.v[i];

		if (done && h->taken[c->unit])
			continue;
		for (a = next_free(next, c->first); a < c->end; a = next_free(next, a + 1)) {
			if (++tried[a] == tries)
				next[a] = a + 1;
			rc = take(h, c->unit, jobs);
			if (rc)
				break;
		}
	}
	free(next);
	free(tried);
	return rc;
}

int dwarf_unit_lookup_first(struct dwarf_unit_lookup *h, struct dwarf_jobs *jobs)
{
	size_t i;
	int rc = 0;

	if (h->filter->addrs)
		return assign(h, NULL, 1, jobs);
	for (i = 0; !rc && i < h->claims.n; i++)
		rc = take(h, h->claims.v[i].unit, jobs);
	for (i = 0; !rc && i < h->rangeless.n; i++)
		rc = take(h, h->rangeless.v[i], jobs);
	return rc;
}

int dwarf_unit_lookup_more(struct dwarf_unit_lookup *h, const bool *resolved,
			   struct dwarf_jobs *jobs)
{
	size_t i = 0;
	int rc;

	while (i < h->filter->n && resolved[i])
		i++;
	if (i == h->filter->n)
		return 0;
	rc = assign(h, resolved, TRIES_MAX, jobs);
	for (i = 0; !rc && i < h->rangeless.n; i++)
		rc = take(h, h->rangeless.v[i], jobs);
	return rc;
}
