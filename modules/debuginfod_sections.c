/* debuginfod_sections.c - a small debug file put together from single sections.
 *
 * Names need the symbol table and lines the line table: a fraction of a debug file, which servers
 * give out by themselves (debuginfod(8) "/buildid/ID/section/NAME"). What arrives are the bytes of
 * the section in the file, without its header: where it belongs, and whether it is compressed, has
 * to be known or seen. Sections of the image tell the rest: a debug file numbers those that are
 * loaded as the image does, and symbols refer to them by number. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "modules/debuginfod_cache.h"
#include "modules/find.h"
#include "modules/image.h"
#include "modules/inflate.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
	PIECES_MAX = 8,
	PIECE_BYTES_MAX = 1 << 30,
	UNIT_BYTES = 16, /* of the units made up for line tables */
	DYNSYMS_TO_COMPARE = 16,
};

struct piece {
	const char *name;
	uint32_t type;
	uint8_t *bytes; /* owned */
	size_t size;
};

struct pieces {
	struct piece v[PIECES_MAX];
	size_t n;
};

static void pieces_done(struct pieces *p)
{
	while (p->n)
		free(p->v[--p->n].bytes);
}

/* ---- getting them ------------------------------------------------------------------------ */

static int read_whole(const char *dir, const struct build_id *id, struct piece *p)
{
	enum module_miss why;
	int fd = cache_open(dir, id, p->name, &why), rc = -ERR_IO;
	struct stat st;
	size_t got = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -ERR_IO;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= PIECE_BYTES_MAX) {
		p->size = (size_t)st.st_size;
		p->bytes = malloc(p->size);
		while (p->bytes && got < p->size &&
		       (n = read(fd, p->bytes + got, p->size - got)) > 0)
			got += (size_t)n;
		rc = !p->bytes ? -ERR_NOMEM : got == p->size ? 0 : -ERR_IO;
	}
	close(fd);
	return rc;
}

/* Is it in the cache, or fetched into it where that may be done? */
static enum fetch_result locate(struct finder *f, const struct build_id *id, const char *name)
{
	const char *dir = f->places->debuginfod_dir;
	struct debuginfod_query q = {.id = id, .file = name};
	enum module_miss why;
	int fd;

	if (f->servers)
		return fetch_to_cache(f, id, name);
	fd = cache_open(dir, id, name, &why);
	if (fd < 0) {
		cache_path(dir, id, name, q.path);
		if (why != MODULE_MISS_NO_FILE)
			finder_note(f, q.path, why, NULL);
		return FETCH_NOT_FOUND;
	}
	close(fd);
	return cache_check(dir, &q);
}

static int add_made(struct pieces *all, const char *name, const uint8_t *bytes, size_t size)
{
	struct piece *p = &all->v[all->n];

	*p = (struct piece){
		.name = name, .type = SHT_PROGBITS, .size = size, .bytes = malloc(size)};
	if (!p->bytes)
		return -ERR_NOMEM;
	memcpy(p->bytes, bytes, size);
	all->n++;
	return 0;
}

/* ---- unpacking and checking -------------------------------------------------------------- */

/* Compressed sections come with Elf32_Chdr or Elf64_Chdr in front, and nothing says so. They begin
 * with ch_type, 1 or 2. None that is wanted here does so by itself: a symbol table begins with
 * zeroes, a string table with a zero or a letter, a line table with its length, which is larger. */
static int unpack(struct piece *p, const struct elf_image *base)
{
	struct buf b = buf_make(p->bytes, p->size, 0, base->swapped);
	uint32_t type = buf_u32(&b);
	uint8_t *plain;
	uint64_t size;
	int rc;

	if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD)
		return 0;
	if (base->is_64)
		buf_skip(&b, 4);
	size = base->is_64 ? buf_u64(&b) : buf_u32(&b);
	buf_skip(&b, base->is_64 ? 8 : 4);
	if (!buf_ok(&b) || size > PIECE_BYTES_MAX)
		return -ERR_DAMAGED;
	rc = inflate_sized(type == ELFCOMPRESS_ZSTD ? INFLATE_ZSTD : INFLATE_ZLIB, b.p,
			   buf_left(&b), size, &plain);
	if (rc)
		return rc;
	free(p->bytes);
	p->bytes = plain;
	p->size = (size_t)size;
	return 0;
}

/* The length of one line table and its header's version; the tables fill the section. */
static struct buf next_line_table(struct buf *b, uint16_t *version, unsigned *offset_size)
{
	uint64_t length = buf_u32(b);
	struct buf table;

	*offset_size = length == UINT32_MAX ? 8 : 4;
	if (*offset_size == 8)
		length = buf_u64(b);
	table = buf_sub(b, length);
	*version = buf_u16(&table);
	return table;
}

static bool line_tables_are_whole(const struct piece *p, bool swapped)
{
	struct buf b = buf_make(p->bytes, p->size, 0, swapped);

	while (buf_left(&b) && buf_ok(&b)) {
		unsigned offset_size;
		uint16_t version;
		struct buf table = next_line_table(&b, &version, &offset_size);

		if (!buf_ok(&table) || version < 2 || version > 5)
			return false;
	}
	return buf_ok(&b);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

struct sym {
	uint8_t info;
	uint16_t shndx;
	uint64_t value;
};

static struct sym sym_at(const uint8_t *table, size_t i, const struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct buf b = buf_make(table + i * entsize, entsize, 0, base->swapped);
	struct sym s;

	buf_u32(&b); /* st_name */
	if (base->is_64) {
		s.info = buf_u8(&b);
		buf_u8(&b);
		s.shndx = buf_u16(&b);
		s.value = buf_u64(&b);
		return s;
	}
	s.value = buf_u32(&b);
	buf_u32(&b); /* st_size */
	s.info = buf_u8(&b);
	buf_u8(&b);
	s.shndx = buf_u16(&b);
	return s;
}

static bool is_function(const struct sym *s)
{
	return s->shndx != SHN_UNDEF && s->shndx < SHN_LORESERVE &&
	       ELF64_ST_TYPE(s->info) == STT_FUNC;
}

static bool has_function_at(const struct piece *p, const struct elf_image *base, uint64_t value)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), i;

	for (i = 0; i < p->size / entsize; i++) {
		struct sym s = sym_at(p->bytes, i, base);

		if (s.value == value && is_function(&s))
			return true;
	}
	return false;
}

/* Symbols carry no build id; but the linker makes .dynsym a part of .symtab. A few of its functions
 * will do. */
static bool is_of_image(const struct piece *p, struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), i, looked_at = 0;
	struct elf_section dyn;

	if (!elf_image_section(base, ".dynsym", &dyn, NULL) || !dyn.data)
		return true;
	for (i = 0; i < dyn.size / entsize && looked_at < DYNSYMS_TO_COMPARE; i++) {
		struct sym s = sym_at(dyn.data, i, base);

		if (!is_function(&s))
			continue;
		if (!has_function_at(p, base, s.value))
			return false;
		looked_at++;
	}
	return true;
}

/* Law: gABI "Symbol Table" (the first entry is zero), "String Table" (first and last byte are
 * zero); DWARF5 7.22, 7.26. */
static bool is_plausible(const struct piece *p, struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	if (!p->size)
		return false;
	if (p->type == SHT_SYMTAB)
		return p->size % entsize == 0 && all_zero(p->bytes, entsize) &&
		       is_of_image(p, base);
	if (p->type == SHT_STRTAB)
		return !p->bytes[0] && !p->bytes[p->size - 1];
	return strcmp(p->name, ".debug_line") ? !p->bytes[p->size - 1]
					      : line_tables_are_whole(p, base->swapped);
}

/* Adds a section that is used only when it is right. */
static enum fetch_result add(struct finder *f, const struct build_id *id, struct pieces *all,
			     const char *name, uint32_t type)
{
	struct elf_image *base = f->entry->m.image;
	struct piece *p = &all->v[all->n];
	enum fetch_result r;
	int rc;

	*p = (struct piece){.name = name, .type = type};
	r = locate(f, id, name);
	if (r != FETCH_DONE)
		return r;
	rc = read_whole(f->places->debuginfod_dir, id, p);
	if (!rc)
		rc = unpack(p, base);
	if (!rc && !is_plausible(p, base))
		rc = -ERR_DAMAGED;
	if (!rc) {
		all->n++;
		return FETCH_DONE;
	}
	free(p->bytes);
	f->nomem |= rc == -ERR_NOMEM;
	if (rc != -ERR_DAMAGED)
		return FETCH_NO_CACHE;
	finder_note_fetch(f, name, FETCH_NOT_ELF, "");
	if (f->servers)
		cache_remove(f->places->debuginfod_dir, id, name);
	return FETCH_NOT_ELF;
}

/* ---- line tables without units ------------------------------------------------------------ */

/* Does a table of version 5 keep its names in .debug_str? gcc's and clang's keep them in
 * .debug_line_str, which is small. The first table's directories stand for all. Law: DWARF5 6.2.4,
 * items 2 to 15, and 7.5.6 for the form. */
static bool wants_debug_str(const struct piece *lines, bool swapped)
{
	struct buf b = buf_make(lines->bytes, lines->size, 0, swapped);
	unsigned offset_size, formats;
	uint16_t version;
	struct buf t = next_line_table(&b, &version, &offset_size);
	bool strp = false;

	if (version != 5)
		return false;
	buf_skip(&t, 2 + offset_size + 5); /* address_size .. line_range */
	buf_skip(&t, (uint64_t)buf_u8(&t) - 1);
	for (formats = buf_u8(&t); formats && buf_ok(&t); formats--) {
		buf_uleb(&t);
		strp |= buf_uleb(&t) == 0x0e; /* DW_FORM_strp */
	}
	return strp;
}

static void put(uint8_t **p, uint64_t v, unsigned size, bool big)
{
	unsigned i;

	for (i = 0; i < size; i++)
		*(*p)++ = (uint8_t)(v >> 8 * (big ? size - 1 - i : i));
}

/* Line tables are found through units. One that says nothing but where its table is does for each:
 * DWARF4 7.5.1, a header of 11 bytes and a root DIE with DW_AT_stmt_list. The second abbreviation,
 * a subprogram with an address, is used by none of them; it says that such units may have code,
 * although they do not tell where. */
static int add_units(struct pieces *all, const struct piece *lines, const struct elf_image *base)
{
	static const uint8_t abbrevs[] = {1, 0x11, 0, 0x10, 0x17, 0, 0, /* compile_unit */
					  2, 0x2e, 0, 0x11, 0x01, 0, 0, /* subprogram */
					  0};
	bool big = base->swapped == (__BYTE_ORDER == __LITTLE_ENDIAN);
	struct buf b = buf_make(lines->bytes, lines->size, 0, base->swapped);
	size_t n = 0, size;
	uint8_t *info, *p;
	int rc;

	while (buf_left(&b)) {
		unsigned offset_size;
		uint16_t version;

		next_line_table(&b, &version, &offset_size);
		n++;
	}
	size = n * UNIT_BYTES;
	p = info = malloc(size);
	if (!info)
		return -ERR_NOMEM;
	b = buf_make(lines->bytes, lines->size, 0, base->swapped);
	while (buf_left(&b)) {
		uint64_t at = buf_off(&b);
		unsigned offset_size;
		uint16_t version;

		next_line_table(&b, &version, &offset_size);
		put(&p, UNIT_BYTES - 4, 4, big);
		put(&p, 4, 2, big);
		put(&p, 0, 4, big);
		put(&p, base->is_64 ? 8 : 4, 1, big);
		put(&p, 1, 1, big);
		put(&p, at, 4, big);
	}
	rc = add_made(all, ".debug_info", info, size);
	free(info);
	return rc ? rc : add_made(all, ".debug_abbrev", abbrevs, sizeof abbrevs);
}

/* Without them there are still the symbols. */
static int add_lines(struct finder *f, const struct build_id *id, struct pieces *all)
{
	const struct elf_image *base = f->entry->m.image;
	const struct piece *lines = &all->v[all->n];
	int rc;

	if (add(f, id, all, ".debug_line", SHT_PROGBITS) != FETCH_DONE)
		return 0;
	rc = add_units(all, lines, base);
	if (rc)
		return rc;
	add(f, id, all, ".debug_line_str", SHT_PROGBITS);
	if (wants_debug_str(lines, base->swapped))
		add(f, id, all, ".debug_str", SHT_PROGBITS);
	return 0;
}

/* ---- all together ------------------------------------------------------------------------ */

static int copy_pieces(struct elf_image *img, const struct pieces *all, bool is_64)
{
	size_t first = img->n_sections, total = 0, i;
	uint8_t *p;

	for (i = 0; i < all->n; i++)
		total += all->v[i].size;
	p = malloc(total);
	if (!p)
		return -ERR_NOMEM;
	img->bytes = p;
	img->size = total;
	for (i = 0; i < all->n; i++) {
		const struct piece *from = &all->v[i];
		struct image_section *to = &img->sections[first + i];

		memcpy(p, from->bytes, from->size);
		to->name = from->name;
		to->s = (struct elf_section){
			.data = p,
			.size = from->size,
			.off = (uint64_t)(p - img->bytes),
			.type = from->type,
			.index = (uint32_t)(first + i),
			.align = 1,
		};
		if (from->type == SHT_SYMTAB) {
			to->s.link = to->s.index + 1;
			to->s.entsize = is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
		}
		p += from->size;
	}
	img->n_sections += all->n;
	return 0;
}

/* The sections of the base that are loaded, without contents, and the pieces. There are no
 * segments: it is no file that could be mapped. */
static struct elf_image *assemble(const struct elf_image *base, const struct pieces *all,
				  const struct build_id *id, const char *path)
{
	struct elf_image *img = calloc(1, sizeof *img);
	size_t i;

	if (!img)
		return NULL;
	pthread_mutex_init(&img->lock, NULL);
	img->path = strdup(path);
	img->is_64 = base->is_64;
	img->swapped = base->swapped;
	img->ehdr = base->ehdr;
	img->build_id = *id;
	img->is_partial = true;
	img->sections = calloc(base->n_sections + all->n, sizeof *img->sections);
	if (!img->path || !img->sections)
		goto nomem;
	for (i = 0; i < base->n_sections; i++) {
		struct image_section *s = &img->sections[i];
		bool loaded = base->sections[i].s.flags & SHF_ALLOC;

		/* The names stand in the base, which lives as long: both belong to the cache. */
		s->name = loaded ? base->sections[i].name : "";
		s->s = base->sections[i].s;
		s->s.data = NULL;
		s->s.type = loaded ? SHT_NOBITS : SHT_NULL;
	}
	img->n_sections = base->n_sections;
	if (!copy_pieces(img, all, base->is_64))
		return img;
nomem:
	elf_image_close(img);
	return NULL;
}

struct elf_image *fetch_sections(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 enum fetch_result *r)
{
	struct elf_image *base = f->entry->m.image, *img = NULL;
	struct pieces all = {0};
	char path[PATH_MAX];

	*r = FETCH_NOT_ASKED;
	/* Without the image nobody knows where the sections of the code lie. */
	if (!base || !base->n_sections || id->size < 2 || !*f->places->debuginfod_dir)
		return NULL;
	/* Only this one can be told to be of the right file. */
	*r = locate(f, id, ".note.gnu.build-id");
	if (*r == FETCH_DONE)
		*r = add(f, id, &all, ".symtab", SHT_SYMTAB);
	if (*r == FETCH_DONE)
		*r = add(f, id, &all, ".strtab", SHT_STRTAB);
	if (*r == FETCH_DONE && tier >= FETCH_TIER_LINE && add_lines(f, id, &all))
		f->nomem = true;
	cache_path(f->places->debuginfod_dir, id, ".symtab", path);
	if (*r == FETCH_DONE)
		img = assemble(base, &all, id, path);
	pieces_done(&all);
	if (*r != FETCH_DONE)
		return NULL;
	if (!img || !image_cache_add(f->cache, img)) {
		f->nomem = true;
		return NULL;
	}
	finder_note(f, elf_image_path(img), MODULE_MISS_NONE, NULL);
	return img;
}
