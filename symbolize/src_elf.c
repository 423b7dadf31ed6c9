/* src_elf.c - the source for files and the vDSO: symbol tables, PLT, DWARF. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "symbolize/compiler_of.h"
#include "symbolize/elfsyms.h"
#include "symbolize/symbol_source.h"

enum { GO_CHAIN_MAX = 64 };

struct elf_state {
	struct module *mod;
	struct elfsyms syms;
	struct dwarf_index *dwarf; /* of this batch */
	struct arena names;	   /* the same, of what it inlines */
	bool noted_dwarf, noted_plt;
};

static enum sym_miss miss_of(enum module_miss m)
{
	switch (m) {
	case MODULE_MISS_NO_FILE:
		return SYM_MISS_NO_FILE;
	case MODULE_MISS_BUILD_ID_DIFFERS:
		return SYM_MISS_BUILD_ID_DIFFERS;
	case MODULE_MISS_NO_BUILD_ID:
		return SYM_MISS_NO_BUILD_ID;
	case MODULE_MISS_CHANGED:
	case MODULE_MISS_OTHER_CODE:
		return SYM_MISS_OTHER_CODE;
	case MODULE_MISS_OTHER_MACHINE:
		return SYM_MISS_OTHER_MACHINE;
	case MODULE_MISS_NOT_A_FILE:
		return SYM_MISS_NOT_A_FILE;
	case MODULE_MISS_PERMISSION:
	case MODULE_MISS_UNREADABLE:
	case MODULE_MISS_NOT_ELF:
	case MODULE_MISS_NO_CODE:
	case MODULE_MISS_NOT_TRUSTED:
	case MODULE_MISS_DAMAGED:
		return SYM_MISS_UNREADABLE;
	case MODULE_MISS_NONE:
	case MODULE_MISS_STRIPPED:
	case MODULE_MISS_CRC_DIFFERS:
	case MODULE_MISS_N:
		break;
	}
	return SYM_MISS_NO_SYMBOLS;
}

static int open_module(struct symbol_source *s, struct err *err)
{
	struct elf_state *e = calloc(1, sizeof *e);

	if (!e)
		return err_nomem(err);
	s->state = e;
	e->mod = modules_get(s->env->modules, s->dso);
	if (!e->mod)
		return err_nomem(err);
	/* Searching for debug files costs system calls: only if they can add something. */
	if ((!e->mod->image || !s->env->no_inline || !elfsyms_has_symtab(e->mod->image)) &&
	    !module_debug(s->env->modules, e->mod))
		return err_nomem(err);
	return 0;
}

/* Is it a file that --unbundle has written? It has what one recording needs. */
static bool is_laid_out(const struct module *m)
{
	struct elf_image *img = m->debug ? m->debug : m->image;
	struct elf_section sec;

	return img && elf_image_section(img, MODULE_PART_SECTION, &sec, NULL) &&
	       !strstr(elf_image_path(img), "(from the recording)") &&
	       !strstr(elf_image_path(img), "(debug file, from the recording)");
}

static int load_symbols(struct symbol_source *s, struct elf_state *e, const uint64_t *vaddrs,
			size_t n, struct err *err)
{
	if (elfsyms_load(&e->syms, e->mod, vaddrs, n))
		return err_nomem(err);
	s->is_go = e->syms.go.data;
	s->has_locals = e->syms.has_locals;
	s->linker_folds = linker_folds(e->mod->image) || linker_folds(e->mod->debug);
	if (!e->mod->image)
		s->miss = miss_of(e->mod->image_miss);
	else if (!*e->syms.source)
		s->miss = SYM_MISS_NO_SYMBOLS;
	/* A debug file alone may not cover any of the addresses. */
	if (!*e->syms.source || (!e->mod->image && !n))
		return 0;
	return source_says(s, err, "%s%s%s", e->syms.source,
			   e->mod->image_miss == MODULE_MISS_CHANGED
				   ? " (replaced since it was recorded)"
				   : "",
			   is_laid_out(e->mod) ? " (from the recording)" : "");
}

/* In a file without symbols only PLT stubs have names: says so. */
static int say_plt(struct symbol_source *s, struct elf_state *e, struct err *err)
{
	if (e->noted_plt)
		return 0;
	e->noted_plt = true;
	return source_says_table(s, err, "PLT", elf_image_path(e->mod->image));
}

/* A C function may have a name as those compilers make. */
static void see_compiler(struct symbol_source *s, const struct module *mod, const char *symbol)
{
	if (s->knows_compiler || !symbol || !compiler_matters(symbol))
		return;
	s->compiler = compiler_of(mod);
	s->knows_compiler = true;
}

static int elf_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	struct func_cursor cursor = {0};
	const struct func *f;
	bool first = !s->state;
	struct elf_state *e;
	uint64_t *vaddrs;
	size_t n, i;
	int rc = 0;

	if (first && open_module(s, err))
		return -ERR_NOMEM;
	e = s->state;
	for (i = 0; i < l->n; i++)
		l->v[i].has_vaddr = module_off_to_vaddr(e->mod, l->v[i].key, &l->v[i].vaddr);
	vaddrs = lookups_vaddrs(l, &n);
	if (!vaddrs)
		return err_nomem(err);
	if (first)
		rc = load_symbols(s, e, vaddrs, n, err);
	else if (elfsyms_load_rest(&e->syms))
		rc = err_nomem(err);
	free(vaddrs);
	for (i = 0; !rc && i < l->n; i++) {
		struct lookup *v = &l->v[i];

		f = NULL;
		if (v->has_vaddr && elfsyms_find(&e->syms, v->vaddr, &cursor, &f))
			rc = err_nomem(err);
		lookup_set(v, s, elfsyms_table(&e->syms, f), f, v->vaddr);
		see_compiler(s, e->mod, v->symbol);
		if (!rc && f && !*e->syms.source)
			rc = say_plt(s, e, err);
		if (!f && s->miss != SYM_MISS_FOUND)
			v->miss = (uint8_t)s->miss;
	}
	return rc;
}

static uint64_t elf_cost(struct symbol_source *s)
{
	struct elf_state *e = s->state;
	uint64_t cost = dwarf_bytes(e->mod);

	return cost || !e->syms.go.data ? cost : e->syms.go.size;
}

/* Lines and inlined calls of a Go program without DWARF. */
static int go_lines(const struct go_table *go, struct lookups *l, struct err *err)
{
	struct go_line chain[GO_CHAIN_MAX];
	struct dwarf_frame frames[GO_CHAIN_MAX];
	size_t i, n, k;

	for (i = 0; i < l->n; i++) {
		if (!l->v[i].has_vaddr)
			continue;
		n = go_table_chain(go, l->v[i].vaddr, chain, GO_CHAIN_MAX);
		for (k = 0; k < n; k++)
			frames[k] = (struct dwarf_frame){.name = chain[k].name,
							 .file = chain[k].file,
							 .line = chain[k].line,
							 .decl_line = chain[k].start_line};
		if (lookups_add_chain(l, i, frames, n))
			return err_nomem(err);
	}
	return 0;
}

/* Of functions that were folded into one, takes the one to which DWARF attributes the inline chain,
 * because the chain is that function's. Aliases of one function keep the name that they have
 * without debug information, so that profiles of machines with and without it can be compared. */
static int prefer_dwarf_names(struct symbol_source *s, struct lookups *l, struct err *err)
{
	struct elf_state *e = s->state;
	struct func_cursor cursor = {0};
	size_t i;

	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];
		const struct dwarf_frame *outer;
		const struct func *f;
		const char *name, *alias;

		if (!v->n_frames || v->no_function || !v->symbol)
			continue;
		outer = &l->frames.v[v->first_frame + v->n_frames - 1];
		name = outer->linkage_name ? outer->linkage_name : outer->name;
		if (!name || !strcmp(name, v->symbol))
			continue;
		if (elfsyms_find(&e->syms, v->vaddr, &cursor, &f))
			return err_nomem(err);
		if (!f || !icf_count(elfsyms_table(&e->syms, f), f, s->linker_folds))
			continue;
		alias = icf_named(elfsyms_table(&e->syms, f), f, name);
		if (alias)
			v->symbol = alias;
	}
	return 0;
}

/* Says which debug information could not be used. */
static int say_lacks(struct symbol_source *s, const struct dwarf_index *dwarf, struct err *err)
{
	struct dwarf_index_stats stats;
	char *detail = NULL;
	int n = 0;

	dwarf_index_stats(dwarf, &stats);
	if (s->lacks || (!stats.units_unsplit && !stats.units_damaged))
		return 0;
	s->lacks = stats.split_differs	 ? SYM_LACKS_OTHER_SPLIT
		   : stats.units_unsplit ? SYM_LACKS_SPLIT
					 : SYM_LACKS_DAMAGED;
	if (stats.units_unsplit)
		n = asprintf(&detail, "%s", stats.missing_split);
	else
		n = asprintf(&detail, "%zu unit%s", stats.units_damaged,
			     stats.units_damaged == 1 ? "" : "s");
	if (n < 0)
		return err_nomem(err);
	s->lacks_detail = detail;
	return 0;
}

static int elf_source_lines(struct symbol_source *s, struct lookups *l, unsigned n_threads,
			    struct err *err)
{
	struct elf_state *e = s->state;
	int rc;

	if (e->syms.go.data && !dwarf_bytes(e->mod))
		return go_lines(&e->syms.go, l, err);
	rc = elf_lines(&e->dwarf, s->env, e->mod, l, n_threads, err);
	if (!rc && e->dwarf)
		rc = prefer_dwarf_names(s, l, err);
	if (!rc && e->dwarf && name_inlined(l, e->mod, &e->names))
		rc = err_nomem(err);
	if (!rc && e->dwarf)
		rc = say_lacks(s, e->dwarf, err);
	if (rc || !e->dwarf || e->noted_dwarf)
		return rc;
	e->noted_dwarf = true;
	return source_says_dwarf(s, err, e->mod);
}

static size_t elf_candidates(struct symbol_source *s, const struct sym_query *q,
			     struct sym_candidate *v, size_t max)
{
	const struct func *found[64];
	struct elf_state *e = s->state;
	uint64_t vaddr;
	size_t n, i;

	if (!e || !module_off_to_vaddr(e->mod, q->off, &vaddr) || elfsyms_load_rest(&e->syms))
		return 0;
	n = functab_covering(&e->syms.tab, vaddr, found, max < 64 ? max : 64);
	for (i = 0; i < n; i++)
		v[i] = (struct sym_candidate){.name = found[i]->name,
					      .start = found[i]->start,
					      .end = found[i]->end,
					      .has_size = !(found[i]->flags & FUNC_SIZELESS),
					      .weak = found[i]->flags & FUNC_WEAK,
					      .global = found[i]->flags & FUNC_GLOBAL};
	return n;
}

static void elf_end_batch(struct symbol_source *s)
{
	struct elf_state *e = s->state;

	if (!e)
		return;
	elf_lines_end(&e->dwarf, s->env);
	arena_done(&e->names);
}

static void elf_done(struct symbol_source *s)
{
	struct elf_state *e = s->state;

	if (!e)
		return;
	elfsyms_done(&e->syms);
	arena_done(&e->names);
	free(e);
}

const struct source_ops elf_source_ops = {
	.symbols = elf_symbols,
	.lines_cost = elf_cost,
	.lines = elf_source_lines,
	.candidates = elf_candidates,
	.end_batch = elf_end_batch,
	.done = elf_done,
};
