/* store.c - reads and adds to the cache file of one module. */
#include "dwarf/store.h"

#include "base/err.h"
#include "base/vec.h"
#include "dwarf/table_subset.h"

/* Limit on the addresses whose answers are saved; a module that more addresses are looked up in
 * becomes complete soon. */
enum { ANSWERS_MAX = 1 << 20 };

static int collect_asked(struct dwarf_store *s, const struct dwarf_filter *filter)
{
	uint64_t hi, last = 0;
	size_t i;

	if (vec_reserve(&s->asked, filter->n + 1))
		return -ERR_NOMEM;
	for (i = 0; i < filter->n; i++) {
		hi = UINT64_MAX;
		if (s->asked.n && filter->addrs[i] == last)
			continue;
		last = filter->addrs[i];
		if (dwarf_filter_code(filter, last, &hi))
			s->asked.v[s->asked.n++] = last;
	}
	return 0;
}

/* Collects the wanted addresses that the file does not know. Those that it knows are looked up
 * again later. */
static int collect_unknown(struct dwarf_store *s)
{
	struct dwarf_place place;
	size_t i;

	if (vec_reserve(&s->unknown, s->asked.n + 1))
		return -ERR_NOMEM;
	for (i = 0; i < s->asked.n; i++) {
		dwarf_pack_find(&s->known, &s->asked.v[i], 1, &place);
		if (dwarf_place_is_empty(place))
			s->unknown.v[s->unknown.n++] = s->asked.v[i];
	}
	return 0;
}

int dwarf_store_open(struct dwarf_store *s, const struct dwarf_cache *cache, struct elf_image *img,
		     struct elf_image *alt, const struct dwarf_filter *filter)
{
	*s = (struct dwarf_store){.cache = cache};
	dwarf_cache_key(img, alt, &s->key);
	if (filter->addrs)
		dwarf_cache_open(cache, &s->key, &s->known);
	if (s->known.h.extent.complete)
		return 0;
	if (collect_asked(s, filter) || collect_unknown(s))
		return -ERR_NOMEM;
	if (!s->known.damaged)
		return 0;
	/* A damaged file is treated as absent. */
	dwarf_cache_close(&s->known);
	s->unknown.n = 0;
	return collect_unknown(s);
}

void dwarf_store_close(struct dwarf_store *s)
{
	dwarf_cache_close(&s->known);
	vec_done(&s->asked);
	vec_done(&s->unknown);
	s->cache = NULL;
}

bool dwarf_store_wants_all(const struct dwarf_store *s, uint64_t bytes, uint64_t all_bytes)
{
	const uint64_t spent = s->known.h.extent.spent_bytes;

	if (!s->cache || !bytes)
		return false;
	return all_bytes <= s->cache->whole_bytes || bytes + bytes / 3 >= all_bytes ||
	       (spent && spent + bytes >= all_bytes);
}

/* ---- saving ------------------------------------------------------------------------------ */

/* The file as it is now: another run may have written it. */
struct kept {
	struct pack_file file; /* closed: there is no usable file */
	struct pack_addrs addrs;
};

static void close_kept(struct kept *k)
{
	vec_done(&k->addrs);
	dwarf_cache_close(&k->file);
}

static int open_kept(const struct dwarf_store *s, struct kept *k)
{
	int rc = 0;

	*k = (struct kept){.addrs = {0}};
	if (dwarf_cache_open(s->cache, &s->key, &k->file) && !k->file.h.extent.complete)
		rc = dwarf_pack_addrs(&k->file, &k->addrs);
	/* Addresses without the file's answers would be saved as known to have none. */
	if (k->file.damaged || k->addrs.n > ANSWERS_MAX)
		k->addrs.n = 0;
	if (k->file.damaged)
		dwarf_cache_close(&k->file);
	return rc;
}

static int merge_addrs(struct pack_addrs *ret, const struct pack_addrs *a,
		       const struct pack_addrs *b)
{
	size_t i = 0, k = 0;

	if (vec_reserve(ret, a->n + b->n + 1))
		return -ERR_NOMEM;
	while (i < a->n || k < b->n) {
		uint64_t next = k == b->n || (i < a->n && a->v[i] < b->v[k]) ? a->v[i] : b->v[k];

		ret->v[ret->n++] = next;
		while (i < a->n && a->v[i] <= next)
			i++;
		while (k < b->n && b->v[k] <= next)
			k++;
	}
	return 0;
}

/* Returns false if the table is too large to be saved. */
static bool publish(const struct dwarf_store *s, struct dwarf_table *t,
		    const struct pack_extent *extent)
{
	struct pack_bytes bytes = {0};
	bool fits = !dwarf_pack(t, &s->key, extent, &bytes) &&
		    dwarf_cache_publish(s->cache, &s->key, &bytes);

	vec_done(&bytes);
	return fits;
}

static void save_answers(struct dwarf_store *s, struct dwarf_table *compiled, struct kept *k,
			 uint64_t spent_bytes)
{
	const struct dwarf_table_view from[SUBSET_FROM_MAX] = {
		{.file = &k->file}, {.file = &s->known}, {&compiled->code, compiled}};
	struct pack_extent extent = {.spent_bytes = spent_bytes};
	struct dwarf_table answers = {0};
	struct pack_addrs all = {0};

	if (!merge_addrs(&all, &k->addrs, &s->asked) && all.n &&
	    !dwarf_table_subset(&answers, all.v, all.n, from) && !k->file.damaged &&
	    !s->known.damaged)
		publish(s, &answers, &extent);
	dwarf_table_done(&answers);
	vec_done(&all);
}

void dwarf_store_save(struct dwarf_store *s, struct dwarf_table *compiled, uint64_t bytes,
		      bool complete)
{
	struct pack_extent all = {.spent_bytes = bytes, .complete = 1};
	struct kept k;

	if (complete && publish(s, compiled, &all))
		return;
	/* A table that is too large to be saved as a whole would be compiled as a whole in each
	 * later run; so the count of compiled bytes starts again. */
	if (!open_kept(s, &k) && !k.file.h.extent.complete)
		save_answers(s, compiled, &k, complete ? 0 : k.file.h.extent.spent_bytes + bytes);
	close_kept(&k);
}
