/* batch_answers.c - interns the results of lookups. */
#include "base/arena.h"
#include "base/strtab.h"
#include "symbolize/batch_group.h"
#include "symbolize/symbolize.h"

/* Interns both forms of a name; id 0 for no name. */
static int intern(struct symbolizer *s, struct name *name)
{
	if (name->shown_id != NAME_NONE)
		return 0;
	name->shown_id = strtab_add_cstr(&s->strings, name->shown);
	name->system_id = name->system == name->shown ? name->shown_id
						      : strtab_add_cstr(&s->strings, name->system);
	return name->shown_id == STRTAB_FAILED || name->system_id == STRTAB_FAILED ? -1 : 0;
}

/* Adds a line without file and number; all addresses of the function share it. */
static int plain_line(struct symbolizer *s, struct name *name, struct sym_result *r)
{
	struct sym_line *line;

	r->n_lines = 1;
	r->lines = name->plain;
	if (r->lines)
		return 0;
	line = arena_alloc(&s->lines, sizeof *line);
	if (!line)
		return -1;
	line->name = name->shown_id;
	line->system_name = name->system_id;
	r->lines = name->plain = line;
	return 0;
}

static int chain_lines(struct symbolizer *s, struct group *g, const struct lookup *l,
		       const struct name *symbol, struct sym_result *r)
{
	struct sym_line *lines = arena_alloc(&s->lines, l->n_frames * sizeof *lines);
	size_t i;

	if (!lines)
		return -1;
	for (i = 0; i < l->n_frames; i++) {
		const struct dwarf_frame *f = &g->lookups.frames.v[l->first_frame + i];
		uint32_t index = g->frame_names.v[l->first_frame + i];
		const struct name *name = index == NAME_NONE ? NULL : &g->names.v[index];

		/* The outermost function has the name that the symbol table gives it. */
		if (i + 1 == l->n_frames && symbol)
			name = symbol;
		else if (index != NAME_NONE && intern(s, &g->names.v[index]))
			return -1;
		if (name) {
			lines[i].name = name->shown_id;
			lines[i].system_name = name->system_id;
		}
		if (f->file)
			lines[i].file = strtab_add_cstr(&s->strings, f->file);
		if (lines[i].file == STRTAB_FAILED)
			return -1;
		lines[i].line = f->line;
		lines[i].start_line = f->decl_line;
	}
	r->n_lines = l->n_frames;
	r->lines = lines;
	return 0;
}

void count_answer(struct symbolize_stats *st, const struct sym_result *r)
{
	st->addresses++;
	st->misses[r->miss]++;
	st->symbolized += r->miss == SYM_MISS_FOUND;
	st->with_lines += r->n_lines && r->lines[0].line;
}

static int answer(struct symbolizer *s, struct group *g, size_t i, struct sym_result *r)
{
	const struct lookup *l = &g->lookups.v[i];
	struct name *symbol =
		g->symbol_names[i] == NAME_NONE ? NULL : &g->names.v[g->symbol_names[i]];

	*r = (struct sym_result){
		.miss = (enum sym_miss)l->miss, .offset = l->offset, .aliases = l->aliases};
	if (symbol) {
		if (intern(s, symbol))
			return -1;
		r->symbol = symbol->shown_id;
		r->symbol_system = symbol->system_id;
	}
	if (l->n_frames && !l->no_function)
		r->miss = SYM_MISS_FOUND;
	if (r->miss == SYM_MISS_FOUND)
		g->src->found = true;
	if (l->n_frames)
		return chain_lines(s, g, l, symbol, r);
	return symbol ? plain_line(s, symbol, r) : 0;
}

static enum sym_tier tier_of(const struct lookup *l, const struct sym_result *r)
{
	if (l->n_frames)
		return l->no_function ? SYM_TIER_LINE : SYM_TIER_INLINE;
	return r->miss == SYM_MISS_FOUND ? SYM_TIER_SYM : SYM_TIER_NONE;
}

int group_answers(struct symbolizer *s, struct group *g, struct sym_result *r)
{
	size_t n = g->lookups.n, i;

	for (i = 0; i < n; i++) {
		if (answer(s, g, i, &r[i]))
			return -1;
		count_answer(&s->stats, &r[i]);
		if (tier_of(&g->lookups.v[i], &r[i]) > g->src->tier)
			g->src->tier = tier_of(&g->lookups.v[i], &r[i]);
	}
	/* If no address has a name, and no reason holds for the whole dso, the dso gets the reason
	 * of the first address. */
	for (i = 0; i < n && !g->src->found && g->src->miss == SYM_MISS_FOUND; i++)
		g->src->miss = r[i].miss;
	return 0;
}
