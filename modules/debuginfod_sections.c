/* debuginfod_sections.c - makes a small debug file from single sections.
 *
 * Function names need the symbol table, and lines the line table: a fraction of a debug file.
 * Servers send single sections (debuginfod(8) "/buildid/ID/section/NAME"), as they are in the file
 * but without their headers. Their section numbers are known from the image: a debug file numbers
 * the loaded sections as the image does, and symbols refer to sections by number.
 *
 * The form of the sections is checked. That they belong to this file is trusted, as gdb does: users
 * who list a server in DEBUGINFOD_URLS trust what it says about a build id. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "modules/debuginfod_cache.h"
#include "modules/find.h"
#include "modules/image.h"

enum {
	SECTIONS_MAX = 5, /* .symtab .strtab .debug_line .debug_line_str .debug_str */
	SECTION_BYTES_MAX = 1 << 30,
};

/* ---- what such sections look like -------------------------------------------------------- */

/* Reads the next of the tables that fill the section. Returns its header from the version on, and
 * sets the size of offsets. */
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

static bool line_tables_are_whole(const struct elf_section *line, bool swapped)
{
	struct buf b = buf_make(line->data, line->size, 0, swapped);
	unsigned offset_size;
	uint16_t version;

	while (buf_left(&b) && buf_ok(&b)) {
		struct buf table = next_table(&b, &offset_size, &version);

		if (!buf_ok(&table) || version < 2 || version > 5)
			return false;
	}
	return buf_ok(&b);
}

/* Which string sections do the line tables refer to? */
struct line_needs {
	bool line_str, str;
};

/* DWARF5 6.2.4: reads only the forms of directories; files use the same ones. */
static void add_needs(struct buf *table, unsigned offset_size, struct line_needs *needs)
{
	unsigned opcode_base, n;

	buf_skip(table, 2 + offset_size + 5); /* sizes; header_length; up to line_range */
	opcode_base = buf_u8(table);
	buf_skip(table, opcode_base ? opcode_base - 1 : 0);
	for (n = buf_u8(table); n && buf_ok(table); n--) {
		uint64_t form;

		buf_uleb(table); /* content type */
		form = buf_uleb(table);
		needs->line_str |= form == DW_FORM_line_strp;
		needs->str |= form == DW_FORM_strp;
	}
}

static struct line_needs line_needs(const struct elf_section *line, bool swapped)
{
	struct buf b = buf_make(line->data, line->size, 0, swapped);
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

static size_t symbol_size(const struct elf_image *img)
{
	return img->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

/* Does a section have the form of its kind? Source: gABI "Symbol Table" (the first entry is zero),
 * "String Table" (first and last byte are zero); DWARF5 7.22, 7.26. */
static bool is_plausible(const struct elf_image *img, const char *name, const struct elf_section *s)
{
	if (!s->size)
		return false;
	if (s->type == SHT_SYMTAB)
		return s->size % symbol_size(img) == 0 && all_zero(s->data, symbol_size(img));
	if (s->type == SHT_STRTAB && s->data[0])
		return false;
	return strcmp(name, ".debug_line") ? !s->data[s->size - 1]
					   : line_tables_are_whole(s, img->swapped);
}

/* Are all names of the symbols in .strtab? st_name is the first field in both ELF classes. */
static bool has_names(struct elf_image *img)
{
	struct elf_section symbols, strings;
	struct buf b;

	if (!elf_image_section(img, ".symtab", &symbols, NULL) ||
	    !elf_image_section(img, ".strtab", &strings, NULL))
		return false;
	b = buf_make(symbols.data, symbols.size, 0, img->swapped);
	while (buf_left(&b)) {
		if (buf_u32(&b) >= strings.size)
			return false;
		buf_skip(&b, symbol_size(img) - 4);
	}
	return true;
}

/* ---- the file ---------------------------------------------------------------------------- */

/* Makes an image with the loaded sections of `base`, without contents. It has no segments, because
 * it is not a file that could be mapped. */
static struct elf_image *make_partial(const struct elf_image *base, const struct build_id *id,
				      const char *path)
{
	struct elf_image *img = calloc(1, sizeof *img);
	size_t i;

	if (!img)
		return NULL;
	pthread_mutex_init(&img->lock, NULL);
	pthread_cond_init(&img->inflated, NULL);
	img->path = strdup(path);
	img->is_64 = base->is_64;
	img->swapped = base->swapped;
	img->ehdr = base->ehdr;
	img->build_id = *id;
	img->is_partial = true;
	img->sections = calloc(base->n_sections + SECTIONS_MAX, sizeof *img->sections);
	if (!img->path || !img->sections) {
		elf_image_close(img);
		return NULL;
	}
	for (i = 0; i < base->n_sections; i++) {
		struct image_section *s = &img->sections[i];
		bool loaded = base->sections[i].s.flags & SHF_ALLOC;

		/* The names are borrowed from base, which lives as long: the cache owns both. */
		s->name = loaded ? base->sections[i].name : "";
		s->s = base->sections[i].s;
		s->s.data = NULL;
		s->s.type = loaded ? SHT_NOBITS : SHT_NULL;
	}
	img->n_sections = base->n_sections;
	return img;
}

static void drop_sections(struct elf_image *img, size_t n)
{
	while (img->n_sections > n)
		free(img->sections[--img->n_sections].inflated);
}

/* Does the section begin with Elf32_Chdr or Elf64_Chdr? Compressed sections have this header, but
 * nothing says that they are compressed. It begins with ch_type, 1 or 2. No uncompressed section
 * that is wanted here begins so: a symbol table begins with zeros, a string table with a zero or a
 * letter, and a line table with its length, which is larger. */
static bool begins_with_chdr(const struct elf_image *img, const uint8_t *p, size_t size)
{
	struct buf b = buf_make(p, size, 0, img->swapped);
	uint32_t type = buf_u32(&b);

	return type == ELFCOMPRESS_ZLIB || type == 2 /* ELFCOMPRESS_ZSTD */;
}

/* Appends the contents of fd as a section. Returns 0 or a negative error. */
static int append_section(struct elf_image *img, const char *name, uint32_t type, int fd)
{
	struct image_section *to = &img->sections[img->n_sections];
	struct stat st;
	uint8_t *bytes;
	size_t size, i;

	if (fstat(fd, &st) || st.st_size <= 0 || st.st_size > SECTION_BYTES_MAX)
		return -ERR_IO;
	size = (size_t)st.st_size;
	bytes = realloc((void *)(uintptr_t)img->bytes, img->size + size);
	if (!bytes)
		return -ERR_NOMEM;
	img->bytes = bytes;
	for (i = 0; i < img->n_sections; i++) /* realloc() may have moved the bytes */
		if (img->sections[i].s.data)
			img->sections[i].s.data = bytes + img->sections[i].s.off;
	if (pread(fd, bytes + img->size, size, 0) != st.st_size)
		return -ERR_IO;
	*to = (struct image_section){
		.name = name,
		.s = {.data = bytes + img->size,
		      .size = size,
		      .off = img->size,
		      .type = type,
		      .index = (uint32_t)img->n_sections,
		      .align = 1},
	};
	if (begins_with_chdr(img, to->s.data, size))
		to->s.flags = SHF_COMPRESSED;
	if (type == SHT_SYMTAB) {
		to->s.link = to->s.index + 1;
		to->s.entsize = symbol_size(img);
	}
	img->n_sections++;
	img->size += size;
	img->stored_bytes = img->size;
	return 0;
}

/* ---- getting them ------------------------------------------------------------------------ */

/* Opens a section in the cache; if f->servers is set, it is fetched first. Returns -1 and sets *r
 * on failure. */
static int open_section(struct finder *f, const struct build_id *id, const char *name,
			enum fetch_result *r)
{
	const char *dir = f->dirs->debuginfod_dir;
	enum module_miss why;
	char path[PATH_MAX];
	int fd;

	*r = f->servers ? fetch_to_cache(f, id, name) : FETCH_DONE;
	if (*r != FETCH_DONE)
		return -1;
	fd = cache_open(dir, id, name, &why);
	if (fd < 0) {
		*r = f->servers ? FETCH_NO_CACHE : FETCH_NOT_FOUND;
		cache_path(dir, id, name, path);
		if (why != MODULE_MISS_NO_FILE)
			finder_note(f, path, why, NULL);
	}
	return fd;
}

/* Notes that a section is not used, and removes it from the cache if it was fetched. */
static enum fetch_result refuse_section(struct finder *f, const struct build_id *id,
					const char *name, const char *why)
{
	finder_note_fetch(f, name, FETCH_NOT_ELF, why);
	f->refused_note = f->fetch_note;
	if (f->servers)
		cache_remove(f->dirs->debuginfod_dir, id, name);
	return FETCH_NOT_ELF;
}

/* Adds a section if its form is right. */
static enum fetch_result add_section(struct finder *f, struct elf_image *img, const char *name,
				     uint32_t type)
{
	size_t first = img->n_sections;
	enum err_code why = 0;
	struct elf_section s;
	enum fetch_result r;
	int rc, fd = open_section(f, &img->build_id, name, &r);

	if (fd < 0)
		return r;
	rc = append_section(img, name, type, fd);
	close(fd);
	if (!rc && elf_image_section(img, name, &s, &why) && is_plausible(img, name, &s))
		return FETCH_DONE;
	drop_sections(img, first);
	f->nomem |= rc == -ERR_NOMEM || why == ERR_NOMEM;
	return rc || f->nomem ? FETCH_NO_CACHE : refuse_section(f, &img->build_id, name, "");
}

static enum fetch_result add_symbols(struct finder *f, struct elf_image *img)
{
	size_t first = img->n_sections;
	enum fetch_result r = add_section(f, img, ".symtab", SHT_SYMTAB);

	if (r == FETCH_DONE)
		r = add_section(f, img, ".strtab", SHT_STRTAB);
	if (r == FETCH_DONE && !has_names(img)) {
		refuse_section(f, &img->build_id, ".strtab", "");
		r = refuse_section(f, &img->build_id, ".symtab", "its names are not in .strtab");
	}
	if (r != FETCH_DONE)
		drop_sections(img, first);
	return r;
}

/* Adds the line table, and the strings that it refers to: compilers put file names into
 * .debug_line_str or .debug_str. */
static enum fetch_result add_lines(struct finder *f, struct elf_image *img)
{
	size_t first = img->n_sections;
	struct line_needs needs = {0};
	struct elf_section line;
	enum fetch_result r;

	/* A kernel module: its addresses are in .rela.debug_line, which is not fetched. */
	if (img->ehdr.e_type == ET_REL) {
		finder_note_fetch(f, ".debug_line", FETCH_UNUSABLE, "it is not relocated");
		return FETCH_UNUSABLE;
	}
	r = add_section(f, img, ".debug_line", SHT_PROGBITS);
	if (r == FETCH_DONE && elf_image_section(img, ".debug_line", &line, NULL))
		needs = line_needs(&line, img->swapped);
	if (r == FETCH_DONE && needs.line_str)
		r = add_section(f, img, ".debug_line_str", SHT_PROGBITS);
	if (r == FETCH_DONE && needs.str)
		r = add_section(f, img, ".debug_str", SHT_PROGBITS);
	if (r != FETCH_DONE)
		drop_sections(img, first);
	return r;
}

bool fetch_was_refused(enum fetch_result r)
{
	return r == FETCH_BUILD_ID_DIFFERS || r == FETCH_NOT_ELF || r == FETCH_UNUSABLE;
}

/* Checks the note with the build id, the only section that identifies the file. */
static enum fetch_result check_note(struct finder *f, const struct build_id *id)
{
	static const char name[] = ".note.gnu.build-id";
	struct debuginfod_query q = {.id = id, .file = name};
	enum fetch_result r;
	int fd = open_section(f, id, name, &r);

	if (fd >= 0) {
		close(fd);
		if (!f->servers)
			r = cache_check(f->dirs->debuginfod_dir, &q);
	}
	if (fetch_was_refused(r))
		f->refused_note = f->fetch_note;
	return r;
}

struct elf_image *fetch_sections(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 enum fetch_result *r)
{
	struct elf_image *base = f->entry->m.image, *img;
	enum fetch_result lines = FETCH_DONE;
	char path[PATH_MAX];

	*r = FETCH_NOT_ASKED;
	/* Only the image has the addresses of the code sections. */
	if (!base || !base->n_sections || id->size < 2 || !*f->dirs->debuginfod_dir)
		return NULL;
	*r = check_note(f, id);
	if (*r != FETCH_DONE)
		return NULL;
	cache_path(f->dirs->debuginfod_dir, id, ".symtab", path);
	img = make_partial(base, id, path);
	if (img)
		*r = add_symbols(f, img);
	if (img && *r == FETCH_DONE && tier >= FETCH_TIER_LINE)
		lines = add_lines(f, img);
	if (img && *r != FETCH_DONE) {
		elf_image_close(img);
		return NULL;
	}
	if (!img || !image_cache_add(f->cache, img)) {
		f->nomem = true;
		return NULL;
	}
	/* Without lines the symbols are still useful, and a file may have no lines. */
	if (fetch_was_refused(lines))
		*r = lines;
	finder_note(f, elf_image_path(img), MODULE_MISS_NONE, NULL);
	return img;
}
