/* elf_lines.c - inline chains and lines of one module for a batch of addresses. */
#include <stdlib.h>

#include "base/threads.h"
#include "symbolize/source.h"

/* Deeper chains lose their middle; 49 was the deepest seen in large C++ programs. */
enum { CHAIN_MAX = 256 };

static int look_up(struct dwarf_index *index, struct lookups *l, size_t i)
{
	struct dwarf_frame chain[CHAIN_MAX], line = {0};
	size_t n = dwarf_index_lookup(index, l->v[i].vaddr, chain, CHAIN_MAX, &line);

	if (!n && line.file) {
		chain[n++] = (struct dwarf_frame){.file = line.file, .line = line.line};
		l->v[i].no_function = true;
	}
	return lookups_add_chain(l, i, chain, n);
}

static int look_up_all(struct dwarf_index *index, struct lookups *l, struct err *err)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->v[i].has_vaddr && look_up(index, l, i))
			return err_nomem(err);
	return 0;
}

int elf_lines(struct dwarf_index **index, const struct source_env *env, struct module *mod,
	      struct lookups *l, unsigned n_threads, struct err *err)
{
	struct lines_cache *cache = env->lines_cache;
	const struct dwarf_cache *where = cache->where.dir ? &cache->where : NULL;
	struct dwarf_index_stats stats;
	size_t n, n_frames = l->frames.n;
	uint64_t *vaddrs = lookups_vaddrs(l, &n);
	int rc = vaddrs ? 0 : err_nomem(err);

	*index = NULL;
	if (n)
		rc = dwarf_index_open(index, mod, vaddrs, n, where, n_threads, err);
	if (!rc && *index)
		rc = look_up_all(*index, l, err);
	if (!rc && *index && dwarf_index_is_damaged(*index)) {
		where = dwarf_index_discard(*index) ? where : NULL;
		*index = NULL;
		l->frames.n = n_frames;
		rc = dwarf_index_open(index, mod, vaddrs, n, where, n_threads, err);
		if (!rc && *index)
			rc = look_up_all(*index, l, err);
	}
	free(vaddrs);
	if (!rc && *index) {
		dwarf_index_stats(*index, &stats);
		cache->hits += stats.from_cache;
	}
	return rc;
}

void elf_lines_end(struct dwarf_index **index, const struct source_env *env)
{
	struct dwarf_index *d = *index;

	*index = NULL;
	if (d && dwarf_index_has_news(d) && !vec_push(&env->lines_cache->unsaved, d))
		return;
	dwarf_index_free(d);
}

static void save_one(void *arg, size_t i, unsigned worker)
{
	struct lines_cache *c = arg;

	(void)worker;
	dwarf_index_save(c->unsaved.v[i]);
}

void elf_lines_flush(struct lines_cache *c, bool save, unsigned n_threads)
{
	size_t i;

	if (save)
		threads_for(n_threads, c->unsaved.n, save_one, c);
	for (i = 0; i < c->unsaved.n; i++)
		dwarf_index_free(c->unsaved.v[i]);
	vec_done(&c->unsaved);
}
