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

static int look_up(const struct dwarf_index *index, struct lookup *l, struct frame_list *frames)
{
	struct dwarf_frame chain[CHAIN_MAX], line = {0};
	size_t n = dwarf_index_lookup(index, l->vaddr, chain, CHAIN_MAX, &line), i;

	if (!n && line.file) {
		chain[n++] = (struct dwarf_frame){.file = line.file, .line = line.line};
		l->no_function = true;
	}
	if (frames->v.n + n > UINT32_MAX)
		return -1;
	l->first_frame = (uint32_t)frames->v.n;
	l->n_frames = (uint32_t)n;
	for (i = 0; i < n; i++)
		if (vec_push(&frames->v, chain[i]))
			return -1;
	return 0;
}

int elf_lines(struct dwarf_index **index, struct module *mod, struct lookup *v, size_t n,
	      struct frame_list *frames, unsigned n_threads, struct err *err)
{
	size_t m, i;
	uint64_t *vaddrs = lookup_vaddrs(v, n, &m);
	int rc = vaddrs ? 0 : err_nomem(err);

	*index = NULL;
	if (m)
		rc = dwarf_index_new(index, mod, vaddrs, m, n_threads, err);
	free(vaddrs);
	for (i = 0; !rc && *index && i < n; i++)
		if (v[i].has_vaddr && look_up(*index, &v[i], frames))
			rc = err_nomem(err);
	return rc;
}
