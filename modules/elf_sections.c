/* elf_sections.c - the section table of an ELF image, its compressed contents, and its notes.
 *
 * Source: ELF gABI chapter 4, "Sections" and "Section Compression"; the old GNU form .zdebug_* is
 * "ZLIB", the size as 8 bytes big-endian, and a zlib stream. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pages.h"
#include "modules/decompress.h"
#include "modules/image.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Limit on the notes of a section: alignments and counts are read from files, and no real note
 * section has more. */
#define NOTES_MAX 4096

static Elf64_Shdr read_shdr(struct buf *b, bool is_64)
{
	Elf64_Shdr s = {0};

	s.sh_name = buf_u32(b);
	s.sh_type = buf_u32(b);
	s.sh_flags = is_64 ? buf_u64(b) : buf_u32(b);
	s.sh_addr = is_64 ? buf_u64(b) : buf_u32(b);
	s.sh_offset = is_64 ? buf_u64(b) : buf_u32(b);
	s.sh_size = is_64 ? buf_u64(b) : buf_u32(b);
	s.sh_link = buf_u32(b);
	s.sh_info = buf_u32(b);
	s.sh_addralign = is_64 ? buf_u64(b) : buf_u32(b);
	s.sh_entsize = is_64 ? buf_u64(b) : buf_u32(b);
	return s;
}

/* Reads entry i of a table whose bytes were checked. */
static Elf64_Shdr shdr_at(const struct elf_image *img, const uint8_t *table, size_t i)
{
	size_t entsize = img->ehdr.e_shentsize;
	struct buf b = buf_make(table + i * entsize, entsize, 0, img->swapped);

	return read_shdr(&b, img->is_64);
}

static const char *name_in(const uint8_t *strings, uint64_t size, uint32_t at)
{
	if (!strings || at >= size || !memchr(strings + at, 0, (size_t)(size - at)))
		return "";
	return (const char *)strings + at;
}

static struct image_section make_section(const struct elf_image *img, const Elf64_Shdr *s,
					 const char *name, size_t index)
{
	struct image_section r = {.name = name};

	r.s = (struct elf_section){
		.size = s->sh_size,
		.vaddr = s->sh_addr,
		.off = s->sh_offset,
		.type = s->sh_type,
		.flags = s->sh_flags,
		.link = s->sh_link,
		.info = s->sh_info,
		.entsize = s->sh_entsize,
		.index = (uint32_t)index,
		.align = s->sh_addralign,
	};
	if (s->sh_type != SHT_NOBITS)
		r.s.data = image_bytes_at(img, s->sh_offset, s->sh_size);
	r.zdebug = !strncmp(name, ".zdebug_", 8);
	return r;
}

int image_read_sections(struct elf_image *img, struct err *err)
{
	size_t entsize = img->ehdr.e_shentsize, n = img->ehdr.e_shnum, strndx, i;
	const uint8_t *table, *strings = NULL;
	uint64_t strings_size = 0;
	Elf64_Shdr first, str;

	if (!img->ehdr.e_shoff || entsize < (img->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return 0;
	table = image_bytes_at(img, img->ehdr.e_shoff, entsize);
	if (!table)
		return 0;
	first = shdr_at(img, table, 0);
	if (!n)
		n = first.sh_size < img->size ? (size_t)first.sh_size : 0;
	strndx = img->ehdr.e_shstrndx == SHN_XINDEX ? first.sh_link : img->ehdr.e_shstrndx;
	if (!n || n > img->size / entsize || !image_bytes_at(img, img->ehdr.e_shoff, n * entsize))
		return 0;
	if (strndx < n) {
		str = shdr_at(img, table, strndx);
		strings = image_bytes_at(img, str.sh_offset, str.sh_size);
		strings_size = str.sh_size;
	}
	img->sections = calloc(n, sizeof *img->sections);
	if (!img->sections)
		return err_nomem(err);
	for (i = 0; i < n; i++) {
		Elf64_Shdr s = shdr_at(img, table, i);

		img->sections[i] =
			make_section(img, &s, name_in(strings, strings_size, s.sh_name), i);
	}
	img->n_sections = n;
	return 0;
}

/* ---- contents ---------------------------------------------------------------------------- */

static bool is_compressed(const struct image_section *sec)
{
	return sec->s.flags & SHF_COMPRESSED || sec->zdebug;
}

/* Reads the header of a compressed section; *b is then at the bytes after it. */
static int read_claim(const struct elf_image *img, const struct image_section *sec, struct buf *b,
		      enum decompress_kind *kind, uint64_t *size)
{
	*b = buf_make(sec->s.data, sec->s.data ? sec->s.size : 0, 0, img->swapped);
	*kind = DECOMPRESS_ZLIB;
	if (sec->s.flags & SHF_COMPRESSED) {
		uint32_t type = buf_u32(b);

		if (img->is_64)
			buf_skip(b, 4);
		*size = img->is_64 ? buf_u64(b) : buf_u32(b);
		buf_skip(b, img->is_64 ? 8 : 4);
		if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
			return -ERR_UNSUPPORTED;
		*kind = type == ELFCOMPRESS_ZSTD ? DECOMPRESS_ZSTD : DECOMPRESS_ZLIB;
	} else {
		const uint8_t *magic = buf_take(b, 4);

		if (!magic || memcmp(magic, "ZLIB", 4))
			return -ERR_DAMAGED;
		b->swap = __BYTE_ORDER == __LITTLE_ENDIAN;
		*size = buf_u64(b);
	}
	return buf_ok(b) ? 0 : -ERR_DAMAGED;
}

/* Are `wanted` bytes too many, or all sections together that could be inflated? The result must
 * depend neither on which sections are requested nor on their order. A section that is too large by
 * itself will not be inflated, and does not prevent the others. */
static bool grows_too_much(const struct elf_image *img, uint64_t wanted)
{
	const uint64_t limit = decompress_limit(img->stored_bytes);
	uint64_t left = limit, size;
	enum decompress_kind kind;
	struct buf b;
	size_t i;

	for (i = 0; wanted <= limit && i < img->n_sections; i++) {
		const struct image_section *sec = &img->sections[i];

		if (!is_compressed(sec) || read_claim(img, sec, &b, &kind, &size) || size > limit)
			continue;
		if (size > left)
			return true;
		left -= size;
	}
	return wanted > limit;
}

/* Inflates into the same memory as before, if this is not the first time. */
static int decompress_section(const struct elf_image *img, struct image_section *sec,
			      const struct elf_watch *watch)
{
	enum decompress_kind kind;
	struct buf b;
	uint64_t size;
	int rc = read_claim(img, sec, &b, &kind, &size);

	if (rc)
		return rc;
	/* Another process may have changed the file meanwhile. */
	if (sec->inflated && size != sec->inflated_size)
		return -ERR_DAMAGED;
	if (!sec->inflated)
		rc = grows_too_much(img, size) ? -ERR_LIMIT : decompress_room(size, &sec->inflated);
	sec->inflated_size = size;
	return rc ? rc : decompress_into(kind, b.p, buf_left(&b), sec->inflated, size, watch);
}

/* Inflates a section once, and again if parts of it were released. Several sections are inflated in
 * parallel: in debug files this takes a second. */
static void inflate_once(struct elf_image *img, struct image_section *sec,
			 const struct elf_watch *watch)
{
	bool first = false;
	int rc;

	pthread_mutex_lock(&img->lock);
	while (sec->inflating)
		pthread_cond_wait(&img->inflated, &img->lock);
	if (!sec->whole && !sec->decompress_failed) {
		sec->inflating = sec->whole = true;
		first = !sec->inflated;
		pthread_mutex_unlock(&img->lock);
		rc = decompress_section(img, sec, watch);
		pthread_mutex_lock(&img->lock);
		if (rc && first && !watch) {
			free(sec->inflated);
			sec->inflated = NULL;
		}
		sec->decompress_failed = (enum err_code) - rc;
		sec->inflating = false;
		pthread_cond_broadcast(&img->inflated);
	}
	pthread_mutex_unlock(&img->lock);
}

static bool section_contents(struct elf_image *img, struct image_section *sec,
			     const struct elf_watch *watch, struct elf_section *ret,
			     enum err_code *why)
{
	*ret = sec->s;
	if (sec->s.type == SHT_NOBITS)
		return true;
	if (!sec->s.data) {
		*why = ERR_DAMAGED;
		return false;
	}
	if (!is_compressed(sec))
		return true;
	inflate_once(img, sec, watch);
	if (sec->decompress_failed) {
		*why = sec->decompress_failed == ERR_NOMEM || sec->decompress_failed == ERR_LIMIT
			       ? sec->decompress_failed
			       : ERR_DAMAGED;
		return false;
	}
	ret->data = sec->inflated;
	ret->size = sec->inflated_size;
	ret->flags &= ~(uint64_t)SHF_COMPRESSED;
	return true;
}

static struct image_section *find_section(const struct elf_image *img, const char *name)
{
	struct image_section *old = NULL;
	size_t i;

	for (i = 0; i < img->n_sections; i++) {
		struct image_section *sec = &img->sections[i];

		if (!strcmp(sec->name, name))
			return sec;
		/* ".zdebug_x" for ".debug_x" */
		if (sec->zdebug && !old && name[0] == '.' && !strcmp(sec->name + 2, name + 1))
			old = sec;
	}
	return old;
}

bool elf_image_section_watched(struct elf_image *img, const char *name,
			       const struct elf_watch *watch, struct elf_section *ret,
			       enum err_code *why)
{
	struct image_section *sec = find_section(img, name);
	enum err_code unused;

	if (!why)
		why = &unused;
	if (!sec) {
		*why = ERR_NOT_FOUND;
		return false;
	}
	return section_contents(img, sec, watch, ret, why);
}

bool elf_image_section(struct elf_image *img, const char *name, struct elf_section *ret,
		       enum err_code *why)
{
	return elf_image_section_watched(img, name, NULL, ret, why);
}

const char *elf_image_refused(struct elf_image *img)
{
	const char *name = NULL;
	size_t i;

	pthread_mutex_lock(&img->lock);
	for (i = 0; i < img->n_sections && !name; i++)
		if (img->sections[i].decompress_failed == ERR_LIMIT)
			name = img->sections[i].name;
	pthread_mutex_unlock(&img->lock);
	return name;
}

static uint8_t *copy_ranges(const uint8_t *data, const struct elf_range *keep, size_t n)
{
	size_t total = 0, i;
	uint8_t *copy;

	for (i = 0; i < n; i++)
		total += (size_t)(keep[i].end - keep[i].start);
	copy = malloc(total + 1);
	for (total = i = 0; copy && i < n; total += (size_t)(keep[i].end - keep[i].start), i++)
		memcpy(copy + total, data + keep[i].start, (size_t)(keep[i].end - keep[i].start));
	return copy;
}

void elf_image_section_let_go(struct elf_image *img, const char *name, struct elf_range what,
			      const struct elf_range *keep, size_t n)
{
	struct image_section *sec = find_section(img, name);
	uint8_t *copy = NULL;
	size_t at = 0, i;

	if (!sec || !sec->inflated)
		return;
	copy = copy_ranges(sec->inflated, keep, n);
	if (!copy)
		return;
	pthread_mutex_lock(&img->lock);
	sec->whole = false;
	pthread_mutex_unlock(&img->lock);
	pages_empty(sec->inflated + what.start, (size_t)(what.end - what.start));
	for (i = 0; i < n; at += (size_t)(keep[i].end - keep[i].start), i++)
		memcpy(sec->inflated + keep[i].start, copy + at,
		       (size_t)(keep[i].end - keep[i].start));
	free(copy);
}

bool image_has(const struct elf_image *img, const char *name)
{
	const struct image_section *sec = find_section(img, name);

	return sec && sec->s.data && sec->s.size;
}

size_t elf_image_section_count(const struct elf_image *img)
{
	return img->n_sections;
}

bool elf_image_section_at(struct elf_image *img, size_t index, const char **name,
			  struct elf_section *ret)
{
	const struct image_section *sec;

	if (index >= img->n_sections)
		return false;
	sec = &img->sections[index];
	*name = sec->name;
	*ret = sec->s;
	if (is_compressed(sec))
		ret->data = NULL;
	return true;
}

/* ---- notes ------------------------------------------------------------------------------- */

static bool build_id_in(const struct elf_image *img, uint64_t off, uint64_t size, uint64_t align,
			struct build_id *ret)
{
	const uint8_t *p = image_bytes_at(img, off, size);
	struct buf b = buf_make(p, p ? (size_t)size : 0, off, img->swapped);
	unsigned i;

	/* Notes in 64-bit files use 4-byte alignment except where the table itself says 8. */
	align = align == 8 ? 8 : 4;
	for (i = 0; i < NOTES_MAX && buf_left(&b) >= 12; i++) {
		uint32_t namesz = buf_u32(&b), descsz = buf_u32(&b), type = buf_u32(&b);
		const uint8_t *name = buf_take(&b, namesz), *desc;

		buf_skip(&b, -(uint64_t)(b.p - b.data) & (align - 1));
		desc = buf_take(&b, descsz);
		if (!buf_ok(&b))
			return false;
		if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4) && descsz) {
			ret->size = descsz < BUILD_ID_MAX ? (uint8_t)descsz : BUILD_ID_MAX;
			memcpy(ret->bytes, desc, ret->size);
			return true;
		}
		buf_skip(&b, -(uint64_t)(b.p - b.data) & (align - 1));
	}
	return false;
}

/* Sections are searched first: eu-strip copies the program headers of the binary into debug files,
 * where their offsets are wrong. */
struct build_id image_note_build_id(const struct elf_image *img)
{
	struct build_id id = {0};
	size_t i;

	for (i = 0; i < img->n_sections; i++) {
		const struct elf_section *s = &img->sections[i].s;

		if (s->type == SHT_NOTE && s->data && build_id_in(img, s->off, s->size, 4, &id))
			return id;
	}
	for (i = 0; i < img->n_phdrs; i++) {
		const Elf64_Phdr *p = &img->phdrs[i];

		if (p->p_type == PT_NOTE &&
		    build_id_in(img, p->p_offset, p->p_filesz, p->p_align, &id))
			return id;
	}
	return id;
}
