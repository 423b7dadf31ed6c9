/* debuginfod_pieces.c - single sections: got, unpacked, and checked as far as they can be.
 *
 * What arrives are the bytes of the section in the file, without its header: whether it is
 * compressed, and whether it is of this file at all, has to be seen from its contents. */
#include "modules/debuginfod_pieces.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modules/debuginfod_cache.h"
#include "modules/image.h"
#include "modules/inflate.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
	PIECE_BYTES_MAX = 1 << 30,
	DYNSYMS_TO_COMPARE = 16,
};

void pieces_done(struct pieces *p)
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
enum fetch_result pieces_locate(struct finder *f, const struct build_id *id, const char *name)
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
struct buf next_line_table(struct buf *b, uint16_t *version, unsigned *offset_size)
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

/* Law: gABI "Symbol Table" (the first entry is zero), "String Table" (first and last byte are
 * zero); DWARF5 7.22, 7.26. */
static bool is_plausible(const struct piece *p, const struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	if (!p->size)
		return false;
	if (p->type == SHT_SYMTAB)
		return p->size % entsize == 0 && all_zero(p->bytes, entsize);
	if (p->type == SHT_STRTAB)
		return !p->bytes[0] && !p->bytes[p->size - 1];
	return strcmp(p->name, ".debug_line") ? !p->bytes[p->size - 1]
					      : line_tables_are_whole(p, base->swapped);
}

/* Adds a section that is used only when it is right. */
enum fetch_result pieces_add(struct finder *f, const struct build_id *id, struct pieces *all,
			     const char *name, uint32_t type)
{
	const struct elf_image *base = f->entry->m.image;
	struct piece *p = &all->v[all->n];
	enum fetch_result r;
	int rc;

	*p = (struct piece){.name = name, .type = type};
	r = pieces_locate(f, id, name);
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

/* ---- symbols of the right file ------------------------------------------------------------ */

struct symbols {
	const uint8_t *table;
	size_t n;
	const char *strings;
	size_t strings_size;
};

/* A defined function, or a name of "". */
struct sym {
	const char *name;
	uint64_t value;
};

static struct sym sym_at(const struct symbols *t, size_t i, const struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	struct buf b = buf_make(t->table + i * entsize, entsize, 0, base->swapped);
	uint32_t name = buf_u32(&b);
	struct sym s = {.name = ""};
	uint16_t shndx;
	uint8_t info;

	if (!base->is_64) {
		s.value = buf_u32(&b);
		buf_u32(&b); /* st_size */
	}
	info = buf_u8(&b);
	buf_u8(&b); /* st_other */
	shndx = buf_u16(&b);
	if (base->is_64)
		s.value = buf_u64(&b);
	if (shndx != SHN_UNDEF && shndx < SHN_LORESERVE && ELF64_ST_TYPE(info) == STT_FUNC &&
	    name < t->strings_size)
		s.name = t->strings + name;
	return s;
}

/* Names in .symtab may have a version, "@GLIBC_2.34"; those in .dynsym never have. */
static bool same_function(const struct sym *in_symtab, const struct sym *in_dynsym)
{
	size_t n = strlen(in_dynsym->name);

	return in_symtab->value == in_dynsym->value &&
	       !strncmp(in_symtab->name, in_dynsym->name, n) &&
	       (!in_symtab->name[n] || in_symtab->name[n] == '@');
}

static bool has_function(const struct symbols *t, const struct sym *wanted,
			 const struct elf_image *base)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		struct sym s = sym_at(t, i, base);

		if (same_function(&s, wanted))
			return true;
	}
	return false;
}

/* Symbols carry no build id; but the linker makes .dynsym a part of .symtab. A few of its functions
 * will do. Both string tables end with a zero. */
static bool symbols_are_of_image(const struct piece *symtab, const struct piece *strtab,
				 struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), i, looked_at = 0;
	const struct symbols full = {symtab->bytes, symtab->size / entsize,
				     (const char *)strtab->bytes, strtab->size};
	struct elf_section dyn, str;
	struct symbols part;

	if (!elf_image_section(base, ".dynsym", &dyn, NULL) || !dyn.data ||
	    !elf_image_section(base, ".dynstr", &str, NULL) || !str.data || !str.size ||
	    str.data[str.size - 1])
		return true;
	part = (struct symbols){dyn.data, dyn.size / entsize, (const char *)str.data, str.size};
	for (i = 0; i < part.n && looked_at < DYNSYMS_TO_COMPARE; i++) {
		struct sym s = sym_at(&part, i, base);

		if (!*s.name)
			continue;
		if (!has_function(&full, &s, base))
			return false;
		looked_at++;
	}
	return true;
}

enum fetch_result pieces_add_symbols(struct finder *f, const struct build_id *id,
				     struct pieces *all)
{
	static const char symtab[] = ".symtab", strtab[] = ".strtab";
	enum fetch_result r = pieces_add(f, id, all, symtab, SHT_SYMTAB);

	if (r == FETCH_DONE)
		r = pieces_add(f, id, all, strtab, SHT_STRTAB);
	if (r != FETCH_DONE ||
	    symbols_are_of_image(&all->v[all->n - 2], &all->v[all->n - 1], f->entry->m.image))
		return r;
	finder_note_fetch(f, symtab, FETCH_NOT_ELF, "the functions of .dynsym are not in it");
	if (f->servers) {
		cache_remove(f->places->debuginfod_dir, id, symtab);
		cache_remove(f->places->debuginfod_dir, id, strtab);
	}
	return FETCH_NOT_ELF;
}
