/* files.c - one file may have been mapped under several paths, as in containers, or with and
 * without its symbols; and several files may have one build id, which can be given to the linker.
 */
#include "cut/files.h"

#include "base/hash.h"
#include "base/vec.h"
#include "modules/modules.h"

int cut_addrs_add(struct cut_addrs *to, const struct cut_addrs *from)
{
	size_t i;

	for (i = 0; i < from->n; i++)
		if (vec_push(to, from->v[i]))
			return -1;
	return 0;
}

/* Dsos with one build id. */
struct group {
	VEC(struct cut_dso *) v;
	bool is_apart; /* their code differs */
};

struct groups {
	VEC(struct group) v;
	struct hash_table by_id;
};

static int add_to_group(struct groups *g, struct cut_dso *d)
{
	const struct build_id *id = &d->dso->build_id;
	const uint64_t key = hash_bytes(id->bytes, id->size);
	const uint32_t i = hash_get(&g->by_id, key);

	if (i == HASH_NONE) {
		struct group new = {0};

		if (vec_push(&new.v, d) || vec_push(&g->v, new)) {
			vec_done(&new.v);
			return -1;
		}
		return hash_put(&g->by_id, key, (uint32_t)g->v.n - 1);
	}
	if (!build_id_identical(id, &g->v.v[i].v.v[0]->dso->build_id))
		return 0;
	return vec_push(&g->v.v[i].v, d);
}

static bool has(struct elf_image *img, const char *name)
{
	struct elf_section s;

	return img && elf_image_section(img, name, &s, NULL);
}

/* How much names can be told from; -1: there is no file. */
static int richness(const struct module *m)
{
	if (!m->image)
		return -1;
	return 2 * has(m->debug, ".debug_info") + (has(m->debug, ".symtab") || m->mini);
}

static int compare(struct modules *ms, struct group *g, size_t *richest)
{
	const struct module *first = NULL;
	const struct bundle *b = modules_bundle(ms);
	int most = -2;

	g->is_apart = b && bundle_has_twins(b, &g->v.v[0]->dso->build_id);
	for (size_t i = 0; i < g->v.n; i++) {
		struct module *m = modules_get(ms, g->v.v[i]->dso);

		if (!m || !module_debug(ms, m))
			return -1;
		if (richness(m) > most) {
			most = richness(m);
			*richest = i;
		}
		if (!first && m->image)
			first = m;
		else if (first)
			g->is_apart |= module_has_other_code(first, m);
	}
	return 0;
}

static int join(struct group *g, size_t richest)
{
	struct cut_dso *to = g->v.v[richest];

	for (size_t i = 0; i < g->v.n; i++) {
		struct cut_dso *d = g->v.v[i];

		if (d == to)
			continue;
		if (cut_addrs_add(&to->code, &d->code) || cut_addrs_add(&to->frames, &d->frames) ||
		    cut_addrs_add(&to->probed, &d->probed) || cut_addrs_add(&to->texts, &d->texts))
			return -1;
		to->samples += d->samples;
		d->is_joined = true;
	}
	return 0;
}

static int settle(struct modules *ms, struct group *g)
{
	const struct bundle *b = modules_bundle(ms);
	size_t richest = 0;

	if (g->v.n == 1) {
		g->v.v[0]->is_twin = b && bundle_has_twins(b, &g->v.v[0]->dso->build_id);
		return 0;
	}
	if (compare(ms, g, &richest))
		return -1;
	if (!g->is_apart)
		return join(g, richest);
	for (size_t i = 0; i < g->v.n; i++)
		g->v.v[i]->is_twin = true;
	return 0;
}

int cut_one_per_file(struct modules *ms, struct cut_hits *hits,
		     bool (*wanted)(const struct cut_dso *d))
{
	struct groups g = {0};
	int rc = 0;
	size_t i;

	for (i = 0; i < cut_hits_count(hits) && !rc; i++) {
		struct cut_dso *d = cut_hits_at(hits, i);

		if (d->dso->build_id.size && wanted(d))
			rc = add_to_group(&g, d);
	}
	for (i = 0; i < g.v.n && !rc; i++)
		rc = settle(ms, &g.v.v[i]);
	for (i = 0; i < g.v.n; i++)
		vec_done(&g.v.v[i].v);
	vec_done(&g.v);
	hash_done(&g.by_id);
	return rc;
}
