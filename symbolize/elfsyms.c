/* elfsyms.c - the union of a module's symbol tables.
 *
 * MiniDebugInfo leaves out what .dynsym has, and .dynsym of a stripped file has no local functions,
 * so only all of them together name everything. */
#include "symbolize/elfsyms.h"

#include <stdio.h>
#include <string.h>

static int read_one(struct elfsyms *s, struct elf_image *img, const char *section,
		    const char *called)
{
	size_t n = 0, used = strlen(s->source);

	if (!img)
		return 0;
	if (symtab_read(&s->tab, img, section, &n))
		return -1;
	if (n)
		snprintf(s->source + used, sizeof s->source - used, "%s%s of %s", used ? ", " : "",
			 called, elf_image_path(img));
	return 0;
}

static bool has_symtab(struct elf_image *img)
{
	struct elf_section s;

	return img && elf_image_section(img, ".symtab", &s, NULL) && s.data && s.size;
}

int elfsyms_load(struct elfsyms *s, const struct module *mod)
{
	struct elf_image *full = has_symtab(mod->debug) ? mod->debug : mod->image;

	s->image = mod->image;
	if (read_one(s, full, ".symtab", "symtab") ||
	    read_one(s, mod->mini, ".symtab", "minidebuginfo") ||
	    read_one(s, mod->image, ".dynsym", "dynsym"))
		return -1;
	return functab_finish(&s->tab);
}

void elfsyms_done(struct elfsyms *s)
{
	functab_done(&s->tab);
	functab_done(&s->plt);
}

static int find_in_plt(struct elfsyms *s, uint64_t vaddr, const struct func **ret)
{
	struct func_cursor cursor = {0};

	if (!s->plt_read) {
		if (plt_read(&s->plt, s->image, &s->tab))
			return -1;
		s->plt_read = true;
	}
	*ret = functab_find(&s->plt, vaddr, &cursor);
	return 0;
}

int elfsyms_find(struct elfsyms *s, uint64_t vaddr, struct func_cursor *cursor,
		 const struct func **ret)
{
	uint64_t start;

	*ret = functab_find(&s->tab, vaddr, cursor);
	if (!s->image || (*ret && !((*ret)->flags & FUNC_SIZELESS)))
		return 0;
	if (plt_covers(s->image, vaddr))
		return find_in_plt(s, vaddr, ret);
	/* A symbol without size does not reach over the start of another function that has no name.
	 */
	if (*ret && fde_start(s->image, vaddr, &start) && start > (*ret)->start)
		*ret = NULL;
	return 0;
}
