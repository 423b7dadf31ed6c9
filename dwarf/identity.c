/* identity.c - identifies the state of the files that a table was compiled from.
 *
 * A build id stays the same when debug information is stripped, split off, compressed or rewritten
 * by dwz, and some people build with fixed ids. So the key also covers the addresses of code, and
 * the debug sections as they are in the file: their sizes, and samples of their bytes. Compressed
 * sections end with a checksum of their whole contents (RFC 1950 2.2; zstd may have one), so the
 * end is always among the samples. None of this changes if the id is fixed and one unit of many
 * gets one line more; then the modification time of the file decides. Without a build id all bytes
 * are hashed. */
#include <string.h>

#include "base/cache_file.h"
#include "base/hash.h"
#include "dwarf/cache.h"
#include "modules/modules.h"
#include "reader/reader.h"

enum { SAMPLE_BYTES = 1024, SAMPLES = 8 };

struct identity {
	uint64_t v[2];
};

static void mix(struct identity *id, uint64_t x)
{
	id->v[0] = hash_mix(id->v[0], x);
	id->v[1] = hash_mix(id->v[1] ^ 0x5bd1e9955bd1e995u, x + 1);
}

static void mix_bytes(struct identity *id, const uint8_t *p, uint64_t n, bool whole)
{
	uint64_t i;

	if (whole || n <= (uint64_t)SAMPLES * SAMPLE_BYTES) {
		mix(id, hash_bytes(p, n));
		return;
	}
	for (i = 0; i < SAMPLES; i++)
		mix(id, hash_bytes(p + (n - SAMPLE_BYTES) / (SAMPLES - 1) * i, SAMPLE_BYTES));
	mix(id, hash_bytes(p + n - SAMPLE_BYTES, SAMPLE_BYTES));
}

static void mix_section(struct identity *id, struct elf_image *img, const char *name,
			const struct elf_section *s, bool whole)
{
	bool debug = !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8);
	const uint8_t *bytes;
	size_t size;

	if (s->flags & SHF_EXECINSTR) {
		mix(id, s->vaddr);
		mix(id, s->size);
	}
	if (!debug || s->type == SHT_NOBITS || s->type == SHT_NULL)
		return;
	bytes = elf_image_bytes(img, &size);
	mix(id, hash_bytes(name, strlen(name)));
	mix(id, s->flags);
	mix(id, s->size);
	if (s->off <= size && s->size <= size - s->off)
		mix_bytes(id, bytes + s->off, s->size, whole);
}

static void mix_image(struct identity *id, struct elf_image *img)
{
	const struct build_id *build_id = elf_image_build_id(img);
	size_t i;

	mix(id, hash_bytes(build_id->bytes, build_id->size));
	if (build_id->size)
		mix(id, elf_image_mtime_ns(img));
	mix(id, elf_image_machine(img));
	mix(id, elf_image_type(img));
	for (i = 0; i < elf_image_section_count(img); i++) {
		struct elf_section s;
		const char *name;

		if (elf_image_section_at(img, i, &name, &s))
			mix_section(id, img, name, &s, !build_id->size);
	}
}

void dwarf_cache_key(struct elf_image *img, struct elf_image *alt, struct pack_key *ret)
{
	struct identity id = {{0, 0}};

	mix_image(&id, img);
	if (alt)
		mix_image(&id, alt);
	mix(&id, cache_file_maker());
	memset(ret, 0, sizeof *ret);
	ret->build_id = *elf_image_build_id(img);
	ret->identity[0] = id.v[0];
	ret->identity[1] = id.v[1];
}
