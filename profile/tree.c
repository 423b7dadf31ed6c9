/* tree.c - merges stacks of equal symbols into one tree; sorts children in linear time. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/pages.h"
#include "base/pair.h"
#include "base/sum.h"

static bool is_child(const struct tree *t, uint32_t id, uint32_t parent, uint32_t symbol)
{
	return t->nodes.v[id].parent == parent && t->nodes.v[id].symbol == symbol;
}

/* Stacks are added from their roots on, so a node's first child is mostly the node added after it.
 * Such a child is not in the index: its id is parent + 1. */
static uint32_t child(struct tree *t, uint32_t parent, uint32_t symbol)
{
	uint32_t id = parent + 1, n = (uint32_t)t->nodes.n;

	if (id < n && is_child(t, id, parent, symbol))
		return id;
	/* Writers use one bit of the ids themselves. */
	if (n >= HASH_NONE / 2 || vec_reserve(&t->nodes, n + 1ull))
		return HASH_NONE;
	if (id < n) {
		uint32_t hash = (uint32_t)hash_u64(pair_key(parent, symbol) ^ t->secret);
		struct hash_probe probe = hash_index_probe(&t->children, hash);

		while ((id = hash_index_next(&t->children, &probe)) != HASH_NONE)
			if (is_child(t, id, parent, symbol))
				return id;
		if (hash_index_put(&t->children, hash, n))
			return HASH_NONE;
	}
	t->nodes.v[t->nodes.n++] = (struct tree_node){.parent = parent, .symbol = symbol};
	return n;
}

/* Returns the node below `root` of the profile's stack `node`; HASH_NONE when out of memory. If a
 * stack is under several roots that alternate, it is looked up again each time, which costs no more
 * than adding its frames did. */
static uint32_t find_stack(struct tree *t, const struct profile *p, const struct tree_symbols *s,
			   uint32_t root, uint32_t node)
{
	uint32_t at = root, i, location;

	t->todo.n = 0;
	for (; node; node = p->nodes.v[node].parent) {
		if (t->seen[node].root == root + 1) {
			at = t->seen[node].node;
			break;
		}
		if (vec_push(&t->todo, node))
			return HASH_NONE;
	}
	while (t->todo.n) {
		node = t->todo.v[--t->todo.n];
		location = p->nodes.v[node].location;
		for (i = s->first.v[location]; i < s->first.v[location + 1]; i++) {
			at = child(t, at, s->ids.v[i]);
			if (at == HASH_NONE)
				return at;
		}
		t->seen[node] = (struct tree_seen){root + 1, at};
	}
	return at;
}

int tree_fill(struct tree *t, const struct profile *p, const bool *has_event,
	      const struct tree_symbols *symbols, struct err *err)
{
	size_t i;

	t->secret = hash_secret();
	t->seen = pages_calloc(p->nodes.n, sizeof *t->seen);
	if (!t->seen || vec_push(&t->nodes, (struct tree_node){0}))
		return err_nomem(err);
	for (i = 0; i < p->samples.n; i++) {
		const struct profile_sample *s = &p->samples.v[i];
		uint32_t at = 0;

		if (!has_event[s->event] || (symbols->omit.n && symbols->omit.v[i]))
			continue;
		if (symbols->tops.n)
			at = child(t, 0, symbols->tops.v[s->event]);
		if (at != HASH_NONE && symbols->owners.n && symbols->owners.v[i] != TREE_NO_ROOT)
			at = child(t, at, symbols->owners.v[i]);
		if (at != HASH_NONE && symbols->roots.v[i] != TREE_NO_ROOT)
			at = child(t, at, symbols->roots.v[i]);
		if (at != HASH_NONE)
			at = find_stack(t, p, symbols, at, s->node);
		if (at == HASH_NONE)
			return err_nomem(err);
		t->nodes.v[at].count = add_saturated(t->nodes.v[at].count, s->count);
		t->nodes.v[at].period = add_saturated(t->nodes.v[at].period, s->period);
	}
	return 0;
}

struct reshaping {
	const struct tree_shape *shape;
	const struct tree *from;
	struct tree to;
	uint32_t *id;	/* by node: what it is now */
	uint32_t *root; /* by node: what its stack begins below */
	bool *is_root;	/* by node */
};

/* Returns the new place of a node whose parent has been placed; HASH_NONE when out of memory. */
static uint32_t place_node(struct reshaping *r, uint32_t i)
{
	const struct tree_node *n = &r->from->nodes.v[i];
	uint32_t parent = n->parent, at = r->id[parent];

	r->is_root[i] = r->is_root[parent] && r->shape->is_root[n->symbol];
	r->root[i] = r->root[parent];
	if (!r->is_root[i] && r->shape->is_start && r->shape->is_start[n->symbol])
		at = r->root[parent];
	else if (r->shape->collapse && !r->is_root[parent] && r->to.nodes.v[at].symbol == n->symbol)
		return at;
	at = child(&r->to, at, n->symbol);
	if (r->is_root[i])
		r->root[i] = at;
	return at;
}

static int place_nodes(struct reshaping *r)
{
	uint32_t i;

	r->is_root[0] = true;
	if (vec_push(&r->to.nodes, r->from->nodes.v[0]))
		return -1;
	for (i = 1; i < r->from->nodes.n; i++) {
		const struct tree_node *n = &r->from->nodes.v[i];

		r->id[i] = place_node(r, i);
		if (r->id[i] == HASH_NONE)
			return -1;
		r->to.nodes.v[r->id[i]].count =
			add_saturated(r->to.nodes.v[r->id[i]].count, n->count);
		r->to.nodes.v[r->id[i]].period =
			add_saturated(r->to.nodes.v[r->id[i]].period, n->period);
	}
	return 0;
}

int tree_reshape(struct tree *t, const struct tree_shape *shape, size_t n_seen, struct err *err)
{
	struct reshaping r = {.shape = shape, .from = t, .to.secret = t->secret};
	size_t i;
	int rc = -ERR_NOMEM;

	r.id = calloc(t->nodes.n, sizeof *r.id);
	r.root = calloc(t->nodes.n, sizeof *r.root);
	r.is_root = calloc(t->nodes.n, sizeof *r.is_root);
	if (r.id && r.root && r.is_root && !place_nodes(&r)) {
		for (i = 0; i < n_seen; i++)
			t->seen[i].node = t->seen[i].root ? r.id[t->seen[i].node] : 0;
		r.to.seen = t->seen;
		t->seen = NULL;
		tree_done(t);
		*t = r.to;
		rc = 0;
	} else {
		err_nomem(err);
		tree_done(&r.to);
	}
	free(r.id);
	free(r.root);
	free(r.is_root);
	return rc;
}

int tree_reverse(struct tree *t, const struct tree *from, struct err *err)
{
	size_t i;

	t->secret = hash_secret();
	if (vec_push(&t->nodes, (struct tree_node){0}))
		return err_nomem(err);
	for (i = 1; i < from->nodes.n; i++) {
		const struct tree_node *n = &from->nodes.v[i], *step;
		uint32_t at = 0;

		if (!n->count && !n->period)
			continue;
		for (step = n; step != from->nodes.v; step = &from->nodes.v[step->parent]) {
			at = child(t, at, step->symbol);
			if (at == HASH_NONE)
				return err_nomem(err);
		}
		t->nodes.v[at].count = add_saturated(t->nodes.v[at].count, n->count);
		t->nodes.v[at].period = add_saturated(t->nodes.v[at].period, n->period);
	}
	return 0;
}

void tree_done(struct tree *t)
{
	vec_done(&t->nodes);
	vec_done(&t->todo);
	hash_index_done(&t->children);
	free(t->seen);
}

void tree_symbols_done(struct tree_symbols *s)
{
	vec_done(&s->first);
	vec_done(&s->ids);
	vec_done(&s->roots);
	vec_done(&s->owners);
	vec_done(&s->tops);
	vec_done(&s->omit);
}

int order_by_key(uint32_t *ids, size_t n, const uint32_t *key, size_t n_keys, struct err *err)
{
	size_t *start = calloc(n_keys + 1, sizeof *start), i;
	uint32_t *old = malloc(n * sizeof *old + 1);

	if (!start || !old) {
		free(start);
		free(old);
		return err_nomem(err);
	}
	if (n)
		memcpy(old, ids, n * sizeof *ids);
	for (i = 0; i < n; i++)
		start[key[old[i]] + 1]++;
	for (i = 1; i < n_keys; i++)
		start[i] += start[i - 1];
	for (i = 0; i < n; i++)
		ids[start[key[old[i]]]++] = old[i];
	free(start);
	free(old);
	return 0;
}

int tree_order_make(struct tree_order *o, const struct tree *t, const uint32_t *rank,
		    size_t n_ranks, struct err *err)
{
	size_t i, n = t->nodes.n;
	uint32_t *key = calloc(n, sizeof *key);

	*o = (struct tree_order){calloc(n + 1, sizeof *o->first), malloc(n * sizeof *o->ids)};
	if (!key || !o->first || !o->ids) {
		free(key);
		return err_nomem(err);
	}
	for (i = 1; i < n; i++) {
		o->ids[i - 1] = (uint32_t)i;
		key[i] = rank ? rank[t->nodes.v[i].symbol] : t->nodes.v[i].symbol;
	}
	if (order_by_key(o->ids, n - 1, key, n_ranks, err))
		goto nomem;
	for (i = 1; i < n; i++) {
		key[i] = t->nodes.v[i].parent;
		o->first[key[i] + 1]++;
	}
	for (i = 1; i <= n; i++)
		o->first[i] += o->first[i - 1];
	if (order_by_key(o->ids, n - 1, key, n, err))
		goto nomem;
	free(key);
	return 0;
nomem:
	free(key);
	return -ERR_NOMEM;
}

void tree_order_done(struct tree_order *o)
{
	free(o->first);
	free(o->ids);
}
