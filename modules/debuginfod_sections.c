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

static const struct piece *find_piece(const struct pieces *all, const char *name)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (!strcmp(all->v[i].name, name))
			return &all->v[i];
	return NULL;
}

static void drop(struct pieces *all, size_t n)
{
	while (all->n > n)
		free(all->v[--all->n].bytes);
}

/* st_name comes first in symbols of both classes. */
static bool has_names(const struct piece *symtab, const struct piece *strtab,
		      const struct elf_image *base)
{
	size_t entsize = base->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), at;

	for (at = 0; at < symtab->size; at += entsize) {
		struct buf b = buf_make(symtab->bytes + at, entsize, 0, base->swapped);

		if (buf_u32(&b) >= strtab->size)
			return false;
	}
	return true;
}

static enum fetch_result add_symbols(struct finder *f, const struct build_id *id,
				     struct pieces *all)
{
	enum fetch_result r = pieces_add(f, id, all, ".symtab", SHT_SYMTAB);

	if (r == FETCH_DONE)
		r = pieces_add(f, id, all, ".strtab", SHT_STRTAB);
	if (r == FETCH_DONE &&
	    !has_names(find_piece(all, ".symtab"), find_piece(all, ".strtab"), f->entry->m.image)) {
		pieces_refuse(f, id, ".strtab", FETCH_NOT_ELF, "");
		pieces_refuse(f, id, ".symtab", FETCH_NOT_ELF, "its names are not in .strtab");
		r = FETCH_NOT_ELF;
	}
	if (r != FETCH_DONE)
		drop(all, 0);
	return r;
}

/* The names of files: compilers keep them in .debug_line_str, or in .debug_str. */
static enum fetch_result add_file_names(struct finder *f, const struct build_id *id,
					struct pieces *all)
{
	struct line_needs needs =
		pieces_line_needs(find_piece(all, ".debug_line"), f->entry->m.image->swapped);
	enum fetch_result r = FETCH_DONE;

	if (needs.line_str)
		r = pieces_add(f, id, all, ".debug_line_str", SHT_PROGBITS);
	if (r == FETCH_DONE && needs.str)
		r = pieces_add(f, id, all, ".debug_str", SHT_PROGBITS);
	return r;
}

static enum fetch_result add_lines(struct finder *f, const struct build_id *id, struct pieces *all)
{
	size_t first = all->n;
	enum fetch_result r;

	/* A kernel module: where its sections come to lie stands in .rela.debug_line. */
	if (f->entry->m.image->ehdr.e_type == ET_REL) {
		finder_note_fetch(f, ".debug_line", FETCH_UNUSABLE, "it is not relocated");
		return FETCH_UNUSABLE;
	}
	r = pieces_add(f, id, all, ".debug_line", SHT_PROGBITS);
	if (r == FETCH_DONE)
		r = add_file_names(f, id, all);
	if (r != FETCH_DONE)
		drop(all, first);
	return r;
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

bool fetch_was_refused(enum fetch_result r)
{
	return r == FETCH_BUILD_ID_DIFFERS || r == FETCH_NOT_ELF || r == FETCH_UNUSABLE;
}

typedef enum fetch_result (*piece_adder)(struct finder *f, const struct build_id *id,
					 struct pieces *all);

/* When what the cache had was wrong, it is not there any more. */
static enum fetch_result add(piece_adder adder, struct finder *f, const struct build_id *id,
			     struct pieces *all)
{
	uint64_t fetched = f->fetched_bytes;
	enum fetch_result r = adder(f, id, all);

	if (!f->servers || r != FETCH_NOT_ELF || f->fetched_bytes != fetched)
		return r;
	f->refused_note = NULL;
	return adder(f, id, all);
}

/* Only the note can be told to be of the right file by itself. Without lines there are still the
 * symbols, and a file may have none. */
static enum fetch_result collect(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 struct pieces *all)
{
	enum fetch_result r = pieces_locate(f, id, ".note.gnu.build-id"), lines = FETCH_DONE;

	if (fetch_was_refused(r))
		f->refused_note = f->fetch_note;
	if (r == FETCH_DONE)
		r = add(add_symbols, f, id, all);
	if (r == FETCH_DONE && tier >= FETCH_TIER_LINE)
		lines = add(add_lines, f, id, all);
	return fetch_was_refused(lines) ? lines : r;
}

struct elf_image *fetch_sections(struct finder *f, const struct build_id *id, enum fetch_tier tier,
				 enum fetch_result *r)
{
	struct elf_image *base = f->entry->m.image, *img = NULL;
	struct pieces all = {0};
	char path[PATH_MAX];
	bool is_complete;

	*r = FETCH_NOT_ASKED;
	/* Only the image says where the sections of the code lie. */
	if (!base || !base->n_sections || id->size < 2 || !*f->dirs->debuginfod_dir)
		return NULL;
	*r = collect(f, id, tier, &all);
	cache_path(f->dirs->debuginfod_dir, id, ".symtab", path);
	is_complete = find_piece(&all, ".symtab") && find_piece(&all, ".strtab");
	if (is_complete)
		img = assemble(base, &all, id, path);
	pieces_done(&all);
	if (!img || !image_cache_add(f->cache, img)) {
		f->nomem |= is_complete;
		return NULL;
	}
	finder_note(f, elf_image_path(img), MODULE_MISS_NONE, NULL);
	return img;
}
