/* fuzz_dwarf_cache.c - libFuzzer target: a cache file of compiled DWARF.
 *
 * Its hashes are made right before it is read, so that changes get to where only the checks of
 * every number help. */
#include <string.h>

#include "base/hash.h"
#include "symbolize/dwarf_answers.h"
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
	return dwarf_pack_chunk_hash(data + h->part[part].off + off, end - off);
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

/* What dwarf_store_save() does with a file of answers: read all of it, pack it again. The same
 * addresses get the same places. */
static void merge(const struct pack_file *f, const struct pack_addrs *all,
		  const struct dwarf_table *t)
{
	const struct dwarf_table *from[ANSWERS_FROM_MAX] = {t, NULL, NULL};
	struct pack_extent extent = {0};
	struct dwarf_table answers = {0}, again = {0};
	struct pack_bytes bytes = {0};
	struct pack_addrs unknown = {0};
	struct arena strings = {0};
	struct pack_file copy;
	size_t i;

	for (i = 1; i < all->n; i++)
		if (all->v[i] <= all->v[i - 1])
			return;
	if (!all->n || dwarf_answers_build(&answers, all->v, all->n, from))
		return;
	if (!dwarf_pack(&answers, &f->h->key, &extent, &bytes)) {
		FUZZ_CHECK(dwarf_pack_open(&copy, bytes.v, bytes.n, &f->h->key));
		FUZZ_CHECK(!dwarf_unpack(&again, &strings, &copy, all->v, all->n, &unknown));
		FUZZ_CHECK(!unknown.n);
		for (i = 0; i < all->n; i++)
			FUZZ_CHECK(dwarf_table_find(&again, all->v[i]).line ==
				   dwarf_table_find(t, all->v[i]).line);
	}
	dwarf_table_done(&answers);
	dwarf_table_done(&again);
	arena_done(&strings);
	vec_done(&unknown);
	vec_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dwarf_table t = {0};
	struct arena strings = {0};
	uint64_t addrs[ADDRESSES];
	struct pack_header *h;
	struct pack_addrs unknown = {0}, all = {0};
	struct pack_file f;
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
	if (dwarf_pack_open(&f, copy, size, &key)) {
		if (!dwarf_unpack(&t, &strings, &f, addrs, ADDRESSES, &unknown))
			FUZZ_CHECK(read_all(&t, addrs) < SIZE_MAX);
		FUZZ_CHECK(unknown.n <= ADDRESSES);
		if (!dwarf_unpack_addrs(&f, &all))
			FUZZ_CHECK(all.n <= h->n_segs);
		merge(&f, &all, &t);
	}
	vec_done(&unknown);
	vec_done(&all);
	dwarf_table_done(&t);
	arena_done(&strings);
	free(copy);
	return 0;
}
