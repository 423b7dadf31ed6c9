/* dwarf_answers.c - copies the chains of some addresses out of tables. */
#include "symbolize/dwarf_answers.h"

#include <stdlib.h>

/* One of the tables, and the numbers that its things have in the new one; 0: none yet. */
struct origin {
	const struct dwarf_table *t;
	uint32_t *nodes, *funcs, *files;
};

struct copier {
	struct dwarf_table *t;
	struct origin from[ANSWERS_FROM_MAX];
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_func) funcs;
	VEC(uint32_t) chain; /* nodes of the running address that are not copied yet */
};

static int open_origin(struct origin *o, const struct dwarf_table *t)
{
	if (!t || !t->n)
		return 0;
	o->t = t;
	o->nodes = calloc(t->n_nodes + 1, sizeof *o->nodes);
	o->funcs = calloc(t->n_funcs + 1, sizeof *o->funcs);
	o->files = calloc(t->files.n + 1, sizeof *o->files);
	return o->nodes && o->funcs && o->files ? 0 : -ERR_NOMEM;
}

static void close_origin(struct origin *o)
{
	free(o->nodes);
	free(o->funcs);
	free(o->files);
}

static int copy_file(struct copier *c, struct origin *o, uint32_t *file)
{
	if (*file && !o->files[*file]) {
		o->files[*file] = (uint32_t)c->t->files.n;
		if (vec_push(&c->t->files, o->t->files.v[*file]))
			return -ERR_NOMEM;
	}
	*file = o->files[*file];
	return 0;
}

static int copy_func(struct copier *c, struct origin *o, uint32_t *func)
{
	if (*func && !o->funcs[*func]) {
		o->funcs[*func] = (uint32_t)c->funcs.n;
		if (vec_push(&c->funcs, o->t->funcs[*func]))
			return -ERR_NOMEM;
	}
	*func = o->funcs[*func];
	return 0;
}

/* Callers first: a node has a greater number than its parent. */
static int copy_chain(struct copier *c, struct origin *o, uint32_t *node)
{
	uint32_t at;

	c->chain.n = 0;
	for (at = *node; at && !o->nodes[at]; at = o->t->nodes[at].parent)
		if (vec_push(&c->chain, at))
			return -ERR_NOMEM;
	while (c->chain.n) {
		struct dwarf_node n;

		at = c->chain.v[--c->chain.n];
		n = o->t->nodes[at];
		n.parent = o->nodes[n.parent];
		if (copy_func(c, o, &n.func) || copy_file(c, o, &n.call_file))
			return -ERR_NOMEM;
		o->nodes[at] = (uint32_t)c->nodes.n;
		if (vec_push(&c->nodes, n))
			return -ERR_NOMEM;
	}
	*node = o->nodes[*node];
	return 0;
}

static int copy_place(struct copier *c, uint64_t addr, struct dwarf_place *ret)
{
	size_t i;

	*ret = (struct dwarf_place){.line = PACK_NOTHING};
	for (i = 0; i < ANSWERS_FROM_MAX; i++) {
		struct origin *o = &c->from[i];
		struct dwarf_place p = {0};

		if (o->t)
			p = dwarf_table_find(o->t, addr);
		if (!p.node && !p.file && !p.line)
			continue;
		*ret = p;
		return copy_chain(c, o, &ret->node) || copy_file(c, o, &ret->file) ? -ERR_NOMEM : 0;
	}
	return 0;
}

static int copy_all(struct copier *c, const uint64_t *addrs, size_t n)
{
	struct dwarf_table *t = c->t;
	size_t i;

	t->addrs = malloc((2 * n + 1) * sizeof *t->addrs);
	t->places = malloc((2 * n + 1) * sizeof *t->places);
	if (!t->addrs || !t->places || vec_push(&c->nodes, (struct dwarf_node){0}) ||
	    vec_push(&c->funcs, (struct dwarf_func){0}) || vec_push(&t->files, NULL))
		return -ERR_NOMEM;
	for (i = 0; i < n; i++) {
		if (t->n && t->addrs[t->n - 1] == addrs[i])
			t->n--; /* the end of the one before */
		t->addrs[t->n] = addrs[i];
		if (copy_place(c, addrs[i], &t->places[t->n++]))
			return -ERR_NOMEM;
		t->addrs[t->n] = addrs[i] + 1;
		t->places[t->n++] = (struct dwarf_place){0};
	}
	return 0;
}

int dwarf_answers_build(struct dwarf_table *t, const uint64_t *addrs, size_t n,
			const struct dwarf_table *const from[ANSWERS_FROM_MAX])
{
	struct copier c = {.t = t};
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < ANSWERS_FROM_MAX; i++)
		rc = open_origin(&c.from[i], from[i]);
	if (!rc)
		rc = copy_all(&c, addrs, n);
	t->nodes = c.nodes.v;
	t->n_nodes = c.nodes.n;
	t->funcs = c.funcs.v;
	t->n_funcs = c.funcs.n;
	for (i = 0; i < ANSWERS_FROM_MAX; i++)
		close_origin(&c.from[i]);
	vec_done(&c.chain);
	return rc;
}
