/* src_kmod.c - kernel modules: their symbols in kallsyms, else the .ko file. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/elfsyms.h"
#include "symbolize/kallsyms.h"
#include "symbolize/source.h"

struct kmod_state {
	char name[NAME_MAX + 1];	       /* as in /proc/modules */
	const struct kernel_symbols *kallsyms; /* NULL: none that fit */
	struct elfsyms file;
	bool file_opened;
};

static int open_kallsyms(struct source *s, struct kmod_state *k, struct err *err)
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

static int open_file(struct source *s, struct kmod_state *k, struct err *err)
{
	struct module *mod = modules_get(s->env->modules, s->dso);

	k->file_opened = true;
	if (!mod)
		return err_nomem(err);
	if (!mod->image)
		return 0;
	module_debug(s->env->modules, mod);
	if (elfsyms_load(&k->file, mod, NULL, 0))
		return err_nomem(err);
	if (!*k->file.source)
		return 0;
	s->miss = SYM_MISS_FOUND;
	return source_says(s, err, "%s", k->file.source);
}

static bool find_in_kallsyms(struct source *s, const struct kmod_state *k, struct lookup *l,
			     struct func_cursor *cursor)
{
	const struct func *f;

	f = k->kallsyms ? functab_find(k->kallsyms->tab, l->ip, cursor) : NULL;
	if (!f || strcmp(k->kallsyms->modules[f->tag], k->name))
		return false;
	lookup_set(l, s, k->kallsyms->tab, f, l->ip);
	return true;
}

static int kmod_symbols(struct source *s, struct lookups *l, struct err *err)
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
		const struct func *f;

		if (find_in_kallsyms(s, k, v, &cursor)) {
			used_kallsyms = true;
			continue;
		}
		if (!k->file_opened && open_file(s, k, err))
			return -ERR_NOMEM;
		if (elfsyms_find(&k->file, v->off, &file_cursor, &f))
			return err_nomem(err);
		lookup_set(v, s, elfsyms_table(&k->file, f), f, v->off);
		if (!f && s->miss != SYM_MISS_FOUND)
			v->miss = (uint8_t)s->miss;
	}
	return used_kallsyms && !s->used ? source_says(s, err, "%s", k->kallsyms->source) : 0;
}

static void kmod_done(struct source *s)
{
	struct kmod_state *k = s->state;

	if (!k)
		return;
	elfsyms_done(&k->file);
	free(k);
}

const struct source_ops kmod_source_ops = {
	.by_ip = true, .symbols = kmod_symbols, .done = kmod_done};
