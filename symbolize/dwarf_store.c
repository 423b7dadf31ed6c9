/* dwarf_store.c - reads and adds to the cache file of one module. */
#include "symbolize/dwarf_store.h"

#include "symbolize/dwarf_answers.h"

/* Answers of so many addresses are kept; a module that more is asked of gets complete soon. */
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

static int all_unknown(struct dwarf_store *s)
{
	s->unknown.n = 0;
	if (vec_reserve(&s->unknown, s->asked.n + 1))
		return -ERR_NOMEM;
	if (s->asked.n)
		memcpy(s->unknown.v, s->asked.v, s->asked.n * sizeof *s->asked.v);
	s->unknown.n = s->asked.n;
	return 0;
}

int dwarf_store_open(struct dwarf_store *s, const struct dwarf_cache *cache, struct elf_image *img,
		     struct elf_image *alt, const struct dwarf_filter *filter)
{
	struct cache_map m;
	int rc = 1;

	*s = (struct dwarf_store){.cache = cache};
	dwarf_cache_key(img, alt, &s->key);
	if (collect_asked(s, filter))
		return -ERR_NOMEM;
	if (filter->addrs && dwarf_cache_map(cache, &s->key, &m)) {
		s->spent_bytes = m.file.h->extent.spent_bytes;
		rc = dwarf_unpack(&s->known, &s->strings, &m.file, s->asked.v, s->asked.n,
				  &s->unknown);
		dwarf_cache_unmap(&m);
	}
	/* A damaged file is one that is not there. */
	return rc > 0 ? all_unknown(s) : rc;
}

void dwarf_store_close(struct dwarf_store *s)
{
	dwarf_table_done(&s->known);
	arena_done(&s->strings);
	vec_done(&s->asked);
	vec_done(&s->unknown);
	s->cache = NULL;
}

bool dwarf_store_wants_all(const struct dwarf_store *s, uint64_t bytes, uint64_t all_bytes)
{
	return s->cache && s->spent_bytes && s->spent_bytes + bytes >= all_bytes;
}

/* ---- saving ------------------------------------------------------------------------------ */

/* What the file has by now: another run may have written it. */
struct kept {
	struct pack_addrs addrs;
	struct dwarf_table table;
	struct arena strings;
	uint64_t spent_bytes;
	bool complete;
};

static void close_kept(struct kept *k)
{
	vec_done(&k->addrs);
	dwarf_table_done(&k->table);
	arena_done(&k->strings);
}

static int open_kept(const struct dwarf_store *s, struct kept *k)
{
	struct pack_addrs unknown = {0};
	struct cache_map m;
	int rc;

	*k = (struct kept){.complete = false};
	if (!dwarf_cache_map(s->cache, &s->key, &m))
		return 0;
	k->complete = m.file.h->extent.complete;
	k->spent_bytes = m.file.h->extent.spent_bytes;
	rc = k->complete ? 0 : dwarf_unpack_addrs(&m.file, &k->addrs);
	if (!rc && !k->complete && k->addrs.n <= ANSWERS_MAX)
		rc = dwarf_unpack(&k->table, &k->strings, &m.file, k->addrs.v, k->addrs.n,
				  &unknown);
	else
		k->addrs.n = 0;
	dwarf_cache_unmap(&m);
	vec_done(&unknown);
	if (!rc)
		return 0;
	close_kept(k);
	*k = (struct kept){.complete = false};
	return rc < 0 ? rc : 0;
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

/* False: it is too large to be kept. */
static bool publish(const struct dwarf_store *s, const struct dwarf_table *t,
		    const struct pack_extent *extent)
{
	struct pack_bytes bytes = {0};
	bool fits = !dwarf_pack(t, &s->key, extent, &bytes) &&
		    dwarf_cache_publish(s->cache, &s->key, &bytes);

	vec_done(&bytes);
	return fits;
}

static void save_answers(const struct dwarf_store *s, const struct dwarf_table *compiled,
			 const struct kept *k, uint64_t spent_bytes)
{
	const struct dwarf_table *const from[ANSWERS_FROM_MAX] = {&k->table, &s->known, compiled};
	struct pack_extent extent = {.spent_bytes = spent_bytes};
	struct dwarf_table answers = {0};
	struct pack_addrs all = {0};

	if (!merge_addrs(&all, &k->addrs, &s->asked) && all.n &&
	    !dwarf_answers_build(&answers, all.v, all.n, from))
		publish(s, &answers, &extent);
	dwarf_table_done(&answers);
	vec_done(&all);
}

void dwarf_store_save(struct dwarf_store *s, const struct dwarf_table *compiled, uint64_t bytes,
		      bool complete)
{
	struct pack_extent all = {.spent_bytes = bytes, .complete = 1};
	struct kept k;

	if ((complete && publish(s, compiled, &all)) || open_kept(s, &k))
		return;
	/* What is too large as a whole would be compiled as a whole in each run from now on: the
	 * counting begins again. */
	if (!k.complete)
		save_answers(s, compiled, &k, complete ? 0 : k.spent_bytes + bytes);
	close_kept(&k);
}
