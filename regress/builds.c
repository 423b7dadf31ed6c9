/* builds.c - finds the files of both sides' code, and compares the code. */
#include <elf.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/pair.h"
#include "base/strtab.h"
#include "profile/profile.h"
#include "reader/reader.h"
#include "regress/code.h"
#include "regress/inside.h"
#include "regress/key.h"

#define NO_OFFSET UINT64_MAX /* of code without a name */

/* ---- what ran -----------------------------------------------------------------------------------
 */

/* Different files with the same path are different builds. */
static int build_of(struct regress *g, struct side_code *c, const char *path,
		    const struct build_id *id, uint32_t *ret)
{
	struct build b = {.id = *id};
	struct text name = {0};
	size_t i;

	for (i = 0; i < c->builds.n; i++)
		if (!strcmp(c->builds.v[i].path, path) &&
		    build_id_identical(&c->builds.v[i].id, id))
			break;
	*ret = (uint32_t)i;
	if (i < c->builds.n)
		return 0;
	key_module(&name, path, strlen(path));
	b.path = strdup(path);
	b.short_name = name.failed ? STRTAB_FAILED : strtab_add(&g->names, name.s, name.n);
	text_done(&name);
	if (b.path && b.short_name != STRTAB_FAILED && !vec_push(&c->builds, b))
		return 0;
	free(b.path);
	return -1;
}

int regress_add_module(struct regress *g, enum side side, const char *path,
		       const struct build_id *id, struct err *err)
{
	uint32_t build;

	if (!id->size)
		g->code[side].has_other = true;
	else if (build_of(g, &g->code[side], path, id, &build))
		return err_nomem(err);
	return 0;
}

static int see_function(struct side_code *c, struct ran r)
{
	uint32_t hash = (uint32_t)hash_u64(hash_u64(r.off) ^ pair_key(r.build, r.key)), id;
	struct hash_probe probe = hash_index_probe(&c->known, hash);

	while ((id = hash_index_next(&c->known, &probe)) != HASH_NONE)
		if (!memcmp(&c->ran.v[id], &r, sizeof r))
			return 0;
	return vec_push(&c->ran, r) || hash_index_put(&c->known, hash, (uint32_t)c->ran.n - 1) ? -1
											       : 0;
}

int builds_see(struct regress *g, enum side side, const struct profile *p, const uint32_t *keys)
{
	struct side_code *c = &g->code[side];
	size_t i;

	for (i = 0; i < p->locations.n; i++) {
		const struct profile_location *l = &p->locations.v[i];
		const struct profile_mapping *m = &p->mappings.v[l->mapping];
		struct ran r = {.key = keys[i],
				.off = l->symbol ? l->off - l->symbol_offset : NO_OFFSET};

		/* Mapping 0 has the addresses in no mapping. */
		if (l->is_kernel || m->kind == DSO_VDSO || !l->mapping)
			continue;
		if (m->kind != DSO_FILE || !m->build_id.size) {
			c->has_other = true;
			continue;
		}
		if (build_of(g, c, strtab_get(&p->strings, m->path), &m->build_id, &r.build) ||
		    see_function(c, r))
			return -1;
	}
	return 0;
}

void builds_done(struct side_code *c)
{
	size_t i;

	for (i = 0; i < c->builds.n; i++)
		free(c->builds.v[i].path);
	vec_done(&c->builds);
	vec_done(&c->ran);
	hash_index_done(&c->known);
}

/* ---- pairs of builds ----------------------------------------------------------------------------
 */

struct image {
	struct dso dso;
	struct code_image code;
};

struct comparison {
	struct regress *g;
	struct modules *modules;
	VEC(struct image *) images;
	struct code_image **of[SIDE_N]; /* by build; NULL: not opened */
	uint32_t *other[SIDE_N];	/* by build: the other side's; UINT32_MAX: none */
	bool is_program;		/* some program, not only libraries, was built anew */
};

static bool same_build(const struct build *a, const struct build *b)
{
	return a->id.size && !memcmp(&a->id, &b->id, sizeof a->id);
}

/* Pairs each file with the same file of the other side, else with that of the same name, else with
 * the only one left: a program may have been renamed. */
static void pair_up(struct comparison *c)
{
	const struct side_code *x = &c->g->code[SIDE_BASE], *y = &c->g->code[SIDE_NEW];
	uint32_t *to = c->other[SIDE_BASE], *from = c->other[SIDE_NEW];
	uint32_t i, k, left[SIDE_N] = {0}, last[SIDE_N] = {0};
	int pass;

	for (i = 0; i < x->builds.n; i++)
		to[i] = UINT32_MAX;
	for (k = 0; k < y->builds.n; k++)
		from[k] = UINT32_MAX;
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < x->builds.n; i++)
			for (k = 0; k < y->builds.n && to[i] == UINT32_MAX; k++)
				if (from[k] == UINT32_MAX &&
				    (pass ? x->builds.v[i].short_name == y->builds.v[k].short_name
					  : same_build(&x->builds.v[i], &y->builds.v[k]))) {
					to[i] = k;
					from[k] = i;
				}
	for (i = 0; i < x->builds.n; i++)
		if (to[i] == UINT32_MAX)
			left[0]++, last[0] = i;
	for (k = 0; k < y->builds.n; k++)
		if (from[k] == UINT32_MAX)
			left[1]++, last[1] = k;
	if (left[0] == 1 && left[1] == 1) {
		to[last[0]] = last[1];
		from[last[1]] = last[0];
	}
}

/* Opens the image of a build with its symbols; *ret is NULL if it is not on this machine. */
static int open_build(struct comparison *c, enum side side, uint32_t i)
{
	const struct build *b = &c->g->code[side].builds.v[i];
	struct image *m = calloc(1, sizeof *m);
	struct module *mod;
	Elf64_Phdr interp;

	if (!m || vec_push(&c->images, m)) {
		free(m);
		return -1;
	}
	m->dso = (struct dso){.kind = DSO_FILE, .path = b->path, .build_id = b->id};
	m->dso.id = (uint32_t)c->images.n - 1;
	mod = modules_get(c->modules, &m->dso);
	if (!mod || !module_debug(c->modules, mod))
		return -1;
	if (!mod->image || mod->image_miss)
		return 0;
	if (code_image_open(&m->code, mod->image, mod->debug ? mod->debug : mod->image))
		return -1;
	c->of[side][i] = &m->code;
	c->is_program |= elf_image_phdr(mod->image, PT_INTERP, &interp) && !strstr(b->path, ".so");
	return 0;
}

static bool is_same_build(const struct comparison *c, enum side side, uint32_t i)
{
	uint32_t k = c->other[side][i];

	return k != UINT32_MAX &&
	       same_build(&c->g->code[side].builds.v[i], &c->g->code[!side].builds.v[k]);
}

static int open_all(struct comparison *c)
{
	uint32_t i;
	int s;

	for (s = 0; s < SIDE_N; s++)
		for (i = 0; i < c->g->code[s].builds.n; i++)
			if (c->other[s][i] != UINT32_MAX && !is_same_build(c, (enum side)s, i) &&
			    open_build(c, (enum side)s, i))
				return -1;
	return 0;
}

/* ---- comparing ----------------------------------------------------------------------------------
 */

static enum code_state state_of(const struct comparison *c, enum side side, const struct ran *r)
{
	const struct code_image *mine = c->of[side][r->build], *its;
	uint64_t vaddr;

	if (is_same_build(c, side, r->build))
		return CODE_SAME;
	if (!mine || !mine->by_address.n || r->off == NO_OFFSET ||
	    c->other[side][r->build] == UINT32_MAX)
		return CODE_UNKNOWN;
	its = c->of[!side][c->other[side][r->build]];
	if (!its || !elf_image_off_to_vaddr(mine->img, r->off, &vaddr))
		return CODE_UNKNOWN;
	return code_compare(mine, its, vaddr);
}

/* Adds the length of a function that ran; of the other side's only if no sample was in it there,
 * for it counts by itself then. */
static void add_size(const struct comparison *c, enum side side, const struct ran *r,
		     const bool *ran_there)
{
	const struct code_image *mine = c->of[side][r->build], *its;
	struct code_size *size = &c->g->code_sizes[r->key];
	const struct code_symbol *s, *like;
	uint64_t vaddr;

	if (!mine || !mine->by_address.n || r->off == NO_OFFSET ||
	    c->other[side][r->build] == UINT32_MAX)
		return;
	its = c->of[!side][c->other[side][r->build]];
	if (!its || !its->by_address.n || !elf_image_off_to_vaddr(mine->img, r->off, &vaddr))
		return;
	s = code_symbol_at(mine, vaddr);
	if (!s)
		return;
	like = ran_there[r->key] ? NULL : code_symbol_like(its, s);
	size->is_known = true;
	size->bytes[side] += s->size;
	size->bytes[!side] += like ? like->size : 0;
}

static int measure_ran(const struct comparison *c)
{
	bool *there = calloc(c->g->info.n + 1, sizeof *there);
	size_t i;
	int s;

	for (s = 0; there && s < SIDE_N; s++) {
		const struct side_code *mine = &c->g->code[s], *its = &c->g->code[!s];

		memset(there, 0, c->g->info.n * sizeof *there);
		for (i = 0; i < its->ran.n; i++)
			there[its->ran.v[i].key] = true;
		for (i = 0; i < mine->ran.n; i++)
			add_size(c, (enum side)s, &mine->ran.v[i], there);
	}
	free(there);
	return there ? 0 : -1;
}

/* Compares the functions that ran. Returns whether all of them are the same. */
static bool compare_ran(const struct comparison *c)
{
	uint8_t *states = c->g->code_state;
	bool all = true;
	size_t i;
	int s;

	for (s = 0; s < SIDE_N; s++)
		for (i = 0; i < c->g->code[s].ran.n; i++) {
			const struct ran *r = &c->g->code[s].ran.v[i];
			enum code_state now = state_of(c, (enum side)s, r);
			uint8_t *kept = &states[r->key];

			if (now > *kept)
				*kept = (uint8_t)now;
			all &= now == CODE_SAME;
		}
	return all;
}

/* Compares all code and data, not only functions that ran: others may have decided how often these
 * ran. */
static bool compare_whole(const struct comparison *c)
{
	uint32_t i;
	bool any = false;
	int s;

	for (s = 0; s < SIDE_N; s++)
		for (i = 0; i < c->g->code[s].builds.n; i++)
			if (c->other[s][i] == UINT32_MAX ||
			    (!c->of[s][i] && !is_same_build(c, (enum side)s, i)))
				return false;

	for (i = 0; i < c->g->code[SIDE_BASE].builds.n; i++) {
		const struct code_image *a = c->of[SIDE_BASE][i], *b;

		if (!a)
			continue;
		b = c->of[SIDE_NEW][c->other[SIDE_BASE][i]];
		if (!b || code_compare_all(a, b) != CODE_SAME)
			return false;
		any = true;
	}
	return any;
}

static bool same_arguments(const struct regress *g)
{
	size_t i;

	for (i = 0; i < g->runs.n; i++)
		if (!g->runs.v[i].facts.arguments ||
		    g->runs.v[i].facts.arguments != g->runs.v[0].facts.arguments)
			return false;
	return true;
}

/* Are all modules known, and is no code made at run time? */
static bool is_known(const struct side_code *c)
{
	return !c->has_other && !c->lacks_modules;
}

int builds_compare(struct regress *g, bool *all, struct err *err)
{
	struct comparison c = {.g = g};
	bool ran;
	size_t i;
	int s, rc = modules_new(&c.modules, NULL, err);

	for (s = 0; s < SIDE_N; s++) {
		c.of[s] = calloc(g->code[s].builds.n + 1, sizeof *c.of[s]);
		c.other[s] = calloc(g->code[s].builds.n + 1, sizeof *c.other[s]);
		if (!c.of[s] || !c.other[s])
			rc = rc ? rc : err_nomem(err);
	}
	g->code_state = calloc(g->info.n + 1, 1);
	g->code_sizes = calloc(g->info.n + 1, sizeof *g->code_sizes);
	if (!rc && (!g->code_state || !g->code_sizes))
		rc = err_nomem(err);
	if (!rc) {
		pair_up(&c);
		rc = open_all(&c) || measure_ran(&c) ? err_nomem(err) : 0;
	}
	ran = !rc && compare_ran(&c) && c.is_program;
	*all = ran && is_known(&g->code[SIDE_BASE]) && is_known(&g->code[SIDE_NEW]) &&
	       same_arguments(g) && compare_whole(&c);
	g->design.is_not_shown = ran && !*all;
	for (i = 0; i < c.images.n; i++) {
		code_image_done(&c.images.v[i]->code);
		free(c.images.v[i]);
	}
	vec_done(&c.images);
	for (s = 0; s < SIDE_N; s++) {
		free(c.of[s]);
		free(c.other[s]);
	}
	modules_free(c.modules);
	return rc;
}
