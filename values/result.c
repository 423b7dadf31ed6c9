/* result.c - whether the register of results has what a function returns.
 *
 * Optimizers remove results that no caller uses, where they see all callers. gcc then makes a copy
 * of the function, whose symbol says so (".isra.0", ".part.0": ipa-sra.cc, ipa-split.cc). LLVM
 * changes functions in place: DeadArgumentElimination marks them since 16 (DW_CC_nocall), IPSCCP,
 * which returns anything instead of a constant, never does. Both leave functions as they are that
 * may be called from elsewhere; those that the linker's optimizer found not to be are local in the
 * symbol table then, whatever DWARF says. */
#include <stdlib.h>
#include <string.h>

#include "values/frame_view.h"

/* The functions of a module; NULL: out of memory. */
static const struct functab *symbols_of(struct known_module *k)
{
	struct elf_image *const images[] = {k->mod->image, k->mod->debug, k->mod->mini};
	size_t n;

	if (k->symbols)
		return k->symbols;
	k->symbols = calloc(1, sizeof *k->symbols);
	for (size_t i = 0; k->symbols && i < sizeof images / sizeof *images; i++)
		if (images[i] && (i != 1 || images[1] != images[0]) &&
		    (symtab_read(k->symbols, images[i], ".symtab", NULL, &n) ||
		     symtab_read(k->symbols, images[i], ".dynsym", NULL, &n)))
			return NULL;
	return k->symbols && !functab_finish(k->symbols) ? k->symbols : NULL;
}

/* Does the register have the result when the function of the frame returns? */
static bool is_kept_in(struct values *v, const struct frame_view *f)
{
	const struct dwarf_site *site = f->site;
	const uint32_t at = hash_get(&v->by_dso, (uintptr_t)f->frame->map->dso);
	const struct functab *symbols;
	const struct func *found[8];
	size_t n;
	bool is_kept = false;

	if (site->keeps_result || site->is_unoptimized)
		return true;
	symbols = at == HASH_NONE ? NULL : symbols_of(&v->known.v[at]);
	if (!symbols) {
		v->failed = true;
		return false;
	}
	n = functab_covering(symbols, site->entry, found, sizeof found / sizeof *found);
	for (size_t i = 0; i < n; i++) {
		if (found[i]->start != site->entry)
			continue;
		if (strstr(found[i]->name, ".isra") || strstr(found[i]->name, ".part"))
			return false;
		is_kept |= site->is_by_gcc || found[i]->flags & (FUNC_WEAK | FUNC_GLOBAL);
	}
	return is_kept;
}

/* Go: the first one; NULL: there is none. */
static const struct dwarf_param *listed_result(const struct dwarf_site *site)
{
	const struct dwarf_params_of *own = site->n ? &site->levels[site->n - 1] : NULL;

	for (size_t i = 0; own && i < own->n; i++)
		if (own->v[i].is_result)
			return &own->v[i];
	return NULL;
}

void result_add(struct values *v, struct text *t, const struct frame_view *f)
{
	const struct dwarf_site *site = f->site;
	const struct dwarf_param *listed = site ? listed_result(site) : NULL;

	if (!site)
		return;
	text_char(t, '\r');
	if (!site->is_result_told)
		text_char(t, '?');
	else if (!site->has_result && !listed)
		text_char(t, 'v');
	else if (site->is_not_called_so || !is_kept_in(v, f))
		text_char(t, '!');
	else if (site->has_result)
		value_print_type(t, site->result);
	else
		value_print_type(t, listed->type);
}
