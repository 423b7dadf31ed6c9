/* debuginfod_sections.c - a small debug file put together from single sections.
 *
 * Names need the symbol table and lines the line table: a fraction of a debug file, which servers
 * give out by themselves (debuginfod(8) "/buildid/ID/section/NAME"), without its header. Where it
 * belongs is told by the image: a debug file numbers the sections that are loaded as the image
 * does, and symbols refer to them by number. */
#include <stdlib.h>
#include <string.h>

#include "modules/debuginfod_cache.h"
#include "modules/debuginfod_pieces.h"
#include "modules/image.h"

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

/* Without them there are still the symbols. */
static void add_lines(struct finder *f, const struct build_id *id, struct pieces *all)
{
	const struct elf_image *base = f->entry->m.image;
	const struct piece *lines = &all->v[all->n];

	if (pieces_add(f, id, all, ".debug_line", SHT_PROGBITS) != FETCH_DONE)
		return;
	pieces_add(f, id, all, ".debug_line_str", SHT_PROGBITS);
	if (wants_debug_str(lines, base->swapped))
		pieces_add(f, id, all, ".debug_str", SHT_PROGBITS);
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
	pthread_cond_init(&img->inflated, NULL);
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
	*r = pieces_locate(f, id, ".note.gnu.build-id");
	if (*r == FETCH_DONE)
		*r = pieces_add_symbols(f, id, &all);
	if (*r == FETCH_DONE && tier >= FETCH_TIER_LINE)
		add_lines(f, id, &all);
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
