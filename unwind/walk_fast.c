/* walk_fast.c - the hot loop: sp, fp and pc through packed rules. */
#include "unwind/walk.h"

/* A register slot that cannot be read. Below the sample's sp it belongs to a frame that is being
 * left: the register was restored before, or not saved yet, and still has its value. */
static void fp_missing(const struct walk *w, struct cursor *c, uint64_t addr, bool first)
{
	if (!first || addr >= w->memory.sp)
		c->fp_known = false;
}

/* The base register of a shaped rule. */
static bool base_value(const struct walk *w, const struct cursor *c, unsigned reg, bool first,
		       uint64_t *ret)
{
	if (reg == w->arch->sp || reg == w->arch->fp) {
		*ret = reg == w->arch->sp ? c->sp : c->fp;
		return reg == w->arch->sp || c->fp_known;
	}
	return first && arch_reg(w->arch, &w->s->user_regs, (uint8_t)reg, ret);
}

/* RULE_SHAPED: *c becomes the caller. */
static enum unwind_stop shaped_step(const struct walk *w, struct cursor *c, const struct rule *r,
				    bool first)
{
	uint64_t base, cfa, at, ra;

	if ((r->flags & RULE_PC_IN_CFA && c->is_return_address) ||
	    !base_value(w, c, r->reg, first, &base))
		return WALK_NEEDS_ALL;
	cfa = base + (uint64_t)(int64_t)r->cfa_off;
	if (r->flags & RULE_DEREF) {
		if (!walk_word(w, cfa, &at))
			return walk_read_stop(w, cfa);
		cfa = at + (uint64_t)(int64_t)r->cfa_add;
	}
	if (cfa <= c->sp && !(r->flags & RULE_SIGNAL))
		return UNWIND_STOP_LOOP;
	at = (r->flags & RULE_RA_AT_BASE ? base : cfa) + (uint64_t)(int64_t)r->ra_off;
	if (!walk_word(w, at, &ra))
		return walk_read_stop(w, at);
	if (r->flags & RULE_FP_LOST) {
		c->fp_known = false;
	} else if (r->fp_off || r->flags & RULE_FP_AT_BASE) {
		at = (r->flags & RULE_FP_AT_BASE ? base : cfa) + (uint64_t)(int64_t)r->fp_off;
		if (walk_word(w, at, &c->fp))
			c->fp_known = true;
		else
			fp_missing(w, c, at, first);
	}
	c->ip = ra;
	c->sp = cfa;
	c->is_return_address = !(r->flags & RULE_SIGNAL);
	c->how = r->how;
	return ra ? WALK_ON : UNWIND_STOP_END;
}

/* RULE_SP and RULE_FP. */
static inline enum unwind_stop simple_step(const struct walk *w, struct cursor *c,
					   const struct rule *r, uint64_t base, bool first)
{
	uint64_t cfa = base + (uint64_t)(int64_t)r->cfa_off, at;

	if (__builtin_expect(cfa <= c->sp, 0))
		return UNWIND_STOP_LOOP;
	if (__builtin_expect(!walk_word(w, cfa + (uint64_t)(int64_t)r->ra_off, &c->ip), 0))
		return walk_read_stop(w, cfa + (uint64_t)(int64_t)r->ra_off);
	if (r->fp_off) {
		at = cfa + (uint64_t)(int64_t)r->fp_off;
		if (__builtin_expect(walk_word(w, at, &c->fp), 1))
			c->fp_known = true;
		else
			fp_missing(w, c, at, first);
	}
	c->sp = cfa;
	c->is_return_address = true;
	c->how = r->how;
	return __builtin_expect(c->ip != 0, 1) ? WALK_ON : UNWIND_STOP_END;
}

/* First half of a step: the rule of the frame, and the order for the memory that it will read. */
static inline void look_up(struct walk *w)
{
	struct rule_entry own;
	const struct rule_entry *e = walk_rule(w, w->c.ip - w->c.is_return_address, &own);
	uint64_t base = e->rule.kind == RULE_FP ? w->c.fp : w->c.sp;

	/* Copied: the walk of another sample may displace the entry. */
	w->rule = e->rule;
	w->map = e->map;
	/* Wherever that is: a prefetch cannot fault. */
	__builtin_prefetch((const void *)((uintptr_t)w->stack + base +
					  (uint64_t)(int64_t)e->rule.cfa_off - 8 - w->memory.sp));
}

/* Second half: puts the frame down and finds its caller. */
static inline enum unwind_stop step(struct walk *w)
{
	struct cursor *c = &w->c;

	if (!walk_push(w, c, c->is_return_address && !(w->rule.flags & RULE_SIGNAL), w->map))
		return UNWIND_STOP_DEPTH;
	switch ((enum rule_kind)w->rule.kind) {
	case RULE_SP:
		return simple_step(w, c, &w->rule, c->sp, w->first);
	case RULE_FP:
		return c->fp_known ? simple_step(w, c, &w->rule, c->fp, w->first) : WALK_NEEDS_ALL;
	case RULE_SHAPED:
		return shaped_step(w, c, &w->rule, w->first);
	case RULE_FULL:
		return WALK_NEEDS_ALL;
	case RULE_END:
		return UNWIND_STOP_END;
	default:
		return ladder_step(w, c, (enum rule_kind)w->rule.kind, w->map);
	}
}

void walk_fast(struct walk **walks, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		walks[i]->first = true;
	while (n) {
		for (i = 0; i < n; i++)
			look_up(walks[i]);
		for (i = 0; i < n;) {
			struct walk *w = walks[i];

			w->stop = step(w);
			if (w->stop != WALK_ON) {
				walks[i] = walks[--n];
				continue;
			}
			w->first = false;
			__builtin_prefetch(
				rule_cache_at(&w->worker->cache, w->space_key | (w->c.ip - 1)));
			i++;
		}
	}
}
