/* fuzz_dwarf_cache.c - libFuzzer target: a cache file of compiled DWARF.
 *
 * Its hashes are made right before it is read, so that changes get to where only the checks of
 * every number help. */
#include <string.h>

#include "base/hash.h"
#include "symbolize/dwarf_pack.h"
#include "tests/fuzz.h"

enum { ADDRESSES = 300 };

static bool in_file(const struct pack_header *h, enum pack_part part, size_t size)
{
	return !(h->part[part].off % 8) && h->part[part].off >= sizeof *h &&
	       h->part[part].off <= size && h->part[part].size <= size - h->part[part].off;
}

static uint32_t hash_of(const uint8_t *data, const struct pack_header *h, enum pack_part part,
			uint32_t off, uint32_t end)
{
	if (off > end || end > h->part[part].size)
		return 0;
	return (uint32_t)hash_bytes(data + h->part[part].off + off, end - off);
}

static void fix_hashes(uint8_t *data, size_t size)
{
	struct pack_header *h = (struct pack_header *)(void *)data;
	size_t i;

	for (i = 0; i < PACK_PART_N; i++)
		if (!in_file(h, (enum pack_part)i, size))
			break;
	if (i < PACK_PART_N) {
		h->hash = hash_bytes(h, offsetof(struct pack_header, hash));
		return;
	}
	for (i = 0; (i + 2) * sizeof(struct pack_seg_chunk) <= h->part[PACK_SEG_DIR].size; i++) {
		struct pack_seg_chunk *c =
			(struct pack_seg_chunk *)(void *)(data + h->part[PACK_SEG_DIR].off) + i;

		c->hash = hash_of(data, h, PACK_SEGS, c->off, c[1].off);
	}
	for (i = 0; (i + 2) * sizeof(struct pack_node_chunk) <= h->part[PACK_NODE_DIR].size; i++) {
		struct pack_node_chunk *c =
			(struct pack_node_chunk *)(void *)(data + h->part[PACK_NODE_DIR].off) + i;

		c->hash = hash_of(data, h, PACK_NODES, c->off, c[1].off);
	}
	h->table_hash = dwarf_pack_table_hash(data);
	h->hash = hash_bytes(h, offsetof(struct pack_header, hash));
}

static size_t read_all(const struct dwarf_table *t, const uint64_t *addrs)
{
	size_t total = 0, i;

	for (i = 0; i < ADDRESSES; i++) {
		struct dwarf_place p = dwarf_table_find(t, addrs[i]);

		total += t->files.v[p.file] ? strlen(t->files.v[p.file]) : 0;
		for (; p.node; p.node = t->nodes[p.node].parent) {
			const struct dwarf_node *n = &t->nodes[p.node];
			const struct dwarf_func *f = &t->funcs[n->func];

			total += f->name ? strlen(f->name) : 0;
			total += f->linkage_name ? strlen(f->linkage_name) : 0;
			total += t->files.v[n->call_file] ? strlen(t->files.v[n->call_file]) : 0;
		}
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_table t = {0};
	struct arena strings = {0};
	uint64_t addrs[ADDRESSES];
	struct pack_header *h;
	struct pack_key key;
	uint8_t *copy;

	if (size < sizeof *h)
		return 0;
	copy = malloc(size);
	FUZZ_CHECK(copy);
	memcpy(copy, data, size);
	h = (struct pack_header *)(void *)copy;
	/* Nothing to find where values are compared as they are. */
	memcpy(h->magic, PACK_MAGIC, sizeof h->magic);
	h->version = PACK_VERSION;
	h->order = PACK_ORDER;
	key = h->key;
	fix_hashes(copy, size);
	for (size_t i = 0; i < ADDRESSES; i++)
		addrs[i] = h->base + i * 7;
	if (!dwarf_unpack(&t, &strings, copy, size, &key, addrs, ADDRESSES))
		FUZZ_CHECK(read_all(&t, addrs) < SIZE_MAX);
	dwarf_table_done(&t);
	arena_done(&strings);
	free(copy);
	return 0;
}
