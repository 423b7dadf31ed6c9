/* src_kmod.c - the source for kernel modules: kallsyms, else the .ko file, which also has the
 * lines. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/elfsyms.h"
#include "symbolize/kallsyms.h"
#include "symbolize/symbol_source.h"

struct kmod_state {
	char name[NAME_MAX + 1];	       /* as in /proc/modules */
	const struct kernel_symbols *kallsyms; /* NULL: none that fit */
	struct module *mod;		       /* NULL until opened */
	struct elfsyms file;
	struct dwarf_index *dwarf; /* of this batch */
	bool noted_kallsyms, noted_dwarf;
};

static int open_kallsyms(struct symbol_source *s, struct kmod_state *k, struct err *err)
{
	enum sym_miss why;

	if (!kallsyms_module_name(s->dso->path, k->name, sizeof k->name)) {
		s->miss = SYM_MISS_NOT_A_FILE;
		return 0;
	}
	if (kernel_symbols(s->env->kernel, s->env, &k->kallsyms, &why, err))
		return -ERR_NOMEM;
	if (k->kallsyms && !k->kallsyms->same_boot) {
		k->kallsyms = NULL;
		why = SYM_MISS_OTHER_KERNEL;
	}
	if (!k->kallsyms)
		s->miss = why;
	return 0;
}

static int open_file(struct symbol_source *s, struct kmod_state *k, struct err *err)
{
	k->mod = modules_get(s->env->modules, s->dso);
	if (!k->mod || !module_debug(s->env->modules, k->mod))
		return err_nomem(err);
	if (!k->mod->image && !k->mod->debug)
		return 0;
	if (elfsyms_load(&k->file, k->mod, NULL, 0))
		return err_nomem(err);
	if (!*k->file.source)
		return 0;
	s->miss = SYM_MISS_FOUND;
	return k->kallsyms ? 0 : source_says(s, err, "%s", k->file.source);
}

/* A .ko file has no addresses; the kernel's layout of its sections is known, but changes between
 * versions. If kallsyms has a name for the address, the file is used only if it has the same name
 * at the same distance. */
static int find_in_file(struct symbol_source *s, struct kmod_state *k, struct lookup *l,
			struct func_cursor *cursor)
{
	const struct func *f;

	if (elfsyms_find(&k->file, l->off, cursor, &f))
		return -ERR_NOMEM;
	if (!l->symbol) {
		lookup_set(l, s, elfsyms_table(&k->file, f), f, l->off);
		if (!f && s->miss != SYM_MISS_FOUND)
			l->miss = (uint8_t)s->miss;
		l->has_vaddr = f;
	} else {
		l->has_vaddr = f && l->off - f->start == l->offset && !strcmp(f->name, l->symbol);
	}
	l->vaddr = l->off;
	return 0;
}

static int kmod_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	struct func_cursor cursor = {0}, file_cursor = {0};
	struct kmod_state *k = s->state;
	bool used_kallsyms = false;
	size_t i;

	if (!k) {
		s->state = k = calloc(1, sizeof *k);
		if (!k)
			return err_nomem(err);
		if (open_kallsyms(s, k, err))
			return -ERR_NOMEM;
	}
	for (i = 0; i < l->n; i++) {
		struct lookup *v = &l->v[i];
		bool known =
			k->kallsyms && kernel_symbols_name(k->kallsyms, k->name, s, v, &cursor);

		used_kallsyms |= known;
		if (known && s->env->no_inline)
			continue;
		if (!k->mod && open_file(s, k, err))
			return -ERR_NOMEM;
		if (find_in_file(s, k, v, &file_cursor))
			return err_nomem(err);
	}
	return used_kallsyms ? source_says_once(s, &k->noted_kallsyms, k->kallsyms->source, err)
			     : 0;
}

static uint64_t kmod_cost(struct symbol_source *s)
{
	struct kmod_state *k = s->state;

	return k->mod && *k->file.source ? dwarf_bytes(k->mod) : 0;
}

static int kmod_lines(struct symbol_source *s, struct lookups *l, unsigned n_threads,
		      struct err *err)
{
	struct kmod_state *k = s->state;
	int rc = elf_lines(&k->dwarf, s->env, k->mod, l, n_threads, err);

	if (rc || !k->dwarf || k->noted_dwarf)
		return rc;
	k->noted_dwarf = true;
	return source_says_dwarf(s, err, k->mod);
}

static void kmod_end_batch(struct symbol_source *s)
{
	struct kmod_state *k = s->state;

	if (!k)
		return;
	elf_lines_end(&k->dwarf, s->env);
}

static void kmod_done(struct symbol_source *s)
{
	struct kmod_state *k = s->state;

	if (!k)
		return;
	elfsyms_done(&k->file);
	free(k);
}

const struct source_ops kmod_source_ops = {
	.symbols = kmod_symbols,
	.lines_cost = kmod_cost,
	.lines = kmod_lines,
	.end_batch = kmod_end_batch,
	.done = kmod_done,
};
