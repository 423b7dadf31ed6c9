/* hotspot_counters.c - what code of a JVM can have come and gone unseen, by the counters that it
 * keeps for jstat: how many methods it has compiled, and how many classes unloaded.
 *
 * Sources of truth: runtime/perfMemory.hpp (the prologue, then entries, each with a name and, of
 * one that is no vector, a 64-bit number), services/classLoadingService.cpp,
 * compiler/compileBroker.cpp (collect_statistics() counts a method just after its code was
 * installed). -XX:-UsePerfData: none. */
#include <string.h>
#include <unistd.h>

#include "runtimes/hotspot.h"

enum { ENTRIES_MAX = 4096, ENTRY_BYTES_MAX = 1 << 20 };

enum { UNLOADED, SHARED_UNLOADED, COMPILED };

static const char *const names[HOTSPOT_COUNTERS] = {
	[UNLOADED] = "java.cls.unloadedClasses",
	[SHARED_UNLOADED] = "java.cls.sharedUnloadedClasses",
	[COMPILED] = "sun.ci.totalCompiles",
};

/* Notes where the number is if the entry is one of them. */
static void look_at_entry(struct hotspot *h, uint64_t entry)
{
	uint32_t name, data;
	char text[64];

	if (!hotspot_u32(h, entry, AT_ENTRY_NAME, &name) ||
	    !hotspot_u32(h, entry, AT_ENTRY_DATA, &data) || name > ENTRY_BYTES_MAX ||
	    data > ENTRY_BYTES_MAX || !remote_text(&h->mem, entry + name, text, sizeof text))
		return;
	for (size_t i = 0; i < HOTSPOT_COUNTERS; i++)
		if (!strcmp(text, names[i]))
			h->counters[i] = entry + data;
}

static bool has_counters(const struct hotspot *h)
{
	for (size_t i = 0; i < HOTSPOT_COUNTERS; i++)
		if (!h->counters[i])
			return false;
	return true;
}

static void find_counters(struct hotspot *h)
{
	uint64_t start, at;
	uint32_t first, n, length;

	if (!hotspot_has(h, AT_PERF_START) || !remote_u64(&h->mem, h->at[AT_PERF_START], &start) ||
	    !start || !hotspot_u32(h, start, AT_PERF_FIRST, &first) ||
	    !hotspot_u32(h, start, AT_PERF_N, &n) || first > ENTRY_BYTES_MAX)
		return;
	at = start + first;
	for (uint32_t i = 0; i < n && i < ENTRIES_MAX && !has_counters(h); i++) {
		if (!hotspot_u32(h, at, AT_ENTRY_LENGTH, &length) || !length ||
		    length > ENTRY_BYTES_MAX)
			return;
		look_at_entry(h, at);
		at += length;
	}
}

/* Past the cache. */
static bool read_counter(const struct hotspot *h, size_t i, uint64_t *ret)
{
	return h->counters[i] &&
	       pread(h->mem.fd, ret, sizeof *ret, (off_t)h->counters[i]) == sizeof *ret;
}

static bool count_unloaded(const struct hotspot *h, uint64_t *ret)
{
	uint64_t shared;

	if (!read_counter(h, UNLOADED, ret) || !read_counter(h, SHARED_UNLOADED, &shared))
		return false;
	*ret += shared;
	return true;
}

void hotspot_counters_begin(struct hotspot *h)
{
	if (!has_counters(h))
		find_counters(h);
	h->unloads_before = h->unloads;
	h->unloads.is_known = count_unloaded(h, &h->unloads.n);
	if (h->unloads.is_known && h->unloads_before.is_known)
		h->may_lose_code |= h->unloads.n != h->unloads_before.n;
	h->knows_compiled =
		hotspot_has(h, AT_NM_ID) && read_counter(h, COMPILED, &h->began_compiled);
}

int hotspot_saw_compiled(struct hotspot *h, uint32_t id)
{
	if (hash_get(&h->ids, id) != HASH_NONE)
		return 0;
	h->n_ids++;
	return hash_put(&h->ids, id, 0);
}

/* Each method that was compiled until now was seen, or was gone before the snapshot before began,
 * or may be what is asked for. Of those that were gone then there were at least as many as had been
 * compiled when a snapshot began, and were neither seen by it nor left out. Wrappers of native
 * methods are not counted: they go only with their class. */
static bool has_seen_all(struct hotspot *h, uint64_t torn, bool is_whole)
{
	const int64_t seen = (int64_t)h->n_ids;
	const int64_t gone = (int64_t)h->began_compiled - seen - (int64_t)torn;
	uint64_t compiled = 0;
	bool ret;

	if (!h->knows_compiled || !is_whole || !read_counter(h, COMPILED, &compiled))
		return false;
	ret = h->knows_gone && (int64_t)compiled - seen <= h->gone_least;
	if (!h->knows_gone || gone > h->gone_least)
		h->gone_least = gone;
	h->knows_gone = true;
	return ret;
}

/* Code is freed when its class is unloaded, or when it is not used any more and after that looked
 * at by a sweeper or garbage collections: where that was never seen it is taken not to happen. */
bool hotspot_may_have_missed(struct hotspot *h, uint64_t torn, bool is_whole)
{
	uint64_t n = 0;

	if (has_seen_all(h, torn, is_whole))
		return false;
	if (!h->unloads_before.is_known || !count_unloaded(h, &n))
		return h->has_freed || h->has_unloaded;
	h->may_lose_code |= n != h->unloads_before.n;
	return h->has_freed || n != h->unloads_before.n;
}

bool hotspot_may_lose_code(const struct hotspot *h)
{
	return h->has_freed || (h->unloads.is_known ? h->may_lose_code : h->has_unloaded);
}
