/* write.c - packs entries. */
#include "bundle/bundle.h"

#include <string.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/pages.h"

enum { ALIGN = 8 };

static int put(struct bundle_blob *out, const void *p, size_t n)
{
	if (vec_reserve(out, out->n + n))
		return -1;
	if (n)
		memcpy(out->v + out->n, p, n);
	out->n += n;
	return 0;
}

int bundle_begin(struct bundle_blob *out)
{
	const uint32_t version[2] = {BUNDLE_VERSION, 0};

	return put(out, BUNDLE_MAGIC, 8) || put(out, version, sizeof version) ? -1 : 0;
}

int bundle_join(struct bundle_blob *out, const struct bundle_blob *entry)
{
	return put(out, entry->v, entry->n);
}

static bool has_holes(enum bundle_kind kind)
{
	return kind == BUNDLE_IMAGE || kind == BUNDLE_DEBUG;
}

/* What the frame holds. */
static int gather(struct bundle_blob *packed, enum bundle_kind kind,
		  const struct bundle_range *ranges, size_t n)
{
	uint64_t count = n, room = 8 + 16 * n;
	int rc = 0;
	size_t i;

	for (i = 0; i < n; i++)
		room += ranges[i].size;
	packed->v = pages_alloc((size_t)room);
	if (!packed->v)
		return -1;
	packed->cap = (size_t)room;
	if (has_holes(kind))
		rc = put(packed, &count, sizeof count);

	for (i = 0; i < n && !rc && has_holes(kind); i++)
		rc = put(packed, &ranges[i].off, 8) || put(packed, &ranges[i].size, 8);
	for (i = 0; i < n && !rc; i++)
		rc = put(packed, ranges[i].bytes, (size_t)ranges[i].size);
	return rc ? -1 : 0;
}

/* Returns the size of the frame, which is written to the end of *out; 0 when out of memory. */
static size_t compress(struct bundle_blob *out, const struct bundle_blob *packed, int level)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t n = 0, room = ZSTD_compressBound(packed->n);

	if (zstd && !vec_reserve(out, out->n + room)) {
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
		ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(zstd, out->v + out->n, room, packed->v, packed->n);
		n = ZSTD_isError(n) ? 0 : n;
		out->n += n;
	}
	ZSTD_freeCCtx(zstd);
	return n;
}

static struct bundle_header header_of(const struct bundle_entry *e,
				      const struct bundle_blob *packed)
{
	struct bundle_header h = {
		.magic = BUNDLE_ENTRY_MAGIC,
		.kind = (uint32_t)e->kind,
		.id_size = e->id.size,
		.maj = e->maj,
		.min = e->min,
		.ino = e->ino,
		.ino_generation = e->ino_generation,
		.size = has_holes(e->kind) ? e->size : packed->n,
		.packed = packed->n,
		.path_bytes = (uint32_t)strlen(e->path),
		.flags = e->flags,
	};

	memcpy(h.id, e->id.bytes, sizeof h.id);
	return h;
}

int bundle_put(struct bundle_blob *out, const struct bundle_entry *e,
	       const struct bundle_range *ranges, size_t n, int level)
{
	static const uint8_t zeros[ALIGN];
	struct bundle_blob packed = {0};
	size_t at = out->n;
	struct bundle_header h;
	int rc = gather(&packed, e->kind, ranges, n);

	h = header_of(e, &packed);
	if (!rc)
		rc = put(out, &h, sizeof h) || put(out, e->path, h.path_bytes);
	if (!rc)
		h.stored = compress(out, &packed, level);
	if (!rc && !h.stored)
		rc = -1;
	if (!rc)
		rc = put(out, zeros, -(out->n - at) % ALIGN);
	vec_done(&packed);
	if (rc) {
		out->n = at;
		return -1;
	}
	h.sum = hash_mix(hash_bytes(&h, sizeof h), hash_bytes(e->path, h.path_bytes));
	memcpy(out->v + at, &h, sizeof h);
	return 0;
}
