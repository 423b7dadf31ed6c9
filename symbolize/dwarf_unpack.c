/* dwarf_unpack.c - reads what some addresses need from a packed table. Every number from the file
 * is checked: it may be damaged, or somebody else's. */
#include <stdlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "symbolize/dwarf_pack.h"

struct unpacker {
	struct dwarf_table *t;
	struct arena *strings;
	const struct pack_file *f;
	struct pack_addrs *unknown;
	/* decoded so far; NULL: not yet */
	struct dwarf_node **node_chunks;
	const char **string_blocks;
	/* number in the file -> number in the table; 0: not yet */
	uint32_t *nodes, *funcs, *files;
	VEC(struct dwarf_node) table_nodes;
	VEC(struct dwarf_func) table_funcs;
	/* the chunk of segments that was decoded last */
	size_t chunk, n_in_chunk;
	uint64_t addrs[PACK_CHUNK];
	struct dwarf_place places[PACK_CHUNK];
};

/* ---- opening ----------------------------------------------------------------------------- */

static const void *part(const struct pack_file *f, enum pack_part part)
{
	return f->data + f->h->part[part].off;
}

/* Entries of a directory or table; SIZE_MAX when its size is no multiple. */
static size_t part_count(const struct pack_header *h, enum pack_part part, size_t entry)
{
	return h->part[part].size % entry ? SIZE_MAX : (size_t)h->part[part].size / entry;
}

static bool header_is_good(const struct pack_header *h, size_t size, const struct pack_key *key)
{
	size_t i;

	if (size < sizeof *h || memcmp(h->magic, PACK_MAGIC, sizeof h->magic) ||
	    h->version != PACK_VERSION || h->order != PACK_ORDER ||
	    memcmp(&h->key, key, sizeof *key) ||
	    h->hash != hash_bytes(h, offsetof(struct pack_header, hash)))
		return false;
	for (i = 0; i < PACK_PART_N; i++)
		if (h->part[i].off % 8 || h->part[i].off > size ||
		    h->part[i].size > size - h->part[i].off)
			return false;
	return h->table_hash == dwarf_pack_table_hash(h) &&
	       part_count(h, PACK_FUNCS, sizeof(struct pack_func)) == h->n_funcs &&
	       part_count(h, PACK_FILES, sizeof(uint32_t)) == h->n_files;
}

/* A directory has one entry per chunk and one for the end. False when it does not fit the counts.
 */
static bool count_chunks(struct pack_file *f)
{
	const struct pack_header *h = f->h;
	size_t segs = part_count(h, PACK_SEG_DIR, sizeof(struct pack_seg_chunk));
	size_t nodes = part_count(h, PACK_NODE_DIR, sizeof(struct pack_node_chunk));
	size_t strings = part_count(h, PACK_STRING_DIR, sizeof(struct pack_string_block));

	f->n_seg_chunks = (h->n_segs + (size_t)PACK_CHUNK - 1) / PACK_CHUNK;
	f->n_node_chunks = (h->n_nodes + (size_t)PACK_CHUNK - 1) / PACK_CHUNK;
	f->n_string_blocks = strings - 1;
	return segs == f->n_seg_chunks + 1 && nodes == f->n_node_chunks + 1 && strings &&
	       strings != SIZE_MAX && h->n_segs;
}

bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size, const struct pack_key *key)
{
	*f = (struct pack_file){.h = data, .data = data};
	return header_is_good(f->h, size, key) && count_chunks(f);
}

/* The bytes of a chunk, when their hash is right. */
static struct buf chunk_at(const struct pack_file *f, enum pack_part in, uint32_t off, uint32_t end,
			   uint32_t hash)
{
	struct buf b = buf_make(part(f, in), (size_t)f->h->part[in].size, 0, false);

	buf_seek(&b, off);
	b = buf_sub(&b, end - (uint64_t)off);
	if (buf_ok(&b) && dwarf_pack_chunk_hash(b.p, buf_left(&b)) != hash)
		b.bad = true;
	return b;
}

/* ---- strings ----------------------------------------------------------------------------- */

/* 0; 1: damaged; -ERR_NOMEM. */
static int open_block(struct unpacker *u, size_t i)
{
	const struct pack_string_block *dir = part(u->f, PACK_STRING_DIR);
	uint64_t size = (uint64_t)dir[i + 1].first - dir[i].first;
	uint64_t off = dir[i].off, end = dir[i + 1].off;
	char *text;

	if (dir[i + 1].first <= dir[i].first || size > PACK_STRING_MAX + PACK_STRING_BLOCK ||
	    off > end || end > u->f->h->part[PACK_STRINGS].size)
		return 1;
	text = arena_alloc(u->strings, size);
	if (!text)
		return -ERR_NOMEM;
	if (ZSTD_decompress(text, size, (const char *)part(u->f, PACK_STRINGS) + off, end - off) !=
		    size ||
	    text[size - 1])
		return 1;
	u->string_blocks[i] = text;
	return 0;
}

/* The string at `off` - 1 of all strings; NULL for 0. */
static int find_string(struct unpacker *u, uint32_t off, const char **ret)
{
	const struct pack_string_block *dir = part(u->f, PACK_STRING_DIR);
	size_t lo = 0, hi = u->f->n_string_blocks;
	int rc;

	*ret = NULL;
	if (!off--)
		return 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dir[mid].first <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || off >= dir[lo].first)
		return 1;
	rc = u->string_blocks[lo - 1] ? 0 : open_block(u, lo - 1);
	if (!rc)
		*ret = u->string_blocks[lo - 1] + (off - dir[lo - 1].first);
	return rc;
}

/* ---- numbers of the file to numbers of the table --------------------------------------------- */

static int use_file(struct unpacker *u, uint32_t file, uint32_t *ret)
{
	const uint32_t *paths = part(u->f, PACK_FILES);
	const char *path;
	int rc;

	if (file >= u->f->h->n_files)
		return 1;
	if (file && !u->files[file]) {
		rc = find_string(u, paths[file], &path);
		if (rc)
			return rc;
		u->files[file] = (uint32_t)u->t->files.n;
		if (vec_push(&u->t->files, path))
			return -ERR_NOMEM;
	}
	*ret = u->files[file];
	return 0;
}

static int use_func(struct unpacker *u, uint32_t func, uint32_t *ret)
{
	const struct pack_func *funcs = part(u->f, PACK_FUNCS);
	struct dwarf_func f = {0};
	int rc;

	if (func >= u->f->h->n_funcs)
		return 1;
	*ret = u->funcs[func];
	if (*ret)
		return 0;
	f.decl_line = funcs[func].decl_line;
	if (funcs[func].entry)
		f.entry = u->f->h->base + (uint64_t)pack_unzigzag(funcs[func].entry - 1ul);
	rc = find_string(u, funcs[func].linkage_name, &f.linkage_name);
	if (!rc)
		rc = find_string(u, funcs[func].name, &f.name);
	if (rc)
		return rc;
	*ret = u->funcs[func] = (uint32_t)u->table_funcs.n;
	return vec_push(&u->table_funcs, f) ? -ERR_NOMEM : 0;
}

/* buf_uleb(), first for the numbers of one and two bytes, which nearly all are. */
static inline uint64_t read_number(struct buf *b)
{
	const uint8_t *p = b->p;

	if (b->end - p < 2)
		return buf_uleb(b);
	if (p[0] < 0x80) {
		b->p = p + 1;
		return p[0];
	}
	if (p[1] < 0x80) {
		b->p = p + 2;
		return (p[0] & 0x7fu) | (uint32_t)p[1] << 7;
	}
	return buf_uleb(b);
}

static inline uint32_t read_difference(struct buf *b, uint32_t before)
{
	return (uint32_t)((int64_t)before + pack_unzigzag(read_number(b)));
}

static int open_nodes(struct unpacker *u, size_t chunk)
{
	const struct pack_node_chunk *dir = part(u->f, PACK_NODE_DIR);
	struct buf b =
		chunk_at(u->f, PACK_NODES, dir[chunk].off, dir[chunk + 1].off, dir[chunk].hash);
	struct dwarf_node *nodes = calloc(PACK_CHUNK, sizeof *nodes), before = {0};
	uint32_t id = (uint32_t)chunk * PACK_CHUNK, i;

	if (!nodes)
		return -ERR_NOMEM;
	u->node_chunks[chunk] = nodes;
	for (i = 0; i < PACK_CHUNK && id + i < u->f->h->n_nodes; i++) {
		uint64_t up = read_number(&b);

		nodes[i].func = before.func = read_difference(&b, before.func);
		if (up > id + i)
			return 1;
		if (!up)
			continue;
		nodes[i].parent = id + i - (uint32_t)up;
		nodes[i].call_file = before.call_file = read_difference(&b, before.call_file);
		nodes[i].call_line = before.call_line = read_difference(&b, before.call_line);
	}
	return buf_ok(&b) ? 0 : 1;
}

/* A node of the file, as it stands there. */
static int read_node(struct unpacker *u, uint32_t node, struct dwarf_node *ret)
{
	size_t chunk = node / PACK_CHUNK;
	int rc = 0;

	if (node >= u->f->h->n_nodes)
		return 1;
	if (!u->node_chunks[chunk])
		rc = open_nodes(u, chunk);
	*ret = u->node_chunks[chunk] ? u->node_chunks[chunk][node % PACK_CHUNK]
				     : (struct dwarf_node){0};
	return rc;
}

/* Gives numbers to a node and the chain above it, innermost first; links come as chains meet. */
static int use_node(struct unpacker *u, uint32_t node, uint32_t *ret)
{
	uint32_t below = 0, id;
	int rc = 0;

	*ret = 0;
	for (; node; below = id) {
		struct dwarf_node n;
		uint32_t known = node < u->f->h->n_nodes ? u->nodes[node] : 0;

		id = known ? known : (uint32_t)u->table_nodes.n;
		if (below)
			u->table_nodes.v[below].parent = id;
		else
			*ret = id;
		if (known)
			return 0;
		rc = read_node(u, node, &n);
		if (!rc)
			rc = use_func(u, n.func, &n.func);
		if (!rc)
			rc = use_file(u, n.call_file, &n.call_file);
		if (rc)
			return rc;
		u->nodes[node] = id;
		node = n.parent; /* smaller: the chain ends */
		n.parent = 0;
		if (vec_push(&u->table_nodes, n))
			return -ERR_NOMEM;
	}
	return 0;
}

/* ---- segments ---------------------------------------------------------------------------- */

static bool place_is_empty(struct dwarf_place p)
{
	return !p.node && !p.file && !p.line;
}

static int open_segs(struct unpacker *u, size_t chunk)
{
	const struct pack_seg_chunk *dir = part(u->f, PACK_SEG_DIR);
	struct buf b =
		chunk_at(u->f, PACK_SEGS, dir[chunk].off, dir[chunk + 1].off, dir[chunk].hash);
	uint64_t addr = u->f->h->base + dir[chunk].addr;
	struct dwarf_place before = {0};
	size_t i;

	u->chunk = chunk;
	u->n_in_chunk = 0;
	for (i = 0; i < PACK_CHUNK && chunk * PACK_CHUNK + i < u->f->h->n_segs; i++) {
		uint64_t head = read_number(&b);

		addr += head >> SEG_SHIFT;
		u->addrs[i] = addr;
		u->places[i] = (struct dwarf_place){0};
		if (head & SEG_EMPTY)
			continue;
		if (!(head & SEG_SAME_NODE))
			before.node = read_difference(&b, before.node);
		if (!(head & SEG_SAME_FILE))
			before.file = read_difference(&b, before.file);
		if (!(head & SEG_SAME_LINE))
			before.line = read_difference(&b, before.line);
		u->places[i] = before;
	}
	if (!buf_ok(&b) || !i)
		return 1;
	u->n_in_chunk = i;
	return 0;
}

/* The last chunk that begins at or before addr. */
static size_t find_chunk(const struct unpacker *u, uint64_t addr)
{
	const struct pack_seg_chunk *dir = part(u->f, PACK_SEG_DIR);
	size_t lo = 0, hi = u->f->n_seg_chunks;

	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dir[mid].addr <= addr - u->f->h->base)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Appends the segment [lo, hi). Addresses must rise. */
static int add_seg(struct unpacker *u, uint64_t lo, uint64_t hi, struct dwarf_place place)
{
	struct dwarf_table *t = u->t;
	int rc = use_node(u, place.node, &place.node);

	if (!rc)
		rc = use_file(u, place.file, &place.file);
	if (rc)
		return rc;
	if (t->n && t->addrs[t->n - 1] == lo)
		t->n--; /* the empty end of the one before */
	if (lo >= hi || (t->n && t->addrs[t->n - 1] >= lo))
		return 1;
	t->addrs[t->n] = lo;
	t->places[t->n++] = place;
	t->addrs[t->n] = hi;
	t->places[t->n++] = (struct dwarf_place){0};
	return 0;
}

static int use_unknown(struct unpacker *u, uint64_t addr)
{
	if (u->f->h->extent.complete)
		return 0;
	return vec_push(u->unknown, addr) ? -ERR_NOMEM : 0;
}

/* The segment [lo, hi) that has the address. */
static int use_seg(struct unpacker *u, uint64_t addr, uint64_t lo, uint64_t hi,
		   struct dwarf_place place)
{
	if (addr < lo || addr >= hi || place_is_empty(place))
		return use_unknown(u, addr);
	if (place.line == PACK_NOTHING)
		return 0;
	return add_seg(u, lo, hi, place);
}

static int use_address(struct unpacker *u, uint64_t addr)
{
	const struct pack_seg_chunk *dir = part(u->f, PACK_SEG_DIR);
	const struct dwarf_table *t = u->t;
	size_t chunk, i;
	uint64_t end;
	int rc = 0;

	if (t->n && addr < t->addrs[t->n - 1])
		return 0; /* the segment of the one before */
	if (addr < u->f->h->base)
		return use_unknown(u, addr);
	chunk = find_chunk(u, addr);
	if (chunk != u->chunk)
		rc = open_segs(u, chunk);
	if (rc)
		return rc;
	for (i = 0; i + 1 < u->n_in_chunk && u->addrs[i + 1] <= addr; i++)
		;
	if (chunk + 1 == u->f->n_seg_chunks && i + 1 == u->n_in_chunk)
		return use_unknown(u, addr); /* behind all segments */
	end = i + 1 < u->n_in_chunk ? u->addrs[i + 1] : u->f->h->base + dir[chunk + 1].addr;
	return use_seg(u, addr, u->addrs[i], end, u->places[i]);
}

/* ------------------------------------------------------------------------------------------ */

static int prepare(struct unpacker *u, size_t n)
{
	struct dwarf_table *t = u->t;

	u->chunk = SIZE_MAX;
	u->node_chunks = calloc(u->f->n_node_chunks + 1, sizeof *u->node_chunks);
	u->string_blocks = calloc(u->f->n_string_blocks + 1, sizeof *u->string_blocks);
	/* Mostly never touched, then pages of zeroes that take no memory. */
	u->nodes = calloc(u->f->h->n_nodes + 1ul, sizeof *u->nodes);
	u->funcs = calloc(u->f->h->n_funcs + 1ul, sizeof *u->funcs);
	u->files = calloc(u->f->h->n_files + 1ul, sizeof *u->files);
	t->addrs = malloc((2 * n + 1) * sizeof *t->addrs);
	t->places = malloc((2 * n + 1) * sizeof *t->places);
	if (!u->node_chunks || !u->string_blocks || !u->nodes || !u->funcs || !u->files ||
	    !t->addrs || !t->places || vec_push(&u->table_nodes, (struct dwarf_node){0}) ||
	    vec_push(&u->table_funcs, (struct dwarf_func){0}) || vec_push(&t->files, NULL))
		return -ERR_NOMEM;
	return 0;
}

static void done(struct unpacker *u)
{
	size_t i;

	for (i = 0; u->node_chunks && i < u->f->n_node_chunks; i++)
		free(u->node_chunks[i]);
	free(u->node_chunks);
	free(u->string_blocks);
	free(u->files);
	free(u->nodes);
	free(u->funcs);
}

int dwarf_unpack(struct dwarf_table *t, struct arena *strings, const struct pack_file *f,
		 const uint64_t *addrs, size_t n, struct pack_addrs *unknown)
{
	struct unpacker u = {.t = t, .strings = strings, .f = f, .unknown = unknown};
	size_t i;
	int rc = prepare(&u, n);

	for (i = 0; !rc && i < n; i++)
		rc = use_address(&u, addrs[i]);
	/* The table owns what was collected. */
	t->nodes = u.table_nodes.v;
	t->n_nodes = u.table_nodes.n;
	t->funcs = u.table_funcs.v;
	t->n_funcs = u.table_funcs.n;
	done(&u);
	if (!rc)
		rc = dwarf_table_index(t);
	if (rc)
		dwarf_table_done(t);
	return rc;
}

int dwarf_unpack_addrs(const struct pack_file *f, struct pack_addrs *addrs)
{
	struct unpacker u = {.f = f};
	size_t chunk, i;
	int rc = 0;

	for (chunk = 0; !rc && chunk < f->n_seg_chunks; chunk++) {
		rc = open_segs(&u, chunk);
		for (i = 0; !rc && i < u.n_in_chunk; i++)
			if (!place_is_empty(u.places[i]))
				rc = vec_push(addrs, u.addrs[i]) ? -ERR_NOMEM : 0;
	}
	return rc;
}
