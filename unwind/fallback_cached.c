/* fallback_cached.c - frames without call frame information, at addresses that the fallback has met
 * before.
 *
 * Most conditions that the fallback checks depend on the address alone. Their result is kept in the
 * cached rule, so that such a frame costs little more than one with a rule. The result is the same
 * as that of fallback_step(); in any unusual case nothing is decided here, and fallback_step() runs
 * again. */
#include "reader/reader.h"
#include "unwind/return_check.h"

enum { WORD = 8 }; /* word size in bytes; other processors do not use this */

/* True if the hot loop can use such rules. */
static bool is_for_loop(const struct walk *w)
{
	return w->arch->ra == w->arch->pc;
}

void fallback_note_jit(struct walk *w, uint64_t lookup_ip)
{
	struct rule_entry own;
	struct rule *r = &walk_rule(w, lookup_ip, &own)->rule;

	if (r->kind != RULE_NO_CFI || w->arch->word_bytes != WORD)
		return;
	if (!is_for_loop(w) || w->is_described) {
		r->reg = RULE_WAY_JIT;
		return;
	}
	r->kind = RULE_JIT_FP;
	r->reg = RULE_GUESS;
	r->cfa_off = r->cfa_add = 2 * WORD;
	r->ra_off = INT16_MAX;
	r->fp_off = -2 * WORD;
	r->how = FRAME_FRAME_POINTER;
}

/* Stores the frame as a rule for the hot loop. Returns false if that is not possible: the caller's
 * frame pointer must be known, and this frame's if the CFA depends on it. */
static bool note_for_loop(struct rule *r, const struct code_frame *f)
{
	bool by_fp = f->fp_holds == CODE_FP_FRAME, has_sp = f->sp >= 0;

	if (f->saved_ra != WORD || (by_fp ? !f->saved_fp : !has_sp) ||
	    (f->fp_holds == CODE_FP_OTHER && !f->saved_fp))
		return false;
	r->kind = by_fp ? RULE_CODE_FP : RULE_CODE_SP;
	r->reg = RULE_GUESS;
	r->cfa_off = by_fp ? f->fp : f->sp;
	r->cfa_add = has_sp ? (int16_t)f->sp : 0;
	r->ra_off = has_sp ? 0 : INT16_MAX;
	r->fp_off = f->fp_holds == CODE_FP_CALLER ? 0 : -f->saved_fp;
	r->how = FRAME_CODE;
	return true;
}

void fallback_note_code(struct walk *w, uint64_t lookup_ip, const struct code_frame *f)
{
	struct rule_entry own;
	struct rule *r = &walk_rule(w, lookup_ip, &own)->rule;

	/* arch.known_frame() takes precedence. */
	if (r->kind != RULE_NO_CFI || (w->arch->known_frame && !(r->flags & RULE_UNKNOWN_CODE)))
		return;
	if (f->ra_lost || f->is_realigned || !f->saved_ra || f->saved_ra > INT16_MAX ||
	    f->sp > INT16_MAX)
		return;
	if (is_for_loop(w) && note_for_loop(r, f))
		return;
	r->cfa_off = f->fp;
	r->cfa_add = (int16_t)f->sp;
	r->fp_off = -f->saved_fp;
	r->ra_off = (int16_t)-f->saved_ra;
	r->how = f->fp_holds;
	r->reg = RULE_WAY_CODE;
}

static bool arrive(struct cursor *c, uint64_t ra, enum frame_how how)
{
	c->ip = ra;
	c->is_return_address = true;
	c->lr_known = false;
	c->how = (uint8_t)how;
	return true;
}

/* True if smallest_frame_step() of fallback.c may apply. */
static bool may_be_smallest_frame(const struct walk *w)
{
	const struct map *called = w->next[-2].map;

	return w->c.sp % 16 == 0 && w->arch->ra == w->arch->pc && w->c.fp >= w->c.sp + 2 * WORD &&
	       !(called && called->dso->kind == DSO_ANON);
}

static bool jit_again(struct walk *w)
{
	struct cursor *c = &w->c;
	struct jit_unwind_info info;
	struct cursor caller;
	uint64_t fp, ra;

	if (!c->is_return_address || !c->fp_known || c->fp % WORD || c->fp < c->sp ||
	    !walk_word(w, c->fp, WORD, &fp) || !walk_word(w, c->fp + WORD, WORD, &ra))
		return false;
	/* What the sample's own function does tells whether there is a frame: v8_unmade_step(). */
	if (w->next - w->frames == 2 && runs_v8(w))
		return false;
	ra &= w->code_mask;
	if (may_be_smallest_frame(w) ||
	    fp_owner_find(w, c, w->next[-1].map, &caller) != FP_OWNER_SELF ||
	    return_check(w, ra) == RETURN_NONE || jit_info_find(w, c->ip - 1, &info))
		return false;
	c->sp = jit_sender_sp(w, c->fp);
	c->sp_known = w->arch->ra == w->arch->pc;
	c->fp = fp;
	return arrive(c, ra, FRAME_FRAME_POINTER);
}

/* The CFA from both registers if both are known: see cfa_of() of code_step.c. */
static bool cfa_find(const struct cursor *c, const struct rule *r, uint64_t *cfa)
{
	uint64_t by_sp = c->sp + (uint64_t)(int64_t)r->cfa_add;
	bool has_sp = c->sp_known && r->cfa_add >= 0;

	*cfa = by_sp;
	if (r->how != CODE_FP_FRAME || !c->fp_known)
		return has_sp;
	*cfa = c->fp + (uint64_t)(int64_t)r->cfa_off;
	return has_sp ? *cfa == by_sp : !c->sp_known || *cfa > c->sp;
}

static bool code_again(struct walk *w, const struct rule *r)
{
	struct cursor *c = &w->c;
	uint64_t cfa, ra, fp = c->fp;
	bool fp_known = c->fp_known;

	if (c->how == FRAME_LINK_REGISTER || !cfa_find(c, r, &cfa) ||
	    !walk_word(w, cfa + (uint64_t)(int64_t)r->ra_off, WORD, &ra))
		return false;
	if (r->how != CODE_FP_CALLER)
		fp_known = r->fp_off && walk_word(w, cfa + (uint64_t)(int64_t)r->fp_off, WORD, &fp);
	ra &= w->code_mask;
	if (return_check(w, ra) == RETURN_NONE) /* from here on *r may be another rule */
		return false;
	c->sp = cfa;
	c->sp_known = true;
	c->fp = fp;
	c->fp_known = fp_known;
	return arrive(c, ra, FRAME_CODE);
}

bool fallback_cached(struct walk *w, const struct rule *r)
{
	if (r->kind == RULE_JIT_FP)
		return jit_again(w);
	switch ((enum rule_way)r->reg) {
	case RULE_WAY_JIT:
		return jit_again(w);
	case RULE_WAY_CODE:
		return code_again(w, r);
	case RULE_WAY_UNKNOWN:
		break;
	}
	return false;
}
