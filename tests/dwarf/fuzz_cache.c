/* fuzz_cache.c - libFuzzer target: a cache file of compiled DWARF.
 *
 * Its sums are made right before it is read, so that changes get to where only the checks of every
 * number help. */
#include <string.h>

#include "base/hash.h"
#include "dwarf/table_subset.h"
#include "tests/fuzz.h"

enum { ADDRESSES = 300, LEVELS = 64 };

/* The sums that dwarf_pack() would write; the parts stay what they are. */
static void fix_sums(uint8_t *data, size_t size)
{
	struct pack_header *h = (struct pack_header *)(void *)data;
	uint64_t left = size - sizeof *h, n, i;
	uint32_t sum;

	/* The body is as large as it can be with its sums behind it. */
	h->body_size = left * PACK_BLOCK / (PACK_BLOCK + sizeof sum) & ~7ull;
	for (n = 0; h->body_size; h->body_size -= 8) {
		n = (h->body_size + PACK_BLOCK - 1) / PACK_BLOCK;
		if (h->body_size + n * sizeof sum == left)
			break;
	}
	for (i = 0; h->body_size && i < n; i++) {
		uint64_t off = i * PACK_BLOCK, bytes = h->body_size - off;

		sum = dwarf_pack_sum(data + sizeof *h + off,
				     bytes < PACK_BLOCK ? bytes : PACK_BLOCK);
		memcpy(data + sizeof *h + h->body_size + i * sizeof sum, &sum, sizeof sum);
	}
	h->sums_hash = hash_bytes(data + sizeof *h + h->body_size, n * sizeof sum);
	h->hash = hash_bytes(h, offsetof(struct pack_header, hash));
}

static size_t read_chain(struct pack_file *f, uint64_t addr)
{
	struct dwarf_at chain[LEVELS];
	struct dwarf_place p;
	size_t total = 0, depth, i;
	uint32_t node;
	const char *path;

	dwarf_pack_find(f, &addr, 1, &p);
	depth = dwarf_pack_chain(f, p.node, (struct dwarf_at){.file = p.file}, 0, chain, LEVELS);
	for (i = 0; i < depth && i < LEVELS; i++) {
		struct dwarf_func func = dwarf_pack_func(f, chain[i].func);

		path = dwarf_pack_path(f, chain[i].file);
		total += path ? strlen(path) : 0;
		total += func.name ? strlen(func.name) : 0;
		total += func.linkage_name ? strlen(func.linkage_name) : 0;
	}
	/* The other way to go up is the same. */
	for (node = p.node, i = 0; i < depth && i < LEVELS; i++) {
		struct dwarf_node n = dwarf_pack_node(f, node);

		FUZZ_CHECK(f->damaged || n.func == chain[i].func);
		FUZZ_CHECK(!n.parent || n.parent < node);
		node = n.parent;
	}
	return total;
}

/* What dwarf_store_save() does with a file of answers: read all of it, pack it again. The same
 * addresses get the same places. */
static void merge(struct pack_file *f, const struct pack_addrs *all)
{
	const struct dwarf_table_view from[SUBSET_FROM_MAX] = {{f, NULL}};
	struct pack_extent extent = {0};
	struct dwarf_table answers = {0};
	struct pack_bytes bytes = {0};
	struct dwarf_place old, new;
	struct pack_file copy;
	size_t i;

	if (!all->n || dwarf_table_subset(&answers, all->v, all->n, from) ||
	    dwarf_pack(&answers, &f->h.key, &extent, &bytes) || f->damaged)
		goto out;
	FUZZ_CHECK(dwarf_pack_open(&copy, bytes.v, bytes.n, &f->h.key));
	for (i = 0; i < all->n; i++) {
		dwarf_pack_find(f, &all->v[i], 1, &old);
		dwarf_pack_find(&copy, &all->v[i], 1, &new);
		/* False numbers: an address that is in no page of its own. */
		if (dwarf_place_is_empty(old))
			old = PACK_NOTHING;
		FUZZ_CHECK(old.line == new.line && !old.node == !new.node);
	}
	FUZZ_CHECK(!copy.damaged);
	dwarf_pack_close(&copy);
out:
	dwarf_table_done(&answers);
	vec_done(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pack_addrs all = {0};
	struct pack_header *h;
	struct pack_file f;
	struct pack_key key;
	size_t total = 0, i;
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
	fix_sums(copy, size);
	if (dwarf_pack_open(&f, copy, size, &key)) {
		for (i = 0; i < ADDRESSES; i++)
			total += read_chain(&f, h->base + i * 7);
		FUZZ_CHECK(total < SIZE_MAX);
		f.damaged = false;
		if (!dwarf_pack_addrs(&f, &all) && !f.damaged)
			merge(&f, &all);
		dwarf_pack_close(&f);
	}
	vec_done(&all);
	free(copy);
	return 0;
}
