/* src_kernel.c - the source for the kernel: vmlinux with lines if there is one, else kallsyms. */
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"
#include "symbolize/elfsyms.h"
#include "symbolize/symbol_source.h"

struct kernel_state {
	struct module own;  /* of a vmlinux given by the user */
	struct module *mod; /* &own, or a module found by build id; NULL: no vmlinux */
	struct elfsyms vmlinux;
	uint64_t vmlinux_shift;
	struct dwarf_index *dwarf; /* of this batch */
	bool noted_core, noted_kallsyms, noted_dwarf;
};

/* The address of _text or _stext in a vmlinux. They are NOTYPE labels, so the symbol table is
 * searched. */
static uint64_t start_of(const struct functab *tab, const char *name)
{
	size_t i;

	for (i = 0; i < tab->funcs.n; i++)
		if (!strcmp(tab->funcs.v[i].name, name))
			return tab->funcs.v[i].start;
	return 0;
}

static int open_vmlinux(struct symbol_source *s, struct kernel_state *k, struct err *err)
{
	bool guest = s->dso->kind == DSO_GUEST_KERNEL;
	const char *path = guest ? s->env->guest_vmlinux : s->env->vmlinux;
	struct elf_image *img = NULL;
	int rc;

	if (path) {
		rc = elf_image_open(&img, path, err);
		if (rc)
			return rc == -ERR_NOMEM ? rc : 0;
		k->own = (struct module){.dso = s->dso, .image = img, .debug = img};
		k->mod = &k->own;
		if (s->dso->build_id.size && elf_image_build_id(img)->size &&
		    !build_id_equal(&s->dso->build_id, elf_image_build_id(img))) {
			s->miss = SYM_MISS_OTHER_KERNEL;
			k->mod = NULL;
			return 0;
		}
	} else if (!guest && !s->env->no_inline && s->dso->build_id.size) {
		k->mod = modules_get(s->env->modules, s->dso);
		if (!k->mod || !module_debug(s->env->modules, k->mod))
			return err_nomem(err);
		if (!k->mod->debug)
			k->mod = NULL;
	}
	if (!k->mod)
		return 0;
	if (elfsyms_load(&k->vmlinux, k->mod, NULL, 0))
		return err_nomem(err);
	k->vmlinux_shift = kernel_shift(s->env, s->dso->kind, start_of(&k->vmlinux.tab, "_text"),
					start_of(&k->vmlinux.tab, "_stext"));
	return *k->vmlinux.source ? source_says(s, err, "%s", k->vmlinux.source) : 0;
}

static int find_in_vmlinux(struct symbol_source *s, struct kernel_state *k, struct lookups *l,
			   struct err *err)
{
	struct func_cursor cursor = {0};
	const struct func *f;
	size_t i;

	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];

		v->vaddr = v->key - k->vmlinux_shift;
		v->has_vaddr = true;
		if (elfsyms_find(&k->vmlinux, v->vaddr, &cursor, &f))
			return err_nomem(err);
		lookup_set(v, s, elfsyms_table(&k->vmlinux, f), f, v->vaddr);
	}
	return 0;
}

/* Looks up the addresses in the file that an earlier run has saved. */
static int find_in_core(struct symbol_source *s, struct kernel_state *k, struct lookups *l,
			struct err *err)
{
	bool any = false;
	uint32_t aliases;
	struct func f;
	size_t i;

	if (s->dso->kind != DSO_KERNEL)
		return 0;
	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];

		if (v->symbol)
			continue;
		if (!kernel_find_core(s->env->kernel, s->env, v->key, &f, &aliases))
			break; /* the list has to be read anyway */
		lookup_set(v, s, NULL, &f, v->key);
		v->aliases = s->env->count_aliases ? aliases : 0;
		any = true;
	}
	return any ? source_says_once(s, &k->noted_core, "kallsyms of this boot from the cache",
				      err)
		   : 0;
}

static int find_in_kallsyms(struct symbol_source *s, struct kernel_state *k, struct lookups *l,
			    struct err *err)
{
	const struct kernel_symbols *sym;
	struct func_cursor cursor = {0};
	enum sym_miss why;
	size_t i;

	if (kernel_symbols(s->dso->kind == DSO_GUEST_KERNEL ? s->env->guest_kernel : s->env->kernel,
			   s->env, &sym, &why, err))
		return -ERR_NOMEM;
	if (!sym && s->miss == SYM_MISS_FOUND)
		s->miss = why;
	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];

		if (v->symbol)
			continue;
		if (!sym)
			v->miss = (uint8_t)s->miss;
		else if (!kernel_symbols_name(sym, NULL, s, v, &cursor))
			lookup_set(v, s, sym->tab, NULL, v->ip);
	}
	return sym ? source_says_once(s, &k->noted_kallsyms, sym->source, err) : 0;
}

static int kernel_source_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	struct kernel_state *k = s->state;
	size_t i;
	int rc = 0;

	if (!k) {
		s->state = k = calloc(1, sizeof *k);
		rc = k ? open_vmlinux(s, k, err) : err_nomem(err);
	}
	if (!rc && k->mod)
		rc = find_in_vmlinux(s, k, l, err);
	if (!rc)
		rc = find_in_core(s, k, l, err);
	for (i = 0; !rc && i < l->n; i++)
		if (!l->v[i].symbol)
			return find_in_kallsyms(s, k, l, err);
	return rc;
}

static uint64_t kernel_cost(struct symbol_source *s)
{
	struct kernel_state *k = s->state;

	return k->mod ? dwarf_bytes(k->mod) : 0;
}

static int kernel_lines(struct symbol_source *s, struct lookups *l, unsigned n_threads,
			struct err *err)
{
	struct kernel_state *k = s->state;
	int rc = elf_lines(&k->dwarf, s->env, k->mod, l, n_threads, err);

	if (rc || !k->dwarf || k->noted_dwarf)
		return rc;
	k->noted_dwarf = true;
	return source_says_dwarf(s, err, k->mod);
}

static bool kernel_code(struct symbol_source *s, uint64_t ip, struct sym_kernel_code *ret)
{
	struct kernel_state *k = s->state;
	struct func_cursor cursor = {0};
	const struct func *f = NULL;

	if (!k || !k->mod)
		return false;
	*ret = (struct sym_kernel_code){.image = k->mod->image ? k->mod->image : k->mod->debug,
					.vaddr = ip - k->vmlinux_shift,
					.shift = k->vmlinux_shift};
	if (!ret->image || elfsyms_find(&k->vmlinux, ret->vaddr, &cursor, &f) || !f)
		return false;
	ret->end = f->end;
	return true;
}

static void kernel_end_batch(struct symbol_source *s)
{
	struct kernel_state *k = s->state;

	if (!k)
		return;
	elf_lines_end(&k->dwarf, s->env);
}

static void kernel_done(struct symbol_source *s)
{
	struct kernel_state *k = s->state;

	if (!k)
		return;
	elfsyms_done(&k->vmlinux);
	elf_image_close(k->own.image);
	free(k);
}

const struct source_ops kernel_source_ops = {
	.by_ip = true,
	.symbols = kernel_source_symbols,
	.lines_cost = kernel_cost,
	.lines = kernel_lines,
	.kernel_code = kernel_code,
	.end_batch = kernel_end_batch,
	.done = kernel_done,
};
