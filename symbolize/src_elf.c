/* src_elf.c - files and the vDSO: symbol tables, PLT, DWARF. */
#include <stdlib.h>

#include "symbolize/elfsyms.h"
#include "symbolize/source.h"

struct elf_state {
	struct module *mod;
	struct elfsyms syms;
	struct dwarf_index *dwarf; /* of this batch */
	bool told_dwarf;
};

static enum sym_miss miss_of(enum module_miss m)
{
	static const uint8_t misses[MODULE_MISS_N] = {
		[MODULE_MISS_NONE] = SYM_MISS_NO_SYMBOLS,
		[MODULE_MISS_NO_FILE] = SYM_MISS_NO_FILE,
		[MODULE_MISS_BUILD_ID_DIFFERS] = SYM_MISS_BUILD_ID_DIFFERS,
		[MODULE_MISS_PERMISSION] = SYM_MISS_UNREADABLE,
		[MODULE_MISS_UNREADABLE] = SYM_MISS_UNREADABLE,
		[MODULE_MISS_NOT_ELF] = SYM_MISS_UNREADABLE,
		[MODULE_MISS_NOT_A_FILE] = SYM_MISS_NOT_A_FILE,
		[MODULE_MISS_CHANGED] = SYM_MISS_NO_SYMBOLS,
		[MODULE_MISS_STRIPPED] = SYM_MISS_NO_SYMBOLS,
		[MODULE_MISS_CRC_DIFFERS] = SYM_MISS_NO_SYMBOLS,
		[MODULE_MISS_DAMAGED] = SYM_MISS_UNREADABLE,
	};

	return misses[m];
}

static bool has_symtab(struct elf_image *img)
{
	struct elf_section s;

	return elf_image_section(img, ".symtab", &s, NULL) && s.data && s.size;
}

static int open_module(struct source *s, struct err *err)
{
	struct elf_state *e = calloc(1, sizeof *e);

	if (!e)
		return err_nomem(err);
	s->state = e;
	e->mod = modules_get(s->env->modules, s->dso);
	if (!e->mod)
		return err_nomem(err);
	/* Looking for debug files costs system calls: only when they can tell more. */
	if (!e->mod->image || !s->env->no_inline || !has_symtab(e->mod->image))
		module_debug(s->env->modules, e->mod);
	if (elfsyms_load(&e->syms, e->mod))
		return err_nomem(err);
	if (!e->mod->image)
		s->miss = miss_of(e->mod->image_miss);
	else if (!e->syms.tab.funcs.n)
		s->miss = SYM_MISS_NO_SYMBOLS;
	return *e->syms.source ? source_says(s, err, "%s", e->syms.source) : 0;
}

/* A debug file alone says where the code lies only when it kept the program headers of the binary
 * (eu-strip does, objcopy does not). */
static bool debug_off_to_vaddr(const struct elf_image *debug, uint64_t off, uint64_t *ret)
{
	const struct elf_segment *g;
	size_t n = elf_image_segments(debug, &g), i;

	for (i = 0; i < n; i++)
		if (g[i].flags & PF_X && off >= g[i].off && off - g[i].off < g[i].filesz) {
			*ret = off - g[i].off + g[i].vaddr;
			return true;
		}
	return false;
}

static int elf_symbols(struct source *s, struct lookup *v, size_t n, struct err *err)
{
	struct func_cursor cursor = {0};
	const struct func *f;
	struct elf_state *e;
	size_t i;
	int rc;

	if (!s->state) {
		rc = open_module(s, err);
		if (rc)
			return rc;
	}
	e = s->state;
	for (i = 0; i < n; i++) {
		struct lookup *l = &v[i];

		l->has_vaddr =
			e->mod->image	? elf_image_off_to_vaddr(e->mod->image, l->key, &l->vaddr)
			: e->mod->debug ? debug_off_to_vaddr(e->mod->debug, l->key, &l->vaddr)
					: false;
		f = NULL;
		if (l->has_vaddr && elfsyms_find(&e->syms, l->vaddr, &cursor, &f))
			return err_nomem(err);
		lookup_set(l, s->env, &e->syms.tab, f, l->vaddr);
		if (!f && s->miss != SYM_MISS_FOUND)
			l->miss = (uint8_t)s->miss;
	}
	return 0;
}

static uint64_t elf_cost(struct source *s)
{
	struct elf_state *e = s->state;

	return elf_lines_cost(e->mod);
}

static int elf_source_lines(struct source *s, struct lookup *v, size_t n, struct frame_list *frames,
			    unsigned n_threads, struct err *err)
{
	struct elf_state *e = s->state;
	int rc = elf_lines(&e->dwarf, e->mod, v, n, frames, n_threads, err);

	if (rc || !e->dwarf || e->told_dwarf)
		return rc;
	e->told_dwarf = true;
	return source_says(s, err, "DWARF of %s",
			   elf_image_path(e->mod->debug ? e->mod->debug : e->mod->image));
}

static void elf_end_batch(struct source *s)
{
	struct elf_state *e = s->state;

	if (!e)
		return;
	dwarf_index_free(e->dwarf);
	e->dwarf = NULL;
}

static void elf_done(struct source *s)
{
	struct elf_state *e = s->state;

	if (!e)
		return;
	elfsyms_done(&e->syms);
	free(e);
}

const struct source_ops elf_source_ops = {
	.symbols = elf_symbols,
	.lines_cost = elf_cost,
	.lines = elf_source_lines,
	.end_batch = elf_end_batch,
	.done = elf_done,
};
