/* elfsyms.c - the union of a module's symbol tables.
 *
 * MiniDebugInfo leaves out the symbols of .dynsym, and .dynsym of a stripped file has no local
 * functions, so only the union has all names. */
#include "symbolize/elfsyms.h"

#include <stdio.h>
#include <string.h>

#include "reader/reader.h"

bool elfsyms_has_symtab(struct elf_image *img)
{
	struct elf_section s;

	return img && elf_image_section(img, ".symtab", &s, NULL) && s.data && s.size;
}

static void says(struct elfsyms *s, const char *table, const struct elf_image *img)
{
	const char *path = elf_image_path(img);
	const bool own = !strcmp(path, s->mod->dso->path);
	size_t used = strlen(s->source);

	snprintf(s->source + used, sizeof s->source - used, "%s%s%s%s", used ? ", " : "", table,
		 own ? "" : " of ", own ? "" : path);
}

static int read_one(struct elfsyms *s, struct elf_image *img, const char *section,
		    const char *called, const struct page_set *only)
{
	size_t n = 0;

	if (!img)
		return 0;
	if (symtab_read(&s->tab, img, section, only, &n))
		return -1;
	if (!n)
		return 0;
	says(s, called, img);
	s->has_locals |= !strcmp(section, ".symtab");
	return 0;
}

/* Go programs often have no .symtab, but nearly always the tables that their runtime needs. */
static int read_go(struct elfsyms *s)
{
	size_t before = s->tab.funcs.n;

	if (go_table_functions(&s->go, &s->tab))
		return -1;
	if (s->tab.funcs.n > before)
		says(s, "pclntab", s->mod->image);
	s->has_locals |= s->tab.funcs.n > before;
	return 0;
}

static int read_all(struct elfsyms *s, const struct page_set *only)
{
	const struct module *mod = s->mod;
	struct elf_image *full = elfsyms_has_symtab(mod->debug) ? mod->debug : mod->image;

	s->partial = only;
	s->source[0] = 0;
	if (read_one(s, full, ".symtab", "symtab", only) ||
	    read_one(s, mod->mini, ".symtab", "minidebuginfo", only) ||
	    read_one(s, mod->image, ".dynsym", "dynsym", only))
		return -1;
	if (s->go.data && !elfsyms_has_symtab(full) && read_go(s))
		return -1;
	return functab_finish(&s->tab);
}

int elfsyms_load(struct elfsyms *s, const struct module *mod, const uint64_t *vaddrs, size_t n)
{
	struct page_set pages;
	int rc;

	s->mod = mod;
	if (mod->image)
		go_table_open(&s->go, mod->image);
	if (!page_set_init(&pages, vaddrs, n))
		return read_all(s, NULL);
	rc = read_all(s, &pages);
	page_set_done(&pages);
	return rc;
}

int elfsyms_load_rest(struct elfsyms *s)
{
	if (!s->partial)
		return 0;
	functab_done(&s->tab);
	return read_all(s, NULL);
}

void elfsyms_done(struct elfsyms *s)
{
	functab_done(&s->tab);
	functab_done(&s->plt);
	cfi_index_done(&s->eh);
}

static int find_in_plt(struct elfsyms *s, uint64_t vaddr, const struct func **ret)
{
	struct func_cursor cursor = {0};

	if (!s->plt_read && plt_read(&s->plt, s->mod))
		return -1;
	s->plt_read = true;
	*ret = functab_find(&s->plt, vaddr, &cursor);
	return 0;
}

/* In a stripped file: is vaddr in a function without symbol that follows f, which has no size? */
static bool is_beyond(struct elfsyms *s, struct elf_image *img, const struct func *f,
		      uint64_t vaddr)
{
	uint64_t low = f->start, start;

	if (elfsyms_has_symtab(s->mod->debug) || elfsyms_has_symtab(img))
		return false;
	if (s->sizeless_start == f->start && s->sizeless_last > low)
		low = s->sizeless_last;
	if (vaddr <= low)
		return false;
	if (called_start(img, low, vaddr, &start))
		return true;
	s->sizeless_start = f->start;
	s->sizeless_last = vaddr;
	return false;
}

/* Does call frame information say that the function of vaddr starts above `low`? Returns 1, 0 or
 * -ERR_NOMEM. */
static int starts_above(struct elfsyms *s, struct elf_image *img, uint64_t vaddr, uint64_t low)
{
	uint64_t start;
	int rc;

	if (!s->eh_opened)
		cfi_index_open_eh(&s->eh, img);
	s->eh_opened = true;
	rc = cfi_index_start(&s->eh, vaddr, &start);
	return rc > 0 ? start > low : rc;
}

/* Does f, a symbol without size, end before vaddr? It does not extend over the start of another
 * function, even of one without a name. Returns 1, 0 or -ERR_NOMEM. */
static int ends_before(struct elfsyms *s, struct elf_image *img, const struct func *f,
		       uint64_t vaddr)
{
	int rc = starts_above(s, img, vaddr, f->start);

	return rc ? rc : is_beyond(s, img, f, vaddr);
}

int elfsyms_find(struct elfsyms *s, uint64_t vaddr, struct func_cursor *cursor,
		 const struct func **ret)
{
	struct elf_image *image = s->mod ? s->mod->image : NULL;
	int rc;

	*ret = functab_find(&s->tab, vaddr, cursor);
	if (*ret && !((*ret)->flags & FUNC_SIZELESS))
		return 0;
	if (image && plt_covers(image, vaddr, &s->last_section))
		return find_in_plt(s, vaddr, ret);
	if (!*ret)
		return 0;
	rc = image ? ends_before(s, image, *ret, vaddr) : 0;
	if (rc) {
		*ret = NULL;
		return rc < 0 ? -1 : 0;
	}
	/* A function that the partial table lacks may also start in between, but not on the page of
	 * vaddr. */
	if (s->partial && (*ret)->start >> SYMTAB_PAGE_BITS != vaddr >> SYMTAB_PAGE_BITS) {
		if (elfsyms_load_rest(s))
			return -1;
		*ret = functab_find(&s->tab, vaddr, cursor);
	}
	return 0;
}

const struct functab *elfsyms_table(const struct elfsyms *s, const struct func *f)
{
	uintptr_t first = (uintptr_t)s->plt.funcs.v;

	return (uintptr_t)f - first < s->plt.funcs.n * sizeof *f ? &s->plt : &s->tab;
}
