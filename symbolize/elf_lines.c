/* elf_lines.c - inline chains and lines of one module for a batch of addresses. */
#include <stdlib.h>

#include "base/threads.h"
#include "symbolize/symbol_source.h"

/* Addresses per call, and room for the levels of their inline chains. */
enum { ADDRESSES = 64, LEVELS = 8 * DWARF_CHAIN_MAX };

struct some {
	size_t lookups[ADDRESSES];
	uint64_t vaddrs[ADDRESSES];
	struct dwarf_chain chains[ADDRESSES];
	size_t n;
	struct dwarf_at at[LEVELS];
	struct dwarf_frame frames[LEVELS];
};

static int add_chain(struct dwarf_index *index, struct lookups *l, size_t i,
		     const struct dwarf_chain *c, const struct dwarf_frame *frames)
{
	struct dwarf_frame line;

	if (c->n || !c->line.file)
		return lookups_add_chain(l, i, frames, c->n);
	dwarf_index_frames(index, &c->line, 1, &line);
	if (!line.file)
		return lookups_add_chain(l, i, NULL, 0);
	l->v[i].no_function = true;
	return lookups_add_chain(l, i, &(struct dwarf_frame){.file = line.file, .line = line.line},
				 1);
}

static int look_up_some(struct dwarf_index *index, struct lookups *l, struct some *s)
{
	size_t done = 0, n, n_at, i;

	for (; done < s->n; done += n) {
		n = dwarf_index_chains(index, s->vaddrs + done, s->n - done, s->chains, s->at,
				       LEVELS);
		for (n_at = i = 0; i < n; i++)
			n_at += s->chains[i].n;
		dwarf_index_frames(index, s->at, n_at, s->frames);
		for (n_at = i = 0; i < n; n_at += s->chains[i++].n)
			if (add_chain(index, l, s->lookups[done + i], &s->chains[i],
				      s->frames + n_at))
				return -1;
	}
	s->n = 0;
	return 0;
}

static int look_up_all(struct dwarf_index *index, struct lookups *l, struct err *err)
{
	struct some *s = malloc(sizeof *s);
	int rc = s ? 0 : -1;
	size_t i;

	if (s)
		s->n = 0;
	for (i = 0; !rc && i < l->n; i++) {
		if (l->v[i].has_vaddr) {
			s->lookups[s->n] = i;
			s->vaddrs[s->n++] = l->v[i].vaddr;
		}
		if (s->n == ADDRESSES || i + 1 == l->n)
			rc = look_up_some(index, l, s);
	}
	free(s);
	return rc ? err_nomem(err) : 0;
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
