/* hotspot_counters.c - how many classes a JVM has unloaded, by the counters that it keeps for
 * jstat.
 *
 * Sources of truth: runtime/perfMemory.hpp (the prologue, then entries, each with a name and, of
 * one that is no vector, a 64-bit number), services/classLoadingService.cpp. -XX:-UsePerfData:
 * none. */
#include <string.h>
#include <unistd.h>

#include "runtimes/hotspot.h"

enum { ENTRIES_MAX = 4096, ENTRY_BYTES_MAX = 1 << 20 };

static const char *const counters[HOTSPOT_UNLOAD_COUNTERS] = {"java.cls.unloadedClasses",
							      "java.cls.sharedUnloadedClasses"};

/* Notes where the number is if the entry is one of them. */
static void look_at_entry(struct hotspot *h, uint64_t entry)
{
	uint32_t name, data;
	char text[64];

	if (!hotspot_u32(h, entry, AT_ENTRY_NAME, &name) ||
	    !hotspot_u32(h, entry, AT_ENTRY_DATA, &data) || name > ENTRY_BYTES_MAX ||
	    data > ENTRY_BYTES_MAX || !remote_text(&h->mem, entry + name, text, sizeof text))
		return;
	for (size_t i = 0; i < HOTSPOT_UNLOAD_COUNTERS; i++)
		if (!strcmp(text, counters[i]))
			h->unload_counters[i] = entry + data;
}

static bool has_counters(const struct hotspot *h)
{
	for (size_t i = 0; i < HOTSPOT_UNLOAD_COUNTERS; i++)
		if (!h->unload_counters[i])
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
bool hotspot_unloads(struct hotspot *h, uint64_t *ret)
{
	uint64_t n;

	*ret = 0;
	if (!has_counters(h))
		find_counters(h);
	if (!has_counters(h))
		return false;
	for (size_t i = 0; i < HOTSPOT_UNLOAD_COUNTERS; i++) {
		if (pread(h->mem.fd, &n, sizeof n, (off_t)h->unload_counters[i]) != sizeof n)
			return false;
		*ret += n;
	}
	return true;
}
