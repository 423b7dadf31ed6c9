/* table_subset.c - copies the chains of some addresses from the sources that know them. */
#include "dwarf/table_subset.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "dwarf/packer.h"

/* A source, and the numbers that its nodes, functions and files have in the new table. */
struct origin {
	struct dwarf_table_view s;
	struct hash_table nodes, funcs, files;
};

/* A node of the current address that is not copied yet. */
struct link {
	uint32_t id;
	struct dwarf_node node;
};

struct copier {
	struct dwarf_table *t;
	struct origin from[SUBSET_FROM_MAX];
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_func) funcs;
	VEC(struct link) chain;
	struct pack_header h;
};

/* The number of something in the new table; HASH_NONE: none yet. 0 (nothing) stays 0. */
static uint32_t number_of(const struct hash_table *h, uint32_t id)
{
	return id ? hash_get(h, id) : 0;
}

static int copy_file(struct copier *c, struct origin *o, uint32_t *file)
{
	uint32_t id = *file;

	*file = number_of(&o->files, id);
	if (*file != HASH_NONE)
		return 0;
	*file = (uint32_t)c->t->files.n;
	return vec_push(&c->t->files, dwarf_table_view_path(o->s, id)) ||
			       hash_put(&o->files, id, *file)
		       ? -ERR_NOMEM
		       : 0;
}

/* Copies a file given by a file code, as places and nodes have it. */
static int copy_file_code(struct copier *c, struct origin *o, uint32_t *code)
{
	uint32_t file = *code - 1;

	if (!*code)
		return 0;
	if (copy_file(c, o, &file))
		return -ERR_NOMEM;
	*code = file + 1;
	return 0;
}

static int copy_func(struct copier *c, struct origin *o, uint32_t *func)
{
	uint32_t id = *func;
	struct dwarf_func f;

	*func = number_of(&o->funcs, id);
	if (*func != HASH_NONE)
		return 0;
	*func = (uint32_t)c->funcs.n;
	f = dwarf_table_view_func(o->s, id);
	return copy_file(c, o, &f.file) || vec_push(&c->funcs, f) || hash_put(&o->funcs, id, *func)
		       ? -ERR_NOMEM
		       : 0;
}

/* Copies a chain, callers first, because a node has a greater number than its parent. */
static int copy_chain(struct copier *c, struct origin *o, uint32_t *node)
{
	struct dwarf_node n;
	uint32_t at, parent;

	c->chain.n = 0;
	for (at = *node; number_of(&o->nodes, at) == HASH_NONE; at = n.parent) {
		n = dwarf_pack_node(o->s.file, at);
		if (vec_push(&c->chain, (struct link){at, n}))
			return -ERR_NOMEM;
	}
	parent = number_of(&o->nodes, at);
	while (c->chain.n) {
		at = c->chain.v[--c->chain.n].id;
		n = c->chain.v[c->chain.n].node;
		n.parent = parent;
		parent = (uint32_t)c->nodes.n;
		if (copy_func(c, o, &n.func) || copy_file_code(c, o, &n.call_file) ||
		    vec_push(&c->nodes, n) || hash_put(&o->nodes, at, parent))
			return -ERR_NOMEM;
	}
	*node = parent;
	return 0;
}

static int copy_place(struct copier *c, uint64_t addr, struct dwarf_place *ret)
{
	size_t i;

	*ret = PACK_NOTHING;
	for (i = 0; i < SUBSET_FROM_MAX; i++) {
		struct origin *o = &c->from[i];
		struct dwarf_place p = dwarf_table_view_find(o->s, addr);

		if (dwarf_place_is_empty(p))
			continue;
		*ret = p;
		return copy_chain(c, o, &ret->node) || copy_file_code(c, o, &ret->file) ? -ERR_NOMEM
											: 0;
	}
	return 0;
}

/* Each segment is one byte long; the bytes after it are unknown. */
static int copy_segs(struct copier *c, const uint64_t *addrs, size_t n, struct segs_writer *w)
{
	struct dwarf_place place;
	size_t i;

	for (i = 0; i < n; i++) {
		if (copy_place(c, addrs[i], &place) || segs_writer_add(w, addrs[i], place))
			return -ERR_NOMEM;
		if ((i + 1 == n || addrs[i + 1] != addrs[i] + 1) &&
		    segs_writer_add(w, addrs[i] + 1, (struct dwarf_place){0}))
			return -ERR_NOMEM;
	}
	return segs_writer_end(w);
}

static int put_nodes(struct copier *c, struct nodes_writer *w)
{
	size_t i;
	int rc;

	for (i = 1; i < c->nodes.n; i++) {
		struct dwarf_node *n = &c->nodes.v[i];

		n->parent = n->parent ? (uint32_t)i - n->parent : 0;
		nodes_writer_count(w, n);
	}
	rc = nodes_writer_begin(w);
	for (i = 1; !rc && i < c->nodes.n; i++)
		rc = nodes_writer_add(w, &c->nodes.v[i]);
	return rc ? rc : nodes_writer_end(w);
}

static int copy_all(struct copier *c, const uint64_t *addrs, size_t n)
{
	struct pack_bytes *body = &c->t->body;
	struct nodes_writer nodes = {.out = body, .h = &c->h};
	struct segs_writer segs;
	int rc;

	if (vec_push(&c->nodes, (struct dwarf_node){0}) ||
	    vec_push(&c->funcs, (struct dwarf_func){0}) || vec_push(&c->t->files, NULL))
		return -ERR_NOMEM;
	segs_writer_init(&segs, body, 0, &c->h, addrs[0], addrs[n - 1] + 1, 2 * n);
	rc = copy_segs(c, addrs, n, &segs);
	c->t->n_segs = segs.n;
	segs_writer_done(&segs);
	if (!rc)
		rc = put_nodes(c, &nodes);
	nodes_writer_done(&nodes);
	c->h.body_size = body->n;
	return rc ? rc : dwarf_pack_wrap(&c->t->code, &c->h, body->v);
}

int dwarf_table_subset(struct dwarf_table *t, const uint64_t *addrs, size_t n,
		       const struct dwarf_table_view from[SUBSET_FROM_MAX])
{
	struct copier c = {.t = t};
	size_t i;
	int rc;

	for (i = 0; i < SUBSET_FROM_MAX; i++)
		c.from[i].s = from[i];
	rc = copy_all(&c, addrs, n);
	vec_done(&c.nodes);
	t->funcs = c.funcs.v;
	t->n_funcs = c.funcs.n;
	for (i = 0; i < SUBSET_FROM_MAX; i++) {
		hash_done(&c.from[i].nodes);
		hash_done(&c.from[i].funcs);
		hash_done(&c.from[i].files);
	}
	vec_done(&c.chain);
	return rc;
}
