/* batch_names.c - collects the names of a group and demangles each once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "symbolize/batch_group.h"

static int name_index(struct group *g, const char *system, bool readable, uint32_t *ret)
{
	uint64_t key = (uintptr_t)system;

	*ret = NAME_NONE;
	if (!system)
		return 0;
	*ret = hash_get(&g->by_pointer, key);
	if (*ret != HASH_NONE)
		return 0;
	*ret = (uint32_t)g->names.n;
	return vec_push(&g->names, (struct name){.system = system,
						 .shown = system,
						 .readable = readable,
						 .system_id = NAME_NONE,
						 .shown_id = NAME_NONE}) ||
			       hash_put(&g->by_pointer, key, *ret)
		       ? -1
		       : 0;
}

static int collect_names(struct group *g)
{
	const struct lookups *l = &g->lookups;
	size_t i;

	g->symbol_names = malloc((l->n ? l->n : 1) * sizeof *g->symbol_names);
	if (!g->symbol_names || vec_reserve(&g->frame_names, l->frames.n))
		return -1;
	for (i = 0; i < l->n; i++) {
		uint32_t *index = &g->symbol_names[i];

		if (name_index(g, l->v[i].symbol, false, index))
			return -1;
		if (*index != NAME_NONE)
			g->names.v[*index].aliases = l->v[i].aliases;
	}
	for (i = 0; i < l->frames.n; i++) {
		const struct dwarf_frame *f = &l->frames.v[i];

		if (name_index(g, f->linkage_name ? f->linkage_name : f->name, !f->linkage_name,
			       &g->frame_names.v[g->frame_names.n++]))
			return -1;
	}
	return 0;
}

/* Sets name->shown, in the group's memory. Returns 0, or -1 when out of memory. */
static int show_name(struct group *g, struct demangler *d, const struct name_style *style,
		     struct name *name)
{
	const char *shown =
		name->readable ? restyle(d, name->system, style) : demangle(d, name->system, style);
	char mark[16] = "";
	size_t n = strlen(shown), n_mark;
	char *copy;

	if (name->aliases)
		snprintf(mark, sizeof mark, " [+%u]", name->aliases);
	n_mark = strlen(mark);
	if (shown == name->system && !n_mark)
		return 0;
	copy = arena_alloc(&g->text, n + n_mark + 1);
	if (!copy)
		return -1;
	memcpy(copy, shown, n);
	memcpy(copy + n, mark, n_mark + 1);
	name->shown = copy;
	return 0;
}

int group_names(struct group *g, struct name_style style)
{
	struct demangler d = {0};
	size_t i;
	int rc = collect_names(g);

	style.fold_clones &= !g->src->is_go;
	style.compiler = g->src->compiler;
	for (i = 0; i < g->names.n && !rc; i++)
		rc = show_name(g, &d, &style, &g->names.v[i]);
	if (demangler_is_out_of_memory(&d))
		rc = -1;
	demangler_done(&d);
	return rc ? -ERR_NOMEM : 0;
}
