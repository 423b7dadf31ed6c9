/* read.c - finds the entries of a bundle and unpacks them. Nothing in the section is trusted. */
#include "bundle/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "bundle/holes.h"

/* Bounds on what a section of a few bytes can ask for: all its entries together unpack to at most
 * so many times its size and PACKED_FREE. Code and tables shrink to a third or a tenth. The address
 * space that a file with holes takes is not memory, but may be walked over. */
#define SIZE_MAX_BYTES	 (8ull << 30)
#define SIZES_MAX_BYTES	 (64ull << 30) /* of all together */
#define PACKED_MAX_BYTES (4ull << 30)
#define PACKED_TIMES_MAX 64
#define PACKED_FREE	 (64ull << 20)
#define PATH_BYTES_MAX	 4096u
#define ENTRIES_MAX	 (1u << 20)

enum { ALIGN = 8, SECTION_HEADER = 16 };

struct bundle {
	VEC(struct bundle_entry) entries;
	uint64_t lost, refused;
	const char *lost_path;
	struct arena paths;
};

static bool has_holes(enum bundle_kind kind)
{
	return kind == BUNDLE_IMAGE || kind == BUNDLE_DEBUG;
}

static uint64_t sum_of(const struct bundle_header *h, const uint8_t *path)
{
	struct bundle_header copy = *h;

	copy.sum = 0;
	return hash_mix(hash_bytes(&copy, sizeof copy), hash_bytes(path, h->path_bytes));
}

/* Is there an intact entry at p? *bytes: how many it takes. */
static bool take_entry(const uint8_t *p, size_t left, struct bundle_header *h, uint64_t *bytes)
{
	if (left < sizeof *h)
		return false;
	memcpy(h, p, sizeof *h);
	if (h->magic != BUNDLE_ENTRY_MAGIC || h->path_bytes > PATH_BYTES_MAX ||
	    h->path_bytes > left - sizeof *h || h->stored > left - sizeof *h - h->path_bytes ||
	    h->id_size > BUILD_ID_MAX)
		return false;
	*bytes = sizeof *h + h->path_bytes + h->stored;
	*bytes += -*bytes % ALIGN;
	return sum_of(h, p + sizeof *h) == h->sum;
}

static int add(struct bundle *b, const struct bundle_header *h, const uint8_t *p)
{
	struct bundle_entry e = {
		.kind = h->kind,
		.id.size = h->id_size,
		.maj = h->maj,
		.min = h->min,
		.ino = h->ino,
		.ino_generation = h->ino_generation,
		.size = h->size,
		.packed = h->packed,
		.flags = h->flags,
		.stored_bytes = h->stored,
		.stored = p + sizeof *h + h->path_bytes,
	};

	memcpy(e.id.bytes, h->id, sizeof h->id);
	e.path = arena_strndup(&b->paths, (const char *)p + sizeof *h, h->path_bytes);
	return !e.path || vec_push(&b->entries, e) ? -1 : 0;
}

/* For people: what a damaged header says. */
static int note_lost(struct bundle *b, const uint8_t *p, size_t left)
{
	struct bundle_header h;
	size_t i;

	if (b->lost_path || left < sizeof h)
		return 0;
	memcpy(&h, p, sizeof h);
	p += sizeof h;
	if (h.magic != BUNDLE_ENTRY_MAGIC || !h.path_bytes || h.path_bytes > PATH_BYTES_MAX ||
	    h.path_bytes > left - sizeof h)
		return 0;
	for (i = 0; i < h.path_bytes; i++)
		if (p[i] < ' ')
			return 0;
	b->lost_path = arena_strndup(&b->paths, (const char *)p, h.path_bytes);
	return b->lost_path ? 0 : -1;
}

static int read_entries(struct bundle *b, const uint8_t *section, size_t size)
{
	uint64_t off = SECTION_HEADER, bytes, room = PACKED_FREE + size * PACKED_TIMES_MAX;
	uint64_t space = SIZES_MAX_BYTES;
	struct bundle_header h;

	while (off < size && b->entries.n < ENTRIES_MAX) {
		if (!take_entry(section + off, size - off, &h, &bytes)) {
			if (note_lost(b, section + off, size - off))
				return -1;
			/* The next intact entry; lengths of damaged ones mean nothing. */
			b->lost += size - off < ALIGN ? size - off : ALIGN;
			off += ALIGN;
			continue;
		}
		if (h.packed > room || h.size > space)
			b->refused += bytes;
		else if (add(b, &h, section + off))
			return -1;
		else
			room -= h.packed, space -= h.size;
		off += bytes;
	}
	return 0;
}

int bundle_open(struct bundle **ret, const uint8_t *section, size_t size, struct err *err)
{
	struct buf in = buf_make(section, size, 0, false);
	const uint8_t *magic = buf_take(&in, 8);
	uint32_t version = buf_u32(&in);
	struct bundle *b;

	*ret = NULL;
	if (!magic || memcmp(magic, BUNDLE_MAGIC, 8))
		return err_set(err, ERR_DAMAGED, NULL, "its first bytes are not those of a bundle");
	if (version != BUNDLE_VERSION)
		return err_set(err, ERR_UNSUPPORTED, NULL,
			       "its version is %" PRIu32 ", this program knows %d", version,
			       BUNDLE_VERSION);
	b = calloc(1, sizeof *b);
	if (!b)
		return err_nomem(err);
	if (read_entries(b, section, size)) {
		bundle_free(b);
		return err_nomem(err);
	}
	*ret = b;
	return 0;
}

void bundle_free(struct bundle *b)
{
	if (!b)
		return;
	vec_done(&b->entries);
	arena_done(&b->paths);
	free(b);
}

size_t bundle_count(const struct bundle *b)
{
	return b ? b->entries.n : 0;
}

const struct bundle_entry *bundle_at(const struct bundle *b, size_t i)
{
	return &b->entries.v[i];
}

uint64_t bundle_lost_bytes(const struct bundle *b)
{
	return b->lost;
}

const char *bundle_lost_path(const struct bundle *b)
{
	return b->lost_path;
}

uint64_t bundle_refused_bytes(const struct bundle *b)
{
	return b->refused;
}

/* ---- finding ------------------------------------------------------------------------------ */

static bool has_id(const struct bundle_entry *e, const struct build_id *id, const char *path)
{
	return build_id_equal(&e->id, id) &&
	       (!(e->flags & BUNDLE_IS_TWIN) || !strcmp(e->path, path));
}

static bool is_of(const struct bundle_entry *e, const struct dso *dso)
{
	if (dso->build_id.size)
		return has_id(e, &dso->build_id, dso->path);
	return !strcmp(e->path, dso->path) && e->ino == dso->ino && e->maj == dso->maj &&
	       e->min == dso->min && e->ino_generation == dso->ino_generation;
}

const struct bundle_entry *bundle_find(const struct bundle *b, enum bundle_kind kind,
				       const struct dso *dso)
{
	size_t i;

	for (i = 0; i < bundle_count(b); i++)
		if (b->entries.v[i].kind == kind && is_of(&b->entries.v[i], dso))
			return &b->entries.v[i];
	return NULL;
}

const struct bundle_entry *bundle_find_id(const struct bundle *b, enum bundle_kind kind,
					  const struct build_id *id, const char *path)
{
	size_t i;

	for (i = 0; id->size && i < bundle_count(b); i++)
		if (b->entries.v[i].kind == kind && has_id(&b->entries.v[i], id, path))
			return &b->entries.v[i];
	return NULL;
}

bool bundle_has_twins(const struct bundle *b, const struct build_id *id)
{
	size_t i;

	for (i = 0; id->size && i < bundle_count(b); i++)
		if (b->entries.v[i].flags & BUNDLE_IS_TWIN &&
		    build_id_equal(&b->entries.v[i].id, id))
			return true;
	return false;
}

const struct bundle_entry *bundle_find_path(const struct bundle *b, enum bundle_kind kind,
					    const char *path)
{
	size_t i;

	for (i = 0; i < bundle_count(b); i++)
		if (b->entries.v[i].kind == kind && (!path || !strcmp(b->entries.v[i].path, path)))
			return &b->entries.v[i];
	return NULL;
}

const struct bundle_entry *bundle_find_map(const struct bundle *b, const struct dso *dso)
{
	const struct bundle_entry *first = bundle_find_path(b, BUNDLE_FILE, dso->path);
	size_t i;

	for (i = 0; dso->kind == DSO_ANON && i < bundle_count(b); i++) {
		const struct bundle_entry *e = &b->entries.v[i];

		if (e->kind == BUNDLE_FILE && e->ino_generation == dso->began_ns &&
		    !strcmp(e->path, dso->path))
			return e;
	}
	return first;
}

/* ---- unpacking ---------------------------------------------------------------------------- */

void bundle_bytes_done(struct bundle_bytes *b)
{
	if (b->v)
		munmap(b->v, b->mapped);
	*b = (struct bundle_bytes){0};
}

static int damaged(struct err *err, const struct bundle_entry *e, const char *why)
{
	return err_set(err, ERR_DAMAGED, NULL, "%s in the bundle: %s", e->path, why);
}

static int inflate(const struct bundle_entry *e, uint8_t *to, struct err *err)
{
	size_t n = ZSTD_decompress(to, e->packed, e->stored, e->stored_bytes);

	if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
		return err_nomem(err);
	if (ZSTD_isError(n))
		return damaged(err, e, ZSTD_getErrorName(n));
	return n == e->packed ? 0 : damaged(err, e, "it has another size than it says");
}

/* The ranges of a file with holes. */
static int each_range(const struct bundle_entry *e, const struct bundle_bytes *packed,
		      int (*take)(void *arg, const struct bundle_range *r), void *arg,
		      struct err *err)
{
	struct bundle_range r;
	int rc = 0;
	struct buf b = buf_make(packed->v, packed->n, 0, false), data = b;
	uint64_t n = buf_u64(&b), i;

	if (n > buf_left(&b) / 16)
		return damaged(err, e, "its list of ranges is cut");
	buf_skip(&data, 8 + n * 16);
	for (i = 0; i < n && !rc; i++) {
		r.off = buf_u64(&b);
		r.size = buf_u64(&b);
		r.bytes = buf_take(&data, r.size);
		if (!r.bytes || r.off > e->size || r.size > e->size - r.off)
			return damaged(err, e, "a range lies outside of the file");
		rc = take(arg, &r);
	}
	return rc;
}

/* Unpacks what is stored. */
static int unpack(const struct bundle_entry *e, struct bundle_bytes *ret, struct err *err)
{
	int rc;

	*ret = (struct bundle_bytes){0};
	if (e->size > SIZE_MAX_BYTES || e->packed > PACKED_MAX_BYTES || e->size == 0)
		return err_set(err, ERR_LIMIT, NULL,
			       "%s in the bundle says that it has %" PRIu64
			       " bytes, of which %" PRIu64 " are stored in %" PRIu64,
			       e->path, e->size, e->packed, e->stored_bytes);
	if (!has_holes(e->kind) && e->size != e->packed)
		return damaged(err, e, "its sizes differ");
	rc = holes_room(e->packed, true, ret, err);
	if (!rc)
		rc = inflate(e, ret->v, err);
	if (rc)
		bundle_bytes_done(ret);
	return rc;
}

int bundle_contents(const struct bundle_entry *e, struct bundle_bytes *ret, struct err *err)
{
	struct bundle_bytes packed;
	struct holes holes;
	int rc = unpack(e, &packed, err);

	*ret = (struct bundle_bytes){0};
	if (rc)
		return rc;
	if (!has_holes(e->kind)) {
		*ret = packed;
		return 0;
	}
	rc = holes_begin(&holes, e->size, e->packed, err);
	if (!rc) {
		rc = each_range(e, &packed, holes_put, &holes, err);
		rc = holes_finish(&holes, rc, ret, err);
	}
	bundle_bytes_done(&packed);
	return rc;
}

int bundle_ranges(const struct bundle_entry *e,
		  int (*take)(void *arg, const struct bundle_range *r), void *arg, struct err *err)
{
	struct bundle_bytes packed;
	struct bundle_range all = {0};
	int rc = unpack(e, &packed, err);

	if (rc)
		return rc;
	all.size = packed.n;
	all.bytes = packed.v;
	rc = has_holes(e->kind) ? each_range(e, &packed, take, arg, err) : take(arg, &all);
	bundle_bytes_done(&packed);
	return rc;
}
