/* inline.c - functions with code and what is inlined into them (DWARF5 3.3). */
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "dwarf/compiled_unit.h"
#include "dwarf/names.h"
#include "dwarf/ranges.h"
#include "dwarf/walk.h"

/* Limits on nodes and range list entries of a unit, by its bytes. In compilers' output functions
 * and inlined functions take 30 bytes each or more, and range list entries 13, although DIEs may
 * share lists. Of sections that are compressed better than compilers' output ever is, only
 * GROWTH_MAX times the compressed bytes count. */
enum { BYTES_PER_NODE = 8, NODES_MIN = 16, ENTRIES_PER_BYTE = 1, ENTRIES_MIN = 64, GROWTH_MAX = 8 };

struct reader {
	struct dwarf_code *code;
	struct hash_table func_by_die, node_by_hash;
	uint64_t secret;
	uint64_t entries_left, nodes_left;
};

/* ---- numbering --------------------------------------------------------------------------- */

static uint64_t die_key(const struct dwarf_cu *cu, struct dwarf_ref die)
{
	return die.off << 1 | (die.file != cu->file);
}

/* The number of the function at this DIE, whose names are looked up later; 0 when out of memory. */
static uint32_t func_number(struct reader *r, const struct dwarf_cu *cu, struct dwarf_ref die)
{
	uint64_t key = die_key(cu, die);
	uint32_t func = hash_get(&r->func_by_die, key);
	struct dwarf_compiled_unit *p = r->code->part;

	if (func != HASH_NONE)
		return func;
	func = (uint32_t)p->funcs.n;
	if (vec_push(&p->funcs, (struct dwarf_func){0}) || vec_push(&r->code->keys, die) ||
	    hash_put(&r->func_by_die, key, func))
		return 0;
	return func;
}

static bool node_equal(const struct dwarf_node *a, const struct dwarf_node *b)
{
	return a->parent == b->parent && a->func == b->func && a->call_file == b->call_file &&
	       a->call_line == b->call_line;
}

/* The number of a node. Equal nodes are one node: code that was copied or split after inlining has
 * one chain. Returns 0 when out of memory. */
static uint32_t node_number(struct reader *r, const struct dwarf_node *n)
{
	uint64_t key = hash_mix(r->secret, (uint64_t)n->parent << 32 | n->func);
	struct dwarf_compiled_unit *p = r->code->part;
	uint32_t node;

	key = hash_mix(key, (uint64_t)n->call_file << 32 | n->call_line);
	node = hash_get(&r->node_by_hash, key);
	if (node != HASH_NONE && node_equal(&p->nodes.v[node], n))
		return node;
	node = (uint32_t)p->nodes.n;
	if (vec_push(&p->nodes, *n) || hash_put(&r->node_by_hash, key, node))
		return 0;
	return node;
}

/* ---- visiting ---------------------------------------------------------------------------- */

/* Adds the ranges of a DIE for its node. Sets *wanted if one of them contains a wanted address;
 * NULL: inlined code, which is not checked. */
static int add_ranges(struct reader *r, const struct dwarf_cu *cu, const struct dwarf_value *v,
		      struct dwarf_range range, bool *wanted)
{
	const struct dwarf_filter *filter = r->code->filter;
	struct dwarf_range_iter it;

	dwarf_range_iter_init(&it, cu, v[DWARF_SLOT_LOW_PC], v[DWARF_SLOT_HIGH_PC],
			      v[DWARF_SLOT_RANGES]);
	while (dwarf_range_next(&it, &r->entries_left, &range.lo, &range.hi)) {
		if (wanted) {
			if (!dwarf_filter_code(filter, range.lo, &range.hi))
				continue;
			*wanted |= dwarf_filter_wants(filter, range.lo, range.hi);
		}
		if (vec_push(&r->code->ranges, range))
			return -ERR_NOMEM;
	}
	return 0;
}

/* Records that a function which begins at addr is the copy that is not inlined of the DIE that it
 * refers to. Of several clones the first counts. */
static int note_entry(struct dwarf_code *c, const struct dwarf_cu *cu, struct dwarf_value origin,
		      uint64_t addr)
{
	struct dwarf_ref die = dwarf_value_ref(cu, origin);
	uint64_t key = die_key(cu, die);

	if (!die.file || hash_get(&c->entry_by_die, key) != HASH_NONE)
		return 0;
	return hash_put(&c->entry_by_die, key, (uint32_t)c->entries.n) ||
			       vec_push(&c->entries, addr)
		       ? -ERR_NOMEM
		       : 0;
}

/* Returns false if there are more nodes than a valid unit can have. */
static bool take_node(struct reader *r)
{
	if (!r->nodes_left) {
		r->code->part->damaged = true;
		return false;
	}
	r->nodes_left--;
	return true;
}

static int visit_function(struct reader *r, const struct dwarf_cu *cu, uint64_t off,
			  const struct dwarf_value *v, struct dwarf_level *level)
{
	struct dwarf_code *c = r->code;
	struct dwarf_range range = {.id = (uint32_t)c->part->nodes.n, .group = c->n_groups};
	struct dwarf_node node = {0};
	size_t before = c->ranges.n;
	bool wanted = false;

	level->node = 0;
	if (add_ranges(r, cu, v, range, &wanted))
		return -ERR_NOMEM;
	if (c->ranges.n > before && note_entry(c, cu, v[DWARF_SLOT_ORIGIN], c->ranges.v[before].lo))
		return -ERR_NOMEM;
	if (wanted && !take_node(r))
		wanted = false;
	if (!wanted || c->n_groups == UINT32_MAX) {
		c->ranges.n = before;
		return 0;
	}
	level->group = c->n_groups++;
	node.func = func_number(r, cu, (struct dwarf_ref){cu->file, off});
	if (!node.func || vec_push(&c->part->nodes, node))
		return -ERR_NOMEM;
	level->node = range.id;
	level->nodes = 0;
	return 0;
}

static int visit_inlined(struct reader *r, const struct dwarf_cu *cu, uint64_t off,
			 const struct dwarf_value *v, struct dwarf_level *level)
{
	struct dwarf_ref origin = dwarf_value_ref(cu, v[DWARF_SLOT_ORIGIN]);
	struct dwarf_node node = {.parent = level->node};
	struct dwarf_range range = {.priority = ++level->nodes, .group = level->group};
	uint64_t n;

	if (!take_node(r)) {
		level->node = 0;
		return 0;
	}
	if (!origin.file)
		origin = (struct dwarf_ref){cu->file, off};
	node.func = func_number(r, cu, origin);
	if (!node.func)
		return -ERR_NOMEM;
	if (dwarf_value_uint(v[DWARF_SLOT_CALL_FILE], &n) && n < DWARF_ROW_END)
		node.call_file = (uint32_t)n;
	if (dwarf_value_uint(v[DWARF_SLOT_CALL_LINE], &n) && n <= UINT32_MAX)
		node.call_line = (uint32_t)n;
	level->node = range.id = node_number(r, &node);
	if (!level->node)
		return -ERR_NOMEM;
	return add_ranges(r, cu, v, range, NULL);
}

/* Reads the attributes that are needed for this kind of DIE and the code around it. */
static int visit(void *arg, const struct dwarf_cu *cu, uint64_t off, const struct dwarf_abbrev *a,
		 struct buf *b, struct dwarf_level *level)
{
	struct dwarf_value v[DWARF_SLOT_CALL_LINE + 1];
	struct reader *r = arg;
	bool inlined = a->kind == DWARF_KIND_INLINED;
	unsigned i;

	if (!inlined && dwarf_scopes_add(r->code->scopes, off - cu->unit->off, level))
		return -ERR_NOMEM;
	if (inlined ? !level->node : !a->has_code || a->kind != DWARF_KIND_FUNCTION) {
		dwarf_pass_over(cu, a, b, &(bool){false});
		return 0;
	}
	for (i = 0; i <= DWARF_SLOT_CALL_LINE; i++)
		v[i].form = 0;
	dwarf_die_read(cu->abbrevs, cu->unit, a, DWARF_WANT_CODE, b, v);
	if (!buf_ok(b))
		return 0;
	return inlined ? visit_inlined(r, cu, off, v, level) : visit_function(r, cu, off, v, level);
}

static uint64_t bytes_that_count(const struct dwarf_cu *cu)
{
	const struct dwarf_file *f = cu->file;
	uint64_t bytes = cu->unit->end - cu->unit->off, stored = f->stored_info,
		 growth = stored ? f->sec[DWARF_INFO].size / stored : 1;

	return growth > GROWTH_MAX ? bytes / growth * GROWTH_MAX : bytes;
}

int dwarf_code_read(struct dwarf_code *c, const struct dwarf_cu *cu)
{
	uint64_t bytes = bytes_that_count(cu);
	struct reader r = {.code = c,
			   .secret = hash_secret(),
			   .entries_left = ENTRIES_MIN + bytes * ENTRIES_PER_BYTE,
			   .nodes_left = NODES_MIN + bytes / BYTES_PER_NODE};
	int rc = 0;

	if (vec_push(&c->part->nodes, (struct dwarf_node){0}) ||
	    vec_push(&c->part->funcs, (struct dwarf_func){0}) ||
	    vec_push(&c->keys, (struct dwarf_ref){0}))
		rc = -ERR_NOMEM;
	if (!rc)
		rc = dwarf_walk(cu, visit, &r);
	hash_done(&r.func_by_die);
	hash_done(&r.node_by_hash);
	c->part->damaged |= rc > 0;
	c->part->bytes += cu->unit->end - cu->unit->off;
	return rc < 0 ? rc : 0;
}

/* Marks the nodes that segments need, and their functions. */
static void mark_used(const struct dwarf_compiled_unit *p, uint32_t *nodes, uint32_t *funcs)
{
	uint32_t id;
	size_t i;

	for (i = 0; i < p->segs.n; i++)
		for (id = p->segs.v[i].node; id && !nodes[id]; id = p->nodes.v[id].parent) {
			nodes[id] = 1;
			funcs[p->nodes.v[id].func] = 1;
		}
}

/* Gives the marked entries new numbers, in the same order. */
static size_t renumber(uint32_t *marks, size_t n)
{
	uint32_t next = 1;
	size_t i;

	for (i = 1; i < n; i++)
		marks[i] = marks[i] ? next++ : 0;
	return n ? next : 0;
}

int dwarf_code_prune(struct dwarf_code *c)
{
	struct dwarf_compiled_unit *p = c->part;
	uint32_t *nodes = calloc(p->nodes.n + 1, sizeof *nodes);
	uint32_t *funcs = calloc(p->funcs.n + 1, sizeof *funcs);
	size_t n_nodes, n_funcs, i;

	if (!nodes || !funcs) {
		free(nodes);
		free(funcs);
		return -ERR_NOMEM;
	}
	mark_used(p, nodes, funcs);
	n_nodes = renumber(nodes, p->nodes.n);
	n_funcs = renumber(funcs, p->funcs.n);
	for (i = 1; i < p->nodes.n; i++) {
		struct dwarf_node n = p->nodes.v[i];

		n.parent = nodes[n.parent];
		n.func = funcs[n.func];
		if (nodes[i])
			p->nodes.v[nodes[i]] = n;
	}
	for (i = 1; i < p->funcs.n; i++)
		if (funcs[i])
			c->keys.v[funcs[i]] = c->keys.v[i];
	for (i = 0; i < p->segs.n; i++)
		p->segs.v[i].node = nodes[p->segs.v[i].node];
	p->nodes.n = n_nodes;
	p->funcs.n = n_funcs;
	free(nodes);
	free(funcs);
	return 0;
}

uint64_t dwarf_code_entry(const struct dwarf_code *c, const struct dwarf_cu *cu,
			  struct dwarf_ref die)
{
	uint32_t i = hash_get(&c->entry_by_die, die_key(cu, die));

	return i == HASH_NONE ? 0 : c->entries.v[i];
}

void dwarf_code_done(struct dwarf_code *c)
{
	hash_done(&c->entry_by_die);
	vec_done(&c->entries);
	vec_done(&c->ranges);
	vec_done(&c->keys);
}
