/* call_reach.c - can the call of a function have led to given code?
 *
 * A function may end in a jump to another one, which then returns in its place (a tail call): the
 * call before a return address need not name the function that is active. So the ways out of the
 * called function are followed. Whatever is not known counts as a way to anywhere. */
#include "base/hash.h"
#include "reader/reader.h"
#include "unwind/return_check.h"

/* Maximum number of functions that are followed, and the largest one. More are "not known". */
#define REACH_FUNCTIONS_MAX 24
#define REACH_BYTES_MAX	    (128u << 10)

struct reach {
	struct walk *w;
	uint64_t ip; /* the code to be reached; 0: code without a file */
	uint64_t todo[REACH_FUNCTIONS_MAX];
	unsigned n;
};

/* A function at run time. */
struct extent {
	struct cfi_module *cm;
	uint64_t start, end, bias; /* bias: address minus vaddr */
};

/* The function that contains `at`; false: not known. */
static bool extent_find(struct walk *w, uint64_t at, struct extent *ret)
{
	const struct map *map = address_space_find(w->s->space, at);
	struct code_function fn = {0};
	struct code_frame frame;
	struct cfi_fde fde;
	uint64_t vaddr;

	ret->cm = map && map->dso->kind != DSO_ANON ? walk_module(w, map, at, &vaddr) : NULL;
	if (!ret->cm)
		return false;
	ret->bias = at - vaddr;
	if (cfi_module_fde(ret->cm, vaddr, &fde)) {
		ret->start = fde.start + ret->bias;
		ret->end = fde.end + ret->bias;
		return true;
	}
	if (!cfi_module_code_frame(ret->cm, vaddr, &fn, &frame) || !fn.is_named)
		return false;
	ret->start = fn.start + ret->bias;
	ret->end = fn.end + ret->bias;
	return at >= ret->start && at < ret->end;
}

/* True if an indirect jump at `ip` can leave its function: the stack is as on entry. Jumps by a
 * table, from a frame, stay in it. */
static bool may_leave(struct walk *w, uint64_t ip)
{
	struct rule_entry own;
	const struct rule *r = &walk_rule(w, ip, &own)->rule;

	return !(r->kind == RULE_FP || (r->kind == RULE_SP && r->cfa_off != w->arch->word_bytes));
}

/* Returns false if there are too many. */
static bool reach_add(struct reach *r, uint64_t at)
{
	unsigned i;

	for (i = 0; i < r->n; i++)
		if (r->todo[i] == at)
			return true;
	if (r->n == REACH_FUNCTIONS_MAX)
		return false;
	r->todo[r->n++] = at;
	return true;
}

/* Adds the targets of the jumps that leave the function. Returns false if one is not known. */
static bool exits_add(struct reach *r, const struct extent *x)
{
	struct code_frame f = {0};
	struct code_insn in = {0};
	uint64_t at, target;

	for (at = x->start; at < x->end; at += in.bytes) {
		if (!code_insn_at(x->cm, at - x->bias, &f, &in))
			return false;
		target = at + (uint64_t)in.target;
		if (in.way == CODE_SWITCH && may_leave(r->w, at))
			return false;
		if ((in.way == CODE_BRANCH || in.way == CODE_JUMP) &&
		    (target < x->start || target >= x->end) && !reach_add(r, target))
			return false;
	}
	return true;
}

static bool may_reach(struct reach *r)
{
	struct extent x;
	unsigned i;

	for (i = 0; i < r->n; i++)
		if (!extent_find(r->w, r->todo[i], &x) || (r->ip >= x.start && r->ip < x.end) ||
		    x.end - x.start > REACH_BYTES_MAX || !exits_add(r, &x))
			return true;
	return false;
}

bool call_may_reach(struct walk *w, uint64_t target, const struct map *map, uint64_t ip)
{
	struct reach r = {.w = w, .todo = {target}, .n = 1};
	const struct map *from = address_space_find(w->s->space, target);
	struct known_reach *k;

	if (!target || !from || !w->arch->code_step)
		return true;
	if (map && map->dso->kind != DSO_ANON)
		r.ip = ip;
	k = &w->worker->reaches[hash_u64(target ^ hash_u64(r.ip)) % REACHES_KNOWN];
	if (k->map != from->id || k->target != target || k->ip != r.ip)
		*k = (struct known_reach){from->id, may_reach(&r), target, r.ip};
	return k->may;
}

bool call_is_to(struct walk *w, uint64_t target, uint64_t ip)
{
	struct extent x;

	return target && extent_find(w, target, &x) && ip >= x.start && ip < x.end;
}
