/* packed.c - reads a packed table where it is mapped. Every number from the file is checked: it may
 * be damaged, or written by another user. */
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "base/vec.h"
#include "dwarf/packed.h"
#include "dwarf/unit_encode.h"
#include "dwarf/pack_strings.h"

/* Limit on the bytes of a file's strings, as a multiple of its size: they came from the debug
 * information, of which the file is a twentieth. */
enum { STRINGS_MAX = 256 };

/* ---- opening ----------------------------------------------------------------------------- */

const uint32_t pack_masks[8] = {0,	    0xff,	0xffff,	    0xffffff,
				UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* Sets the rows of a part and checks that they lie within the body. Rows of nodes are in bits. */
static bool part_is_good(struct pack_file *f, enum pack_part i)
{
	const struct pack_part_at *part = &f->h.part[i];
	const unsigned unit = i == PACK_NODES ? 8 : 1, widest = i == PACK_NODES ? 32 : 4;
	struct pack_rows *r = &f->rows[i];
	unsigned k;

	*r = (struct pack_rows){.off = part->off};
	for (k = 0; k < PACK_COLUMNS; k++) {
		if (part->width[k] > widest)
			return false;
		r->at[k] = r->stride;
		r->mask[k] = i == PACK_NODES ? (uint32_t)pack_bit_mask(part->width[k])
					     : pack_masks[part->width[k]];
		r->stride += part->width[k];
	}
	r->n = r->stride ? part->n : 0;
	return part->off <= f->h.body_size && part->size <= f->h.body_size - part->off &&
	       f->h.body_size - part->off - part->size >= PACK_PAD &&
	       (uint64_t)r->n * r->stride <= part->size * unit &&
	       (unit == 1 || r->stride <= PACK_BITS_MAX);
}

static bool header_is_good(struct pack_file *f, const struct pack_key *key)
{
	const struct pack_header *h = &f->h;
	uint64_t n_blocks = h->body_size / PACK_BLOCK + (h->body_size % PACK_BLOCK > 0);
	size_t i;

	if (memcmp(h->magic, PACK_MAGIC, sizeof h->magic) || h->version != PACK_VERSION ||
	    h->order != PACK_ORDER || memcmp(&h->key, key, sizeof *key) ||
	    h->hash != hash_bytes(h, offsetof(struct pack_header, hash)) || h->shift > 63 ||
	    h->body_size > f->size - sizeof *h || (sizeof *h + h->body_size) % sizeof *f->sums ||
	    f->size - sizeof *h - h->body_size != n_blocks * sizeof *f->sums)
		return false;
	for (i = 0; i < PACK_PART_N; i++)
		if (!part_is_good(f, (enum pack_part)i))
			return false;
	f->body = f->data + sizeof *h;
	f->sums = (const uint32_t *)(const void *)(f->body + h->body_size);
	f->good = calloc(n_blocks + 1, 1);
	return f->good && hash_bytes(f->sums, n_blocks * sizeof *f->sums) == h->sums_hash;
}

bool dwarf_pack_open(struct pack_file *f, const void *data, size_t size, const struct pack_key *key)
{
	*f = (struct pack_file){0}; /* the caller unmaps the data if f->data is set */
	if (size < sizeof f->h)
		return false;
	*f = (struct pack_file){.data = data, .size = size, .budget = (uint64_t)size * STRINGS_MAX};
	memcpy(&f->h, data, sizeof f->h);
	if (header_is_good(f, key)) {
		/* Mostly not touched: then these are pages of zeros that take no memory. */
		f->names = calloc(f->rows[PACK_FUNCS].n + 1ul, sizeof *f->names);
		f->paths = calloc(f->rows[PACK_FILES].n + 1ul, sizeof *f->paths);
		if (f->names && f->paths)
			return true;
	}
	dwarf_pack_close(f);
	return false;
}

int dwarf_pack_wrap(struct pack_file *f, const struct pack_header *h, const uint8_t *body)
{
	const size_t n_blocks = h->body_size / PACK_BLOCK + 1;
	size_t i;

	*f = (struct pack_file){.h = *h, .body = body, .good = malloc(n_blocks)};
	if (!f->good)
		return -ERR_NOMEM;
	memset(f->good, 1, n_blocks);
	for (i = 0; i <= PACK_ODD; i++)
		part_is_good(f, (enum pack_part)i);
	return 0;
}

void dwarf_pack_close(struct pack_file *f)
{
	size_t i;

	free(f->good);
	free(f->names);
	free(f->paths);
	for (i = 0; i < f->chunks.n; i++)
		free(f->chunks.v[i]);
	vec_done(&f->chunks);
	*f = (struct pack_file){0};
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Two words, which compilers keep in one register of most processors. */
typedef uint64_t lane_pair __attribute__((vector_size(16)));

static inline lane_pair lanes_at(const uint8_t *p)
{
	lane_pair w;

	memcpy(&w, p, sizeof w);
	return w;
}

static inline lane_pair lanes_of(uint64_t v)
{
	return (lane_pair){v, v};
}

/* Eight lanes, each with the sum of its words and the sum of these sums, which depends on their
 * order. A changed word always changes the first sum. */
uint32_t dwarf_pack_sum(const uint8_t *p, size_t n)
{
	lane_pair sum[4] = {{n, 1}, {2, 3}, {4, 5}, {6, 7}}, sums[4] = {{0}};
	uint64_t hash = 0;
	size_t i;

	for (; n >= sizeof sum; n -= sizeof sum, p += sizeof sum) {
		sum[0] += lanes_at(p);
		sum[1] += lanes_at(p + 16);
		sum[2] += lanes_at(p + 32);
		sum[3] += lanes_at(p + 48);
		sums[0] += sum[0];
		sums[1] += sum[1];
		sums[2] += sum[2];
		sums[3] += sum[3];
	}
	/* A different odd factor for each pair, so that exchanged lanes change the result. */
	for (i = 1; i < 4; i++) {
		sum[0] += sum[i] * lanes_of(2 * i + 1);
		sums[0] += sums[i] * lanes_of(2 * i + 1);
	}
	hash = hash_mix(hash_mix(hash, sum[0][0]), sum[0][1]);
	hash = hash_mix(hash_mix(hash, sums[0][0]), sums[0][1]);
	return (uint32_t)hash_mix(hash, hash_bytes(p, n));
}

/* ---- checked bytes ----------------------------------------------------------------------- */

/* Prefetches the next block, because lookups in order will need it soon. After the last block this
 * fetches some of the sums; unmapped memory is not fetched. */
PREFETCHING void expect_block(const uint8_t *p)
{
	size_t i;

	for (i = 0; i < PACK_BLOCK; i += PACK_ALIGN)
		__builtin_prefetch(p + i);
}

bool pack_check_blocks(struct pack_file *f, uint64_t first, uint64_t last)
{
	uint64_t i, off, n;

	for (i = first; i <= last; i++) {
		off = i * PACK_BLOCK;
		n = f->h.body_size - off < PACK_BLOCK ? f->h.body_size - off : PACK_BLOCK;
		if (f->good[i])
			continue;
		expect_block(f->body + off + n);
		if (dwarf_pack_sum(f->body + off, n) != f->sums[i]) {
			f->damaged = true;
			return false;
		}
		f->good[i] = 1;
	}
	return true;
}

/* ---- what they refer to ------------------------------------------------------------------- */

/* The numbers in a node's row; `up` is the distance to its parent, 0 for none. */
struct up {
	uint32_t up, func, file, line;
};

static bool read_odd(struct pack_file *f, uint32_t i, struct up *ret)
{
	const uint8_t *row = pack_row(f, PACK_ODD, i);

	*ret = (struct up){0};
	if (!row)
		return false;
	*ret = (struct up){pack_column(f, PACK_ODD, row, 0), pack_column(f, PACK_ODD, row, 1),
			   pack_column(f, PACK_ODD, row, 2),
			   dwarf_unzigzag32(pack_column(f, PACK_ODD, row, 3))};
	return true;
}

/* `bits` begin with the node's row. Returns false if it is damaged. */
static inline bool read_up(struct pack_file *f, const struct pack_rows *r, uint64_t bits,
			   struct up *ret)
{
	ret->up = (uint32_t)bits & r->mask[0];
	if (ret->up == r->mask[0] && ret->up)
		return read_odd(f, (uint32_t)((bits & pack_bit_mask(r->stride)) >> r->at[1]), ret);
	ret->func = (uint32_t)(bits >> r->at[1]) & r->mask[1];
	ret->line = (uint32_t)(bits >> r->at[2]) & r->mask[2];
	ret->file = 0;
	return true;
}

/* The bytes where the row of a node begins, checked; NULL: there is none. */
static const uint8_t *good_node(struct pack_file *f, uint32_t id)
{
	const struct pack_rows *r = &f->rows[PACK_NODES];
	uint64_t off = r->off + (uint64_t)id * r->stride / 8;

	if (id >= r->n)
		f->damaged = true;
	else if (pack_is_good(f, off, sizeof(uint64_t)))
		return f->body + off;
	return NULL;
}

struct dwarf_node dwarf_pack_node(struct pack_file *f, uint32_t id)
{
	const struct pack_rows *r = &f->rows[PACK_NODES];
	const uint8_t *row = good_node(f, id);
	struct up n;

	if (!row || !read_up(f, r, pack_bits(row, (uint64_t)id * r->stride % 8), &n))
		return (struct dwarf_node){0};
	return (struct dwarf_node){n.up - 1 < id ? id - n.up : 0, n.func, n.file, n.line};
}

/* Reads the nodes of a chain like dwarf_pack_node(), but checks each block only once: most of a
 * chain is in one. */
size_t dwarf_pack_chain(struct pack_file *f, uint32_t id, struct dwarf_at at, size_t skip,
			struct dwarf_at *chain, size_t max)
{
	const struct pack_rows *r = &f->rows[PACK_NODES];
	const uint32_t stride = r->stride;
	uintptr_t block = 0, room = PACK_BLOCK - sizeof(uint64_t);
	const uint8_t *row;
	uint64_t bit;
	size_t depth;
	struct up n;

	for (depth = 0; id; depth++) {
		bit = (uint64_t)id * stride;
		row = f->body + r->off + bit / 8;
		if ((uintptr_t)row - block > room) {
			row = good_node(f, id);
			if (!row)
				break;
			block = (uintptr_t)row - (uintptr_t)(row - f->body) % PACK_BLOCK;
		}
		if (!read_up(f, r, pack_bits(row, bit % 8), &n))
			break;
		if (depth - skip < max) {
			chain->func = n.func;
			chain->file = at.file;
			chain->line = at.line;
			chain++->source = at.source;
		}
		at.file = n.file;
		at.line = n.line;
		id = n.up - 1 < id ? id - n.up : 0;
	}
	return depth;
}

/* The name of the function in a row. */
static inline const char *name_at(struct pack_file *f, uint32_t id, const uint8_t *row)
{
	if (!f->names[id])
		f->names[id] = pack_string_read(f, pack_column(f, PACK_FUNCS, row, 0));
	return f->names[id];
}

static inline const char *path_at(struct pack_file *f, uint32_t id)
{
	const uint8_t *row;

	if (!id)
		return NULL;
	if (id < f->rows[PACK_FILES].n && f->paths[id])
		return f->paths[id];
	row = pack_row(f, PACK_FILES, id);
	return row ? f->paths[id] = pack_string_read(f, pack_column(f, PACK_FILES, row, 0)) : NULL;
}

void dwarf_pack_frame(struct pack_file *f, const struct dwarf_at *at, struct dwarf_frame *ret)
{
	const uint8_t *row = at->func ? pack_row(f, PACK_FUNCS, at->func) : NULL;
	uint32_t entry, file = at->file - 1;

	*ret = (struct dwarf_frame){.line = at->line};
	if (row) {
		ret->decl_line = pack_column(f, PACK_FUNCS, row, 1);
		ret->line += ret->decl_line;
		entry = pack_column(f, PACK_FUNCS, row, 2);
		if (entry == PACK_ENTRY_LINKAGE)
			ret->linkage_name = name_at(f, at->func, row);
		else
			ret->name = name_at(f, at->func, row);
		if (entry >= PACK_ENTRY_ZIGZAG)
			ret->entry = f->h.base + (uint64_t)pack_unzigzag(entry - PACK_ENTRY_ZIGZAG);
		if (!at->file)
			file = pack_column(f, PACK_FUNCS, row, 3);
	}
	if (row || at->file)
		ret->file = path_at(f, file);
}

struct dwarf_func dwarf_pack_func(struct pack_file *f, uint32_t id)
{
	const uint8_t *row = id ? pack_row(f, PACK_FUNCS, id) : NULL;
	struct dwarf_frame r;

	dwarf_pack_frame(f, &(struct dwarf_at){.func = id}, &r);
	return (struct dwarf_func){r.linkage_name, r.name, r.decl_line,
				   row ? pack_column(f, PACK_FUNCS, row, 3) : 0, r.entry};
}

const char *dwarf_pack_path(struct pack_file *f, uint32_t id)
{
	return path_at(f, id);
}
