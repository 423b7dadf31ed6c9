/* dwarf_pack.c - writes a table as a file. */
#include "symbolize/dwarf_pack.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/hash.h"

enum { ZSTD_LEVEL = 3, NUMBER_MAX = 10 };

struct packer {
	const struct dwarf_table *t;
	struct pack_bytes *out;
	struct pack_header header;
	struct hash_table known_strings, known_funcs;
	VEC(const char *) strings;
	VEC(uint32_t) string_offs;
	uint64_t string_bytes;
	uint32_t *func_ids; /* of the table's functions */
	VEC(struct pack_func) funcs;
	size_t part_begin;
};

/* ---- bytes ------------------------------------------------------------------------------- */

static int put(struct packer *p, const void *bytes, size_t n)
{
	struct pack_bytes *out = p->out;

	if (vec_reserve(out, out->n + n))
		return -ERR_NOMEM;
	if (n)
		memcpy(out->v + out->n, bytes, n);
	out->n += n;
	return 0;
}

/* There is room for it. */
static void put_number(struct pack_bytes *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		out->v[out->n++] = (uint8_t)(v | 0x80);
	out->v[out->n++] = (uint8_t)v;
}

static void put_difference(struct pack_bytes *out, uint32_t v, uint32_t before)
{
	put_number(out, pack_zigzag((int64_t)v - (int64_t)before));
}

static void begin_part(struct packer *p)
{
	p->part_begin = p->out->n;
}

/* Parts are aligned, so that directories can be read in place. */
static int end_part(struct packer *p, enum pack_part part)
{
	static const uint8_t zeros[8];

	p->header.part[part].off = p->part_begin;
	p->header.part[part].size = p->out->n - p->part_begin;
	return put(p, zeros, -p->out->n & 7);
}

static int put_part(struct packer *p, enum pack_part part, const void *bytes, size_t n)
{
	begin_part(p);
	return put(p, bytes, n) ? -ERR_NOMEM : end_part(p, part);
}

static uint32_t hash_since(const struct packer *p, size_t begin)
{
	return dwarf_pack_chunk_hash(p->out->v + begin, p->out->n - begin);
}

/* ---- numbering strings and functions -------------------------------------------------------- */

/* Offset + 1 of a string among all; 0 for NULL. */
static int add_string(struct packer *p, const char *s, uint32_t *ret)
{
	size_t len;
	uint64_t key;
	uint32_t id;

	*ret = 0;
	if (!s)
		return 0;
	len = strnlen(s, PACK_STRING_MAX);
	key = hash_bytes(s, len);
	id = hash_get(&p->known_strings, key);
	if (id == HASH_NONE || strcmp(p->strings.v[id], s)) {
		if (len == PACK_STRING_MAX || p->string_bytes > UINT32_MAX - len - 2)
			return 1;
		id = (uint32_t)p->strings.n;
		if (vec_push(&p->strings, s) ||
		    vec_push(&p->string_offs, (uint32_t)p->string_bytes) ||
		    hash_put(&p->known_strings, key, id))
			return -ERR_NOMEM;
		p->string_bytes += len + 1;
	}
	*ret = p->string_offs.v[id] + 1;
	return 0;
}

/* Units repeat the functions of headers: equal ones become one. */
static int add_func(struct packer *p, const struct dwarf_func *f, uint32_t *ret)
{
	int64_t distance = (int64_t)(f->entry - p->header.base);
	struct pack_func packed = {.decl_line = f->decl_line};
	int rc = add_string(p, f->linkage_name, &packed.linkage_name);
	uint64_t key;

	if (!rc)
		rc = add_string(p, f->name, &packed.name);
	if (rc)
		return rc;
	if (f->entry && pack_zigzag(distance) < UINT32_MAX)
		packed.entry = (uint32_t)pack_zigzag(distance) + 1;
	key = hash_bytes(&packed, sizeof packed);
	*ret = hash_get(&p->known_funcs, key);
	if (*ret != HASH_NONE && !memcmp(&p->funcs.v[*ret], &packed, sizeof packed))
		return 0;
	*ret = (uint32_t)p->funcs.n;
	return vec_push(&p->funcs, packed) || hash_put(&p->known_funcs, key, *ret) ? -ERR_NOMEM : 0;
}

static int number_funcs(struct packer *p)
{
	size_t i;
	int rc = 0;

	p->func_ids = calloc(p->t->n_funcs + 1, sizeof *p->func_ids);
	if (!p->func_ids)
		return -ERR_NOMEM;
	for (i = 0; !rc && i < p->t->n_funcs; i++)
		rc = add_func(p, &p->t->funcs[i], &p->func_ids[i]);
	p->header.n_funcs = (uint32_t)p->funcs.n;
	return rc;
}

/* ---- parts ------------------------------------------------------------------------------- */

static void put_seg(struct pack_bytes *out, uint64_t distance, const struct dwarf_place *at,
		    struct dwarf_place *before)
{
	unsigned flags = 0;

	if (!at->node && !at->file && !at->line) {
		put_number(out, distance << SEG_SHIFT | SEG_EMPTY);
		return;
	}
	flags |= at->node == before->node ? SEG_SAME_NODE : 0;
	flags |= at->file == before->file ? SEG_SAME_FILE : 0;
	flags |= at->line == before->line ? SEG_SAME_LINE : 0;
	put_number(out, distance << SEG_SHIFT | flags);
	if (!(flags & SEG_SAME_NODE))
		put_difference(out, at->node, before->node);
	if (!(flags & SEG_SAME_FILE))
		put_difference(out, at->file, before->file);
	if (!(flags & SEG_SAME_LINE))
		put_difference(out, at->line, before->line);
	*before = *at;
}

static int put_segs(struct packer *p)
{
	const struct dwarf_table *t = p->t;
	VEC(struct pack_seg_chunk) dir = {0};
	size_t i, k;
	int rc = 0;

	begin_part(p);
	for (i = 0; !rc && i < t->n; i += PACK_CHUNK) {
		struct pack_seg_chunk c = {(uint32_t)(t->addrs[i] - t->addrs[0]),
					   (uint32_t)(p->out->n - p->part_begin), 0};
		size_t begin = p->out->n;
		struct dwarf_place before = {0};

		if (vec_reserve(p->out, p->out->n + (size_t)PACK_CHUNK * 4 * NUMBER_MAX))
			rc = -ERR_NOMEM;
		for (k = i; !rc && k < i + PACK_CHUNK && k < t->n; k++)
			put_seg(p->out, k == i ? 0 : t->addrs[k] - t->addrs[k - 1], &t->places[k],
				&before);
		c.hash = hash_since(p, begin);
		if (vec_push(&dir, c))
			rc = -ERR_NOMEM;
	}
	if (!rc && vec_push(&dir, (struct pack_seg_chunk){
					  UINT32_MAX, (uint32_t)(p->out->n - p->part_begin), 0}))
		rc = -ERR_NOMEM;
	if (!rc)
		rc = end_part(p, PACK_SEGS);
	if (!rc)
		rc = put_part(p, PACK_SEG_DIR, dir.v, dir.n * sizeof *dir.v);
	vec_done(&dir);
	return rc;
}

static void put_node(struct packer *p, uint32_t id, struct dwarf_node *before)
{
	struct dwarf_node n = p->t->nodes[id];

	n.func = p->func_ids[n.func];
	put_number(p->out, n.parent ? id - n.parent : 0);
	put_difference(p->out, n.func, before->func);
	before->func = n.func;
	if (!n.parent)
		return;
	put_difference(p->out, n.call_file, before->call_file);
	put_difference(p->out, n.call_line, before->call_line);
	before->call_file = n.call_file;
	before->call_line = n.call_line;
}

static int put_nodes(struct packer *p)
{
	VEC(struct pack_node_chunk) dir = {0};
	size_t n = p->t->n_nodes, i, k;
	int rc = 0;

	begin_part(p);
	for (i = 0; !rc && i < n; i += PACK_CHUNK) {
		struct pack_node_chunk c = {(uint32_t)(p->out->n - p->part_begin), 0};
		size_t begin = p->out->n;
		struct dwarf_node before = {0};

		if (vec_reserve(p->out, p->out->n + (size_t)PACK_CHUNK * 4 * NUMBER_MAX))
			rc = -ERR_NOMEM;
		for (k = i; !rc && k < i + PACK_CHUNK && k < n; k++)
			put_node(p, (uint32_t)k, &before);
		c.hash = hash_since(p, begin);
		if (vec_push(&dir, c))
			rc = -ERR_NOMEM;
	}
	if (!rc &&
	    vec_push(&dir, (struct pack_node_chunk){(uint32_t)(p->out->n - p->part_begin), 0}))
		rc = -ERR_NOMEM;
	if (!rc)
		rc = end_part(p, PACK_NODES);
	if (!rc)
		rc = put_part(p, PACK_NODE_DIR, dir.v, dir.n * sizeof *dir.v);
	vec_done(&dir);
	return rc;
}

static int put_files(struct packer *p)
{
	VEC(uint32_t) files = {0};
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->t->files.n; i++) {
		uint32_t off;

		rc = add_string(p, p->t->files.v[i], &off);
		if (!rc && vec_push(&files, off))
			rc = -ERR_NOMEM;
	}
	p->header.n_files = (uint32_t)files.n;
	if (!rc)
		rc = put_part(p, PACK_FILES, files.v, files.n * sizeof *files.v);
	vec_done(&files);
	return rc;
}

static int put_block(struct packer *p, ZSTD_CCtx *zstd, const struct pack_bytes *plain)
{
	size_t room = ZSTD_compressBound(plain->n), n;

	if (vec_reserve(p->out, p->out->n + room))
		return -ERR_NOMEM;
	n = ZSTD_compress2(zstd, p->out->v + p->out->n, room, plain->v, plain->n);
	if (ZSTD_isError(n))
		return -ERR_NOMEM;
	p->out->n += n;
	return 0;
}

static int put_strings(struct packer *p)
{
	VEC(struct pack_string_block) dir = {0};
	struct pack_bytes plain = {0};
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t i;
	int rc = zstd ? 0 : -ERR_NOMEM;

	if (zstd) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	}
	begin_part(p);
	for (i = 0; !rc && i < p->strings.n; i++) {
		size_t len = strlen(p->strings.v[i]) + 1;
		struct pack_string_block b = {p->string_offs.v[i],
					      (uint32_t)(p->out->n - p->part_begin)};

		if ((!plain.n && vec_push(&dir, b)) || vec_reserve(&plain, plain.n + len)) {
			rc = -ERR_NOMEM;
			break;
		}
		memcpy(plain.v + plain.n, p->strings.v[i], len);
		plain.n += len;
		if (plain.n < PACK_STRING_BLOCK && i + 1 < p->strings.n)
			continue;
		rc = put_block(p, zstd, &plain);
		plain.n = 0;
	}
	if (!rc &&
	    vec_push(&dir, (struct pack_string_block){(uint32_t)p->string_bytes,
						      (uint32_t)(p->out->n - p->part_begin)}))
		rc = -ERR_NOMEM;
	if (!rc)
		rc = end_part(p, PACK_STRINGS);
	if (!rc)
		rc = put_part(p, PACK_STRING_DIR, dir.v, dir.n * sizeof *dir.v);
	ZSTD_freeCCtx(zstd);
	vec_done(&dir);
	vec_done(&plain);
	return rc;
}

uint64_t dwarf_pack_table_hash(const void *data)
{
	static const enum pack_part parts[] = {PACK_SEG_DIR, PACK_NODE_DIR, PACK_FUNCS, PACK_FILES,
					       PACK_STRING_DIR};
	const struct pack_header *h = data;
	uint64_t hash = 0;
	size_t i;

	for (i = 0; i < sizeof parts / sizeof *parts; i++)
		hash = hash_mix(hash, hash_bytes((const char *)data + h->part[parts[i]].off,
						 h->part[parts[i]].size));
	return hash;
}

int dwarf_pack(const struct dwarf_table *t, const struct pack_key *key,
	       const struct pack_extent *extent, struct pack_bytes *out)
{
	struct packer p = {.t = t, .out = out};
	int rc;

	if (!t->n || t->addrs[t->n - 1] - t->addrs[0] >= UINT32_MAX)
		return 1;
	p.header = (struct pack_header){.version = PACK_VERSION,
					.order = PACK_ORDER,
					.base = t->addrs[0],
					.n_segs = (uint32_t)t->n,
					.n_nodes = (uint32_t)t->n_nodes};
	memcpy(p.header.magic, PACK_MAGIC, sizeof p.header.magic);
	p.header.key = *key;
	p.header.extent = *extent;
	rc = put(&p, &p.header, sizeof p.header);
	if (!rc)
		rc = number_funcs(&p);
	if (!rc)
		rc = put_segs(&p);
	if (!rc)
		rc = put_nodes(&p);
	if (!rc)
		rc = put_part(&p, PACK_FUNCS, p.funcs.v, p.funcs.n * sizeof *p.funcs.v);
	if (!rc)
		rc = put_files(&p);
	if (!rc)
		rc = put_strings(&p);
	if (!rc && out->n > UINT32_MAX)
		rc = 1;
	if (!rc) {
		memcpy(out->v, &p.header, sizeof p.header);
		p.header.table_hash = dwarf_pack_table_hash(out->v);
		p.header.hash = hash_bytes(&p.header, offsetof(struct pack_header, hash));
		memcpy(out->v, &p.header, sizeof p.header);
	}
	hash_done(&p.known_strings);
	hash_done(&p.known_funcs);
	vec_done(&p.strings);
	vec_done(&p.string_offs);
	vec_done(&p.funcs);
	free(p.func_ids);
	return rc;
}
