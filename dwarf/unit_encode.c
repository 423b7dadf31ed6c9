/* unit_encode.c - encodes nodes and segments of a compiled unit as bytes. */
#include "dwarf/unit_encode.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"

/* Limits on the bytes of a node or a segment, and on the nodes of a unit, because bytes are counted
 * in 32 bits. */
enum { ROOM = 40, NODES_MAX = 100 << 20 };

/* Flags of a segment's first number; a node's first number has one flag. */
enum { SEG_FILE = 1, SEG_NODE = 2, SEG_FLAG_BITS = 2 };

/* Boyer-Moore majority vote: finds the file with more than half of the votes, if there is one. */
struct vote {
	uint32_t file, n;
};

struct encoder {
	struct dwarf_compiled_unit *p;
	uint32_t *root; /* per node: number of its function in p->roots, from 1 */
	/* Per node: its index among the nodes of its function; the function itself is 0. */
	uint32_t *place;
	uint32_t *order; /* nodes, function by function */
};

/* ---- files ------------------------------------------------------------------------------- */

static void vote(struct vote *v, uint32_t file)
{
	if (!v->n)
		v->file = file;
	if (v->file == file)
		v->n++;
	else
		v->n--;
}

/* The file of a function is that of most of its segments and calls. */
static int choose_files(struct dwarf_compiled_unit *p)
{
	struct vote *votes = calloc(p->funcs.n + 1, sizeof *votes);
	size_t i;

	if (!votes)
		return -ERR_NOMEM;
	for (i = 0; i < p->segs.n; i++)
		vote(&votes[p->nodes.v[p->segs.v[i].node].func], p->segs.v[i].file);
	for (i = 1; i < p->nodes.n; i++)
		if (p->nodes.v[i].parent)
			vote(&votes[p->nodes.v[p->nodes.v[i].parent].func],
			     p->nodes.v[i].call_file);
	for (i = 1; i < p->funcs.n; i++)
		p->funcs.v[i].file = votes[i].file;
	free(votes);
	return 0;
}

/* The file code of packed tables (pack.h); func 0 has no file. */
static uint32_t file_code(const struct dwarf_compiled_unit *p, uint32_t func, uint32_t file)
{
	return file == p->funcs.v[func].file ? 0 : file + 1;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* The caller has reserved memory. */
static inline uint8_t *put_number(uint8_t *to, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

/* Orders the nodes: functions in the order of the part, each followed by the nodes inlined into it.
 */
static int find_roots(struct encoder *s)
{
	struct dwarf_compiled_unit *p = s->p;
	uint32_t at = 0, n;
	size_t i;

	for (i = 1; i < p->nodes.n; i++) {
		uint32_t parent = p->nodes.v[i].parent;

		if (!parent && vec_push(&p->roots, (struct dwarf_root){0}))
			return -ERR_NOMEM;
		s->root[i] = parent ? s->root[parent] : (uint32_t)p->roots.n;
		s->place[i] = p->roots.v[s->root[i] - 1].n++;
	}
	for (i = 0; i < p->roots.n; i++) {
		p->roots.v[i].first = at;
		at += p->roots.v[i].n;
	}
	for (i = 1; i < p->nodes.n; i++) {
		n = p->roots.v[s->root[i] - 1].first;
		s->order[n + s->place[i]] = (uint32_t)i;
	}
	return 0;
}

static uint8_t *put_node(const struct encoder *s, uint8_t *to, uint32_t id)
{
	const struct dwarf_compiled_unit *p = s->p;
	const struct dwarf_node *n = &p->nodes.v[id];
	uint32_t func = p->nodes.v[n->parent].func, file;

	if (!n->parent)
		return put_number(put_number(to, 0), n->func);
	file = file_code(p, func, n->call_file);
	to = put_number(to, (uint64_t)(s->place[id] - s->place[n->parent]) << 1 | (file != 0));
	to = put_number(to, n->func);
	to = put_number(to, dwarf_zigzag32(n->call_line - p->funcs.v[func].decl_line));
	return file ? put_number(to, file) : to;
}

static int encode_nodes(struct encoder *s)
{
	struct dwarf_compiled_unit *p = s->p;
	uint32_t at = 0;
	size_t i, k;

	for (i = 0; i < p->roots.n; i++) {
		struct dwarf_root *r = &p->roots.v[i];

		r->first = (uint32_t)p->node_bytes.n;
		for (k = 0; k < r->n; k++) {
			if (vec_reserve(&p->node_bytes, p->node_bytes.n + ROOM))
				return -ERR_NOMEM;
			p->node_bytes.n = (size_t)(put_node(s, p->node_bytes.v + p->node_bytes.n,
							    s->order[at++]) -
						   p->node_bytes.v);
		}
	}
	return 0;
}

static int encode_block(struct encoder *s, struct dwarf_block *b)
{
	struct dwarf_compiled_unit *p = s->p;
	const struct dwarf_seg *seg = &p->segs.v[b->first];
	uint32_t last_off = 0, last = 0, code, file, func, i;

	b->root = s->root[seg->node];
	b->first = (uint32_t)p->seg_bytes.n;
	for (i = 0; i < b->n; i++, seg++) {
		uint8_t *to;

		if (vec_reserve(&p->seg_bytes, p->seg_bytes.n + ROOM))
			return -ERR_NOMEM;
		to = p->seg_bytes.v + p->seg_bytes.n;
		func = p->nodes.v[seg->node].func;
		code = seg->node ? s->place[seg->node] + 1 : 0;
		file = file_code(p, func, seg->file);
		to = put_number(to, (uint64_t)(seg->off - last_off) << SEG_FLAG_BITS |
					    (code != last ? SEG_NODE : 0) | (file ? SEG_FILE : 0));
		if (code != last)
			to = put_number(to, dwarf_zigzag32(code - last));
		to = put_number(to, dwarf_zigzag32(seg->line - p->funcs.v[func].decl_line));
		if (file)
			to = put_number(to, file);
		p->seg_bytes.n = (size_t)(to - p->seg_bytes.v);
		last_off = seg->off;
		last = code;
	}
	return 0;
}

static int encode_segs(struct encoder *s)
{
	size_t i;

	for (i = 0; i < s->p->blocks.n; i++)
		if (encode_block(s, &s->p->blocks.v[i]))
			return -ERR_NOMEM;
	return 0;
}

int dwarf_unit_encode(struct dwarf_compiled_unit *p)
{
	struct encoder s = {.p = p};
	int rc = -ERR_NOMEM;

	if (p->nodes.n > NODES_MAX)
		return -ERR_NOMEM;
	/* A unit without functions does not even have function and node 0. */
	if ((!p->nodes.n && vec_push(&p->nodes, (struct dwarf_node){0})) ||
	    (!p->funcs.n && vec_push(&p->funcs, (struct dwarf_func){0})))
		return -ERR_NOMEM;
	s.root = calloc(p->nodes.n, sizeof *s.root);
	s.place = calloc(p->nodes.n, sizeof *s.place);
	s.order = calloc(p->nodes.n, sizeof *s.order);
	if (s.root && s.place && s.order)
		rc = choose_files(p);
	if (!rc)
		rc = find_roots(&s);
	if (!rc)
		rc = encode_nodes(&s);
	if (!rc)
		rc = encode_segs(&s);
	free(s.root);
	free(s.place);
	free(s.order);
	vec_done(&p->nodes);
	vec_done(&p->segs);
	vec_shrink(&p->funcs);
	vec_shrink(&p->blocks);
	vec_shrink(&p->roots);
	vec_shrink(&p->node_bytes);
	vec_shrink(&p->seg_bytes);
	return rc;
}

/* ---- reading ----------------------------------------------------------------------------- */

void dwarf_encoded_seg(const struct dwarf_compiled_unit *p, struct dwarf_block *b,
		       struct dwarf_seg *seg)
{
	const uint8_t *at = &p->seg_bytes.v[b->first];
	uint64_t head = dwarf_encoded_number(&at);

	b->lo += head >> SEG_FLAG_BITS;
	if (head & SEG_NODE)
		b->code += dwarf_unzigzag32((uint32_t)dwarf_encoded_number(&at));
	seg->off = 0;
	seg->node = b->code;
	seg->line = dwarf_unzigzag32((uint32_t)dwarf_encoded_number(&at));
	seg->file = head & SEG_FILE ? (uint32_t)dwarf_encoded_number(&at) : 0;
	b->first = (uint32_t)(at - p->seg_bytes.v);
	b->n--;
}

void dwarf_encoded_node(const uint8_t **at, struct dwarf_node *n)
{
	uint64_t head = dwarf_encoded_number(at);

	*n = (struct dwarf_node){.parent = (uint32_t)(head >> 1),
				 .func = (uint32_t)dwarf_encoded_number(at)};
	if (!head)
		return;
	n->call_line = dwarf_unzigzag32((uint32_t)dwarf_encoded_number(at));
	n->call_file = head & 1 ? (uint32_t)dwarf_encoded_number(at) : 0;
}
