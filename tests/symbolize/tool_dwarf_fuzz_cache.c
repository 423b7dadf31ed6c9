/* tool_dwarf_fuzz_cache.c - reads damaged copies of a cache file.
 *
 *	tool_dwarf_fuzz_cache FILE FIRST_SEED N
 *
 * Each seed changes some bytes and then makes the hashes right again, so that the damage gets to
 *where only the checks of every number help. A crash, a sanitizer report or five seconds without an
 *end are failures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbolize/dwarf_pack.h"

enum { SECONDS_MAX = 5, ADDRESSES = 300 };

static uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

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

/* Few bytes, in a part that is chosen first: the strings are the most of the file. */
static void damage(uint8_t *data, size_t size)
{
	const struct pack_header *h = (const struct pack_header *)(const void *)data;
	unsigned n = 1 + next_random() % 4, part = next_random() % (PACK_PART_N + 1);
	size_t off = 0, len = offsetof(struct pack_header, table_hash);

	if (part < PACK_PART_N && h->part[part].size && in_file(h, (enum pack_part)part, size)) {
		off = h->part[part].off;
		len = h->part[part].size;
	}
	while (n--) {
		size_t at = off + next_random() % len;

		/* The key and the magic are compared as they are: nothing to find there. */
		if (at < offsetof(struct pack_header, base))
			continue;
		if (next_random() % 2)
			data[at] ^= (uint8_t)(1u << next_random() % 8);
		else
			data[at] = (uint8_t)next_random();
	}
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

/* 1 when the damaged file could be read. */
static int try(uint8_t *data, size_t size, const struct pack_key *key)
{
	const struct pack_header *h = (const struct pack_header *)(const void *)data;
	struct dwarf_table t = {0};
	struct arena strings = {0};
	uint64_t addrs[ADDRESSES];
	size_t i;
	int rc;

	for (i = 0; i < ADDRESSES; i++)
		addrs[i] = h->base + i * 7;
	rc = dwarf_unpack(&t, &strings, data, size, key, addrs, ADDRESSES);
	if (!rc && read_all(&t, addrs) == SIZE_MAX)
		rc = 1;
	dwarf_table_done(&t);
	arena_done(&strings);
	return !rc;
}

int main(int argc, char **argv)
{
	FILE *f = argc > 3 ? fopen(argv[1], "rb") : NULL;
	uint8_t *plain, *copy;
	uint64_t seed, end;
	size_t size, readable = 0;
	struct pack_key key;

	if (!f || fseek(f, 0, SEEK_END))
		return 2;
	size = (size_t)ftell(f);
	rewind(f);
	plain = malloc(size);
	copy = malloc(size);
	if (!plain || !copy || size < sizeof(struct pack_header) ||
	    fread(plain, 1, size, f) != size)
		return 2;
	fclose(f);
	key = ((struct pack_header *)(void *)plain)->key;
	if (!try(plain, size, &key))
		return 2;
	end = strtoull(argv[2], NULL, 10) + strtoull(argv[3], NULL, 10);
	for (seed = strtoull(argv[2], NULL, 10); seed < end; seed++) {
		fprintf(stderr, "\r%lu ", (unsigned long)seed);
		state = seed * 0x9e3779b97f4a7c15u + 1;
		memcpy(copy, plain, size);
		damage(copy, size);
		fix_hashes(copy, size);
		alarm(SECONDS_MAX);
		readable += (size_t)try(copy, size, &key);
	}
	printf("%zu readable\n", readable);
	free(plain);
	free(copy);
	return 0;
}
