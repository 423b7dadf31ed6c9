/* src_recorded.c - the source for symbols in the recording (simpleperf): for dsos without a file
 * here, or with a file that may not be the one that ran. */
#include <stdlib.h>

#include "reader/reader.h"
#include "symbolize/symbol_source.h"

/* One perf_symbol_file of the dso. */
struct recorded_file {
	const struct perf_symbol_file *file;
	struct functab tab;
	struct func_cursor cursor;
};

struct recorded {
	VEC(struct recorded_file) files;
	VEC(const struct map *) maps; /* of the dso */
	bool noted;
};

static int add_file(struct recorded *r, const struct perf_symbol_file *file)
{
	struct functab *tab;

	if (vec_push(&r->files, (struct recorded_file){.file = file}))
		return -1;
	tab = &r->files.v[r->files.n - 1].tab;
	for (size_t i = 0; i < file->n; i++) {
		const struct perf_symbol *y = &file->symbols[i];
		const struct func f = {.start = y->start,
				       .end = y->len > UINT64_MAX - y->start ? UINT64_MAX
									     : y->start + y->len,
				       .name = y->name};

		if (functab_add(tab, &f))
			return -1;
	}
	return functab_finish(tab);
}

static int open_recorded(struct symbol_source *s)
{
	const struct perf_symbol_file *file = perf_file_symbols(s->env->file, s->dso);
	struct recorded *r;

	if (!file)
		return 0;
	s->recorded = r = calloc(1, sizeof *r);
	if (!r)
		return -1;
	for (size_t i = 0, n = perf_file_map_count(s->env->file); i < n; i++) {
		const struct map *m = perf_file_map(s->env->file, i);

		if (m->dso == s->dso && vec_push(&r->maps, m))
			return -1;
	}
	for (; file; file = file->next)
		if (add_file(r, file))
			return -1;
	return 0;
}

/* The map of a lookup's address. Processes have the file at different addresses: the offset in the
 * file decides. */
static const struct map *map_of(const struct recorded *r, const struct lookup *v)
{
	const struct map *best = NULL;

	for (size_t i = 0; i < r->maps.n; i++) {
		const struct map *m = r->maps.v[i];

		if (v->ip < m->start || v->ip >= m->end)
			continue;
		if (map_ip_to_off(m, v->ip) == v->off)
			return m;
		best = m;
	}
	return best;
}

/* The address as the file's symbols count it. */
static uint64_t address_in(const struct perf_symbol_file *file, const struct map *m,
			   const struct lookup *v)
{
	if (file->base == PERF_SYMBOLS_BY_IP || !m || m->prot & PERF_MAP_JIT_SYMBOLS)
		return v->ip;
	return v->ip - m->start + file->delta + (file->base == PERF_SYMBOLS_BY_OFF ? m->pgoff : 0);
}

static bool find(struct symbol_source *s, struct recorded *r, struct lookup *v)
{
	const struct map *m = map_of(r, v);

	for (size_t i = 0; i < r->files.n; i++) {
		struct recorded_file *rf = &r->files.v[i];
		uint64_t addr = address_in(rf->file, m, v);
		const struct func *f = functab_find(&rf->tab, addr, &rf->cursor);

		if (!f)
			continue;
		lookup_set(v, s, &rf->tab, f, addr);
		v->has_vaddr = false; /* lines would be those of another file */
		return true;
	}
	return false;
}

int recorded_symbols(struct symbol_source *s, struct lookups *l, struct err *err)
{
	const bool is_sure = s->dso->build_id.size != 0;
	struct recorded *r;
	bool found = false;

	if (!s->env->file)
		return 0;
	if (!s->recorded && open_recorded(s))
		return err_nomem(err);
	r = s->recorded;
	for (size_t i = 0; r && i < l->n; i++)
		if (!is_sure || !l->v[i].symbol)
			found |= find(s, r, &l->v[i]);
	if (!found || r->noted)
		return 0;
	r->noted = true;
	return source_says(s, err, "symbols in the recording");
}

void recorded_done(struct symbol_source *s)
{
	struct recorded *r = s->recorded;

	if (!r)
		return;
	for (size_t i = 0; i < r->files.n; i++)
		functab_done(&r->files.v[i].tab);
	vec_done(&r->files);
	vec_done(&r->maps);
	free(r);
	s->recorded = NULL;
}
