/* elf_lines.c - inline chains and lines of one module for a batch of addresses. */
#include <stdlib.h>

#include "symbolize/source.h"

/* Deeper chains lose their middle; 49 was the deepest seen in large C++ programs. */
enum { CHAIN_MAX = 256 };

static struct elf_image *debug_image(const struct module *mod)
{
	return mod->debug ? mod->debug : mod->image;
}

uint64_t elf_lines_cost(const struct module *mod)
{
	struct elf_image *img = debug_image(mod);
	struct elf_section s;
	const char *name;
	uint64_t bytes = 0;
	size_t i, n = img ? elf_image_section_count(img) : 0;

	for (i = 0; i < n; i++)
		if (elf_image_section_at(img, i, &name, &s) && s.type != SHT_NOBITS &&
		    (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			bytes += s.size;
	return bytes;
}

static int look_up(const struct dwarf_index *index, struct lookups *l, size_t i)
{
	struct dwarf_frame chain[CHAIN_MAX], line = {0};
	size_t n = dwarf_index_lookup(index, l->v[i].vaddr, chain, CHAIN_MAX, &line);

	if (!n && line.file) {
		chain[n++] = (struct dwarf_frame){.file = line.file, .line = line.line};
		l->v[i].no_function = true;
	}
	return lookups_add_chain(l, i, chain, n);
}

int elf_lines(struct dwarf_index **index, struct module *mod, struct lookups *l, unsigned n_threads,
	      struct err *err)
{
	size_t n, i;
	uint64_t *vaddrs = lookups_vaddrs(l, &n);
	int rc = vaddrs ? 0 : err_nomem(err);

	*index = NULL;
	if (n)
		rc = dwarf_index_new(index, mod, vaddrs, n, n_threads, err);
	free(vaddrs);
	for (i = 0; !rc && *index && i < l->n; i++)
		if (l->v[i].has_vaddr && look_up(*index, l, i))
			rc = err_nomem(err);
	return rc;
}
