/* debuginfod_pieces.c - single sections: got, unpacked, and checked for their form.
 *
 * What arrives are the bytes of the section in the file, without its header: whether it is
 * compressed has to be seen from its contents. That it is of this file is believed, as gdb does:
 * who lists a server in DEBUGINFOD_URLS trusts what it says of a build id. */
#include "modules/debuginfod_pieces.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "modules/debuginfod_cache.h"
#include "modules/image.h"
#include "modules/decompress.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum { PIECE_BYTES_MAX = 1 << 30 };

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
	const char *dir = f->dirs->debuginfod_dir;
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
	rc = decompress_sized(type == ELFCOMPRESS_ZSTD ? DECOMPRESS_ZSTD : DECOMPRESS_ZLIB, b.p,
			      buf_left(&b), size, &plain);
	if (rc)
		return rc;
	free(p->bytes);
	p->bytes = plain;
	p->size = (size_t)size;
	return 0;
}

/* The next of the tables, which fill the section: its header, from the version on, and the size of
 * offsets. */
static struct buf next_table(struct buf *b, unsigned *offset_size, uint16_t *version)
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

static bool line_tables_are_whole(const struct piece *line, bool swapped)
{
	struct buf b = buf_make(line->bytes, line->size, 0, swapped);
	unsigned offset_size;
	uint16_t version;

	while (buf_left(&b) && buf_ok(&b)) {
		struct buf table = next_table(&b, &offset_size, &version);

		if (!buf_ok(&table) || version < 2 || version > 5)
			return false;
	}
	return buf_ok(&b);
}

/* DWARF5 6.2.4: up to the forms of directories, which those of files are, too. */
static void add_needs(struct buf *table, unsigned offset_size, struct line_needs *needs)
{
	unsigned opcode_base, n;

	buf_skip(table, 2 + offset_size + 5); /* sizes; header_length; up to line_range */
	opcode_base = buf_u8(table);
	buf_skip(table, opcode_base ? opcode_base - 1 : 0);
	for (n = buf_u8(table); n && buf_ok(table); n--) {
		uint64_t form;

		buf_uleb(table); /* what it is */
		form = buf_uleb(table);
		needs->line_str |= form == DW_FORM_line_strp;
		needs->str |= form == DW_FORM_strp;
	}
}

struct line_needs pieces_line_needs(const struct piece *line, bool swapped)
{
	struct buf b = buf_make(line->bytes, line->size, 0, swapped);
	struct line_needs needs = {0};
	unsigned offset_size;
	uint16_t version;

	while (buf_left(&b) && buf_ok(&b)) {
		struct buf table = next_table(&b, &offset_size, &version);

		if (version == 5)
			add_needs(&table, offset_size, &needs);
	}
	return needs;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

/* Source: gABI "Symbol Table" (the first entry is zero), "String Table" (first and last byte are
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

void pieces_refuse(struct finder *f, const struct build_id *id, const char *name,
		   enum fetch_result r, const char *why)
{
	finder_note_fetch(f, name, r, why);
	f->refused_note = f->fetch_note;
	if (f->servers)
		cache_remove(f->dirs->debuginfod_dir, id, name);
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
	rc = read_whole(f->dirs->debuginfod_dir, id, p);
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
	pieces_refuse(f, id, name, FETCH_NOT_ELF, "");
	return FETCH_NOT_ELF;
}
