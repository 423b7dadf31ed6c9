/* headers.c - the section headers of a file with holes.
 *
 * Sections keep their index and place. Of DWARF sections, which are left out, the header becomes an
 * unused one; those of the new DWARF, a new string table and the table itself stand at the end. */
#include <string.h>

#include "cut/pieces.h"
#include "dwarf/dwarf.h"
#include "modules/modules.h"

enum {
	ALIGN = 8,
	/* Of all names of sections; they may be the same bytes again and again. */
	NAMES_MAX = 16 << 20,
};

static const char *const part_names[CUT_PARTS] = {
	[CUT_INFO] = ".debug_info",
	[CUT_ABBREV] = ".debug_abbrev",
	[CUT_LINE] = ".debug_line",
	[CUT_RANGES] = ".debug_ranges",
	[CUT_ARANGES] = ".debug_aranges",
	[CUT_PARAMS] = DWARF_PARAMS_SECTION,
	[CUT_CONSTANTS] = MODULE_CONSTANTS_SECTION,
};

static bool is_dwarf(const char *name)
{
	return !strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8) ||
	       !strncmp(name, ".gnu.debuglto", 13) || !strcmp(name, ".gdb_index");
}

struct table {
	struct pieces *p;
	const uint8_t *ehdr;
	bool is_64, swap;
	uint64_t entry_bytes, n, first; /* rows in the file, and where they begin */
	uint8_t *rows;			/* the new ones */
	uint8_t *names;
	uint64_t names_n, names_room;
	uint64_t end; /* of the file so far */
};

static void set(const struct table *t, uint8_t *at, uint64_t v, size_t n)
{
	if (t->swap)
		v = __builtin_bswap64(v) >> (64 - 8 * n);
	memcpy(at, &v, n);
}

static void set_row(const struct table *t, uint64_t i, const Elf64_Shdr *s)
{
	uint8_t *r = t->rows + i * t->entry_bytes;
	const size_t w = t->is_64 ? 8 : 4;

	set(t, r, s->sh_name, 4);
	set(t, r + 4, s->sh_type, 4);
	set(t, r + 8, s->sh_flags, w);
	set(t, r + 8 + w, s->sh_addr, w);
	set(t, r + 8 + 2 * w, s->sh_offset, w);
	set(t, r + 8 + 3 * w, s->sh_size, w);
	set(t, r + 8 + 4 * w, s->sh_link, 4);
	set(t, r + 12 + 4 * w, s->sh_info, 4);
	set(t, r + 16 + 4 * w, s->sh_addralign, w);
	set(t, r + 16 + 5 * w, s->sh_entsize, w);
}

/* The end of what lies in the file; offsets of tables may be anything. */
static uint64_t end_inside(const struct pieces *p, uint64_t off, uint64_t size)
{
	if (off >= p->size)
		return 0;
	return off + (size < p->size - off ? size : p->size - off);
}

static void rise_to(uint64_t *end, uint64_t to)
{
	*end = to > *end ? to : *end;
}

static uint64_t end_of_pieces(const struct pieces *p)
{
	const struct elf_segment *segs;
	size_t i, n = elf_image_segments(p->img, &segs), k = elf_image_section_count(p->img);
	uint64_t end = 0;
	struct elf_section s;
	const char *name;

	for (i = 0; i < p->v.n; i++)
		rise_to(&end, p->v.v[i].off + p->v.v[i].size);
	for (i = 0; i < n; i++)
		if (segs[i].off < p->size && segs[i].filesz <= p->size - segs[i].off)
			rise_to(&end, segs[i].off + segs[i].filesz);
	for (i = 0; i < k; i++)
		if (elf_image_section_at(p->img, i, &name, &s) && s.type != SHT_NOBITS &&
		    !is_dwarf(name) && s.data)
			rise_to(&end, end_inside(p, s.off, s.size));
	return end + -end % ALIGN;
}

static void append(struct table *t, uint64_t i, const char *name, uint32_t type,
		   const uint8_t *bytes, uint64_t n)
{
	Elf64_Shdr s = {.sh_name = (uint32_t)t->names_n,
			.sh_type = type,
			.sh_offset = t->end,
			.sh_size = n,
			.sh_addralign = 1};

	memcpy(t->names + t->names_n, name, strlen(name) + 1);
	t->names_n += strlen(name) + 1;
	set_row(t, i, &s);
	pieces_put(t->p, t->end, n, bytes);
	t->end += n + -n % ALIGN;
}

/* Copies the rows and their names. */
static void copy_rows(struct table *t)
{
	struct elf_section s;
	const char *name;
	uint64_t i;

	for (i = 0; i < t->n; i++) {
		uint8_t *row = t->rows + i * t->entry_bytes;

		if (!elf_image_section_at(t->p->img, i, &name, &s) || is_dwarf(name))
			continue; /* zeros: an unused row */
		memcpy(row, t->p->bytes + t->first + i * t->entry_bytes, t->entry_bytes);
		set(t, row, t->names_n, 4);
		memcpy(t->names + t->names_n, name, strlen(name) + 1);
		t->names_n += strlen(name) + 1;
	}
}

static void put_ehdr(struct table *t, uint64_t off, uint64_t n)
{
	const size_t w = t->is_64 ? 8 : 4,
		     size = t->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	uint8_t *h = pieces_copy(t->p, t->p->bytes, size);

	if (!h)
		return;
	set(t, h + 24 + 2 * w, off, w);	       /* e_shoff */
	set(t, h + 24 + 3 * w + 12, n, 2);     /* e_shnum */
	set(t, h + 24 + 3 * w + 14, n - 1, 2); /* e_shstrndx */
	pieces_put(t->p, 0, size, h);
}

static uint64_t room_for_names(const struct pieces *p)
{
	uint64_t n = 1 + sizeof ".shstrtab" + sizeof MODULE_PART_SECTION;
	struct elf_section s;
	const char *name;
	size_t i;

	for (i = 0; i < elf_image_section_count(p->img) && n <= NAMES_MAX; i++)
		if (elf_image_section_at(p->img, i, &name, &s))
			n += strlen(name) + 1;
	for (i = 0; i < CUT_PARTS; i++)
		n += strlen(part_names[i]) + 1;
	return n;
}

/* A file without section headers, or with more than have a plain form, keeps what it has. */
static bool open_table(struct table *t, struct pieces *p)
{
	size_t w;

	*t = (struct table){.p = p,
			    .is_64 = elf_image_is_64(p->img),
			    .swap = elf_image_swapped(p->img),
			    .n = elf_image_section_count(p->img),
			    .end = end_of_pieces(p)};
	t->entry_bytes = t->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	w = t->is_64 ? 8 : 4;
	if (!t->swap && p->size > sizeof(Elf64_Ehdr)) {
		memcpy(&t->first, p->bytes + 24 + 2 * w, w);
		return t->first && t->first < p->size && t->n &&
		       t->n < SHN_LORESERVE - CUT_PARTS - 3 && room_for_names(p) <= NAMES_MAX &&
		       p->size - t->first >= t->n * t->entry_bytes;
	}
	return false;
}

static uint64_t count_parts(const struct cut_dwarf *d)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < CUT_PARTS; i++)
		n += d->part[i].n != 0;
	return n;
}

uint64_t cut_headers(struct pieces *p, const struct cut_dwarf *d)
{
	struct table t;
	static const uint8_t mark[] = "what no stack went through is zeros";
	uint64_t n, i, at, names;

	if (!open_table(&t, p)) {
		pieces_keep(p, 0, t.is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
		return t.end < p->size ? p->size : t.end;
	}
	n = t.n + 2 + count_parts(d);
	t.rows = arena_alloc(&p->owned, n * t.entry_bytes);
	t.names = arena_alloc(&p->owned, room_for_names(p));
	if (!t.rows || !t.names) {
		p->nomem = true;
		return t.end;
	}
	t.names_n = 1;
	copy_rows(&t);
	for (i = 0, at = t.n; i < CUT_PARTS; i++)
		if (d->part[i].n)
			append(&t, at++, part_names[i], SHT_PROGBITS, d->part[i].v, d->part[i].n);
	append(&t, n - 2, MODULE_PART_SECTION, SHT_PROGBITS, mark, sizeof mark);
	names = t.names_n + sizeof ".shstrtab";
	append(&t, n - 1, ".shstrtab", SHT_STRTAB, t.names, names);
	put_ehdr(&t, t.end, n);
	pieces_put(p, t.end, n * t.entry_bytes, t.rows);
	return t.end + n * t.entry_bytes;
}
