/* space.c - the persistent B+ tree behind struct address_space. */
#include "reader/space.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_MAX = 32,
	/* A node is split at most once in NODE_MAX / 2 insertions into it, and a new level needs a
	 * full root: k levels need 16^k insertions, more than any file has. */
	HEIGHT_MAX = 16,
};

struct space_node {
	uint32_t refs;
	uint16_t n;
	uint16_t height; /* 0: leaf */
	size_t total;	 /* maps below */
	/* In a leaf: start of the map; in an inner node: the lowest start in that child. */
	uint64_t key[NODE_MAX];
	union {
		const struct map *map;
		struct space_node *child;
	} at[NODE_MAX];
};

/* ---- maps -------------------------------------------------------------------------------- */

struct shared_map {
	struct map map; /* first: what others see */
	uint32_t refs;
};

/* Only the thread that feeds the machine, which also made the maps, changes the count; to all
 * others maps are const. */
static struct shared_map *shared_of(const struct map *m)
{
	return (struct shared_map *)(uintptr_t)m;
}

const struct map *space_map_new(struct space_pool *p, const struct map *like)
{
	struct shared_map *m = p->last_map == UINT32_MAX ? NULL : malloc(sizeof *m);

	if (!m)
		return NULL;
	*m = (struct shared_map){.map = *like, .refs = 1};
	m->map.id = ++p->last_map;
	p->maps++;
	return &m->map;
}

static void map_ref(const struct map *m)
{
	shared_of(m)->refs++;
}

void space_map_unref(struct space_pool *p, const struct map *map)
{
	struct shared_map *m = shared_of(map);

	if (--m->refs)
		return;
	free(m);
	p->maps--;
}

/* ---- nodes ------------------------------------------------------------------------------- */

static struct space_node *node_new(struct space_pool *p, unsigned height)
{
	struct space_node *n = malloc(sizeof *n);

	if (!n)
		return NULL;
	n->refs = 1;
	n->n = 0;
	n->height = (uint16_t)height;
	n->total = 0;
	p->nodes++;
	return n;
}

static void node_unref(struct space_pool *p, struct space_node *n)
{
	if (!n || --n->refs)
		return;
	for (unsigned i = 0; i < n->n; i++)
		if (n->height)
			node_unref(p, n->at[i].child);
		else
			space_map_unref(p, n->at[i].map);
	free(n);
	p->nodes--;
}

/* Makes sure that only *slot refers to its node: copies the node if others do. */
static int node_own(struct space_pool *p, struct space_node **slot)
{
	struct space_node *old = *slot, *n;

	if (old->refs == 1)
		return 0;
	n = node_new(p, old->height);
	if (!n)
		return -1;
	n->n = old->n;
	n->total = old->total;
	memcpy(n->key, old->key, old->n * sizeof old->key[0]);
	memcpy(n->at, old->at, old->n * sizeof old->at[0]);
	for (unsigned i = 0; i < n->n; i++)
		if (n->height)
			n->at[i].child->refs++;
		else
			map_ref(n->at[i].map);
	old->refs--;
	*slot = n;
	return 0;
}

/* The last entry whose key is at most `key`, or 0 if all keys are above. Branch-free, because it
 * runs for every frame. */
static unsigned node_index(const struct space_node *n, uint64_t key)
{
	unsigned lo = 0, len = n->n;

	while (len > 1) {
		unsigned half = len / 2;

		lo += n->key[lo + half] <= key ? half : 0;
		len -= half;
	}
	return lo;
}

static void node_open_gap(struct space_node *n, unsigned i)
{
	memmove(n->key + i + 1, n->key + i, (n->n - i) * sizeof n->key[0]);
	memmove(n->at + i + 1, n->at + i, (n->n - i) * sizeof n->at[0]);
	n->n++;
}

static void node_close_gap(struct space_node *n, unsigned i)
{
	n->n--;
	memmove(n->key + i, n->key + i + 1, (n->n - i) * sizeof n->key[0]);
	memmove(n->at + i, n->at + i + 1, (n->n - i) * sizeof n->at[0]);
}

/* Splits the full child i of parent (both owned, parent has room). */
static int node_split(struct space_pool *p, struct space_node *parent, unsigned i)
{
	struct space_node *left = parent->at[i].child, *right = node_new(p, left->height);
	unsigned keep = NODE_MAX / 2;

	if (!right)
		return -1;
	right->n = (uint16_t)(NODE_MAX - keep);
	memcpy(right->key, left->key + keep, right->n * sizeof right->key[0]);
	memcpy(right->at, left->at + keep, right->n * sizeof right->at[0]);
	left->n = (uint16_t)keep;
	right->total = right->n;
	if (right->height) {
		right->total = 0;
		for (unsigned k = 0; k < right->n; k++)
			right->total += right->at[k].child->total;
	}
	left->total -= right->total;
	node_open_gap(parent, i + 1);
	parent->key[i + 1] = right->key[0];
	parent->at[i + 1].child = right;
	return 0;
}

/* ---- versions ---------------------------------------------------------------------------- */

struct address_space *space_new(struct space_pool *p, const struct address_space *like,
				uint64_t layout)
{
	struct address_space *as = calloc(1, sizeof *as);

	if (!as)
		return NULL;
	as->layout = layout;
	as->jitdump = like ? like->jitdump : NULL;
	as->stack_end = like ? like->stack_end : 0;
	as->program = like ? like->program : NULL;
	if (like && like->root) {
		as->root = like->root;
		as->root->refs++;
	}
	if (like && like->elders && like->layout == layout) {
		as->elders = like->elders;
		as->elders->refs++;
	}
	p->spaces++;
	return as;
}

int space_keep_elder(struct space_pool *p, struct address_space *as, const struct map *m)
{
	struct space_elder *e = malloc(sizeof *e);

	if (!e)
		return -1;
	*e = (struct space_elder){.next = as->elders, .map = m, .refs = 1};
	map_ref(m);
	as->elders = e;
	p->elders++;
	return 0;
}

void space_forget_elders(struct space_pool *p, struct address_space *as)
{
	struct space_elder *e = as->elders, *next;

	for (as->elders = NULL; e && !--e->refs; e = next) {
		next = e->next;
		space_map_unref(p, e->map);
		free(e);
		p->elders--;
	}
}

void space_free(struct space_pool *p, struct address_space *as)
{
	if (!as)
		return;
	node_unref(p, as->root);
	space_forget_elders(p, as);
	free(as);
	p->spaces--;
}

size_t space_pool_bytes(const struct space_pool *p)
{
	return p->nodes * sizeof(struct space_node) + p->spaces * sizeof(struct address_space) +
	       p->maps * sizeof(struct shared_map) + p->elders * sizeof(struct space_elder);
}

void space_pool_done(struct space_pool *p)
{
	assert(!p->nodes && !p->spaces && !p->maps && !p->elders);
	*p = (struct space_pool){0};
}

const struct map *space_floor(const struct address_space *as, uint64_t addr)
{
	const struct space_node *n = as->root;
	unsigned i;

	if (!n || addr < n->key[0])
		return NULL;
	for (i = node_index(n, addr); n->height; i = node_index(n, addr))
		n = n->at[i].child;
	return n->at[i].map;
}

/* The nodes from the root to a leaf; all of them are owned. */
struct space_path {
	unsigned depth;
	struct space_node *node[HEIGHT_MAX];
	unsigned index[HEIGHT_MAX];
};

static int grow_root(struct space_pool *p, struct address_space *as)
{
	struct space_node *old = as->root, *root;

	assert(!old || old->height + 1 < HEIGHT_MAX);
	root = node_new(p, old ? old->height + 1u : 0);
	if (!root)
		return -1;
	if (old) {
		root->n = 1;
		root->total = old->total;
		root->key[0] = old->key[0];
		root->at[0].child = old;
	}
	as->root = root;
	return 0;
}

/* Makes sure that the path to the leaf of `start` is owned. With `room`, splits full nodes on it,
 * so that the leaf can take one more entry. If memory runs out on the way, only the shape of the
 * tree has changed. */
static int path_own(struct space_pool *p, struct address_space *as, uint64_t start, bool room,
		    struct space_path *path)
{
	struct space_node *n;
	unsigned i;

	if (as->root && node_own(p, &as->root))
		return -1;
	if (room && (!as->root || as->root->n == NODE_MAX) && grow_root(p, as))
		return -1;
	path->depth = 0;
	for (n = as->root;; n = n->at[i].child) {
		i = node_index(n, start);
		if (n->height) {
			if (node_own(p, &n->at[i].child))
				return -1;
			if (room && n->at[i].child->n == NODE_MAX) {
				if (node_split(p, n, i))
					return -1;
				i += start >= n->key[i + 1];
			}
		}
		assert(path->depth < HEIGHT_MAX);
		path->node[path->depth] = n;
		path->index[path->depth++] = i;
		if (!n->height)
			return 0;
	}
}

int space_insert(struct space_pool *p, struct address_space *as, const struct map *m)
{
	struct space_path path;
	struct space_node *leaf;
	unsigned i;

	assert(!as->captured);
	if (path_own(p, as, m->start, true, &path))
		return -1;
	leaf = path.node[path.depth - 1];
	i = path.index[path.depth - 1];
	i += leaf->n && leaf->key[i] < m->start;
	node_open_gap(leaf, i);
	leaf->key[i] = m->start;
	leaf->at[i].map = m;
	map_ref(m);
	for (unsigned d = 0; d < path.depth; d++) {
		struct space_node *n = path.node[d];

		n->total++;
		if (n->height && m->start < n->key[path.index[d]])
			n->key[path.index[d]] = m->start;
	}
	return 0;
}

int space_remove(struct space_pool *p, struct address_space *as, const struct map *m)
{
	struct space_path path;
	unsigned d;

	assert(!as->captured && as->root);
	if (path_own(p, as, m->start, false, &path))
		return -1;
	assert(path.node[path.depth - 1]->at[path.index[path.depth - 1]].map == m);
	for (d = path.depth; d-- > 0;) {
		struct space_node *n = path.node[d];
		unsigned i = path.index[d];

		n->total--;
		if (!n->height) {
			node_close_gap(n, i);
			space_map_unref(p, m); /* may free m, which is not read after this */
		} else if (!n->at[i].child->n) {
			node_unref(p, n->at[i].child);
			node_close_gap(n, i);
		} else {
			n->key[i] = n->at[i].child->key[0];
		}
	}
	if (!as->root->n) {
		node_unref(p, as->root);
		as->root = NULL;
	}
	while (as->root && as->root->height && as->root->n == 1) {
		struct space_node *only = as->root->at[0].child;

		only->refs++;
		node_unref(p, as->root);
		as->root = only;
	}
	return 0;
}

/* ---- reader.h ---------------------------------------------------------------------------- */

const struct map *address_space_find(const struct address_space *as, uint64_t ip)
{
	const struct map *m = space_floor(as, ip);

	return m && ip < m->end ? m : NULL;
}

uint64_t address_space_layout(const struct address_space *as)
{
	return as->layout;
}

size_t address_space_count(const struct address_space *as)
{
	return as->root ? as->root->total : 0;
}

const struct map *address_space_at(const struct address_space *as, size_t i)
{
	const struct space_node *n = as->root;

	assert(i < address_space_count(as));
	while (n->height) {
		unsigned k = 0;

		while (i >= n->at[k].child->total)
			i -= n->at[k++].child->total;
		n = n->at[k].child;
	}
	return n->at[i].map;
}

uint64_t address_space_stack_end(const struct address_space *as)
{
	return as->stack_end;
}

const struct dso *address_space_jitdump(const struct address_space *as)
{
	return as->jitdump;
}
