/* walk_fast.c - the hot loop: moves sp, fp, pc and link register by packed rules. */
#include "base/prefetch.h"
#include "reader/reader.h"
#include "unwind/return_check.h"

/* Properties of the processor: compile-time constants in the specialized loops, a variable
 * otherwise. */
struct words {
	unsigned bytes;
	bool link_register;
	bool guesses; /* use usual_step(), which also handles RULE_CODE_* */
};

static struct words words_of(const struct arch *arch)
{
	return (struct words){arch->word_bytes, arch->ra != arch->pc, false};
}

static inline uint64_t truncated(uint64_t addr, struct words words)
{
	return words.bytes == 8 ? addr : (uint32_t)addr;
}

/* True in the sample's own frame. */
static bool is_first(const struct walk *w)
{
	return w->next - 1 == w->frames;
}

/* True for a slot below the sample's sp, which cannot be read: the frame is being set up or left.
 * The register is not saved yet or was restored already, so it still has its value. */
static bool is_given_up(const struct walk *w, uint64_t addr)
{
	return is_first(w) && addr < w->memory.sp;
}

/* The result of a step to return address 0. In the sample's own frame the rule may be wrong. */
static enum unwind_stop zero_return(const struct walk *w)
{
	return is_first(w) ? WALK_NEEDS_ALL : UNWIND_STOP_END;
}

/* The callee's frame was found by its frame pointer, which on processors with a link register does
 * not give this frame's start. This frame's own frame pointer does: it points to the saved one of
 * its caller. */
static bool cfa_by_record(const struct cursor *c, const struct rule *r, uint64_t *cfa)
{
	*cfa = c->fp - (uint64_t)(int64_t)r->fp_off;
	return c->fp_known && r->fp_off;
}

/* ---- rules with a shape of their own ------------------------------------------------------ */

/* The base register of a shaped rule. */
static bool base_value(const struct walk *w, unsigned reg, uint64_t *ret)
{
	const struct cursor *c = &w->c;

	if (reg == w->arch->sp || reg == w->arch->fp) {
		*ret = reg == w->arch->sp ? c->sp : c->fp;
		return reg == w->arch->sp ? c->sp_known : c->fp_known;
	}
	return is_first(w) && arch_reg(w->arch, &w->s->user_regs, (uint8_t)reg, ret);
}

/* The return address, still with authentication code. */
static bool shaped_return(struct walk *w, const struct rule *r, uint64_t at, struct words words,
			  uint64_t *ret)
{
	struct cursor *c = &w->c;

	if (words.link_register && !r->ra_off && !(r->flags & RULE_RA_AT_BASE)) {
		*ret = c->lr;
		return c->lr_known;
	}
	if (!walk_word(w, at, words.bytes, ret))
		return false;
	if (words.link_register && !(r->flags & RULE_SIGNAL)) {
		c->lr = *ret;
		c->lr_known = true;
	}
	return true;
}

/* RULE_SHAPED: moves the cursor to the caller. Words that are not on the stack may be in a file;
 * walk_full() looks there, too. */
static enum unwind_stop shaped_step(struct walk *w, const struct rule *r, struct words words)
{
	struct cursor *c = &w->c;
	uint64_t base, cfa, at, ra;
	bool is_signal = r->flags & RULE_SIGNAL;

	if ((r->flags & RULE_PC_IN_CFA && c->is_return_address) || !base_value(w, r->reg, &base))
		return WALK_NEEDS_ALL;
	cfa = truncated(base + (uint64_t)(int64_t)r->cfa_off, words);
	if (r->flags & RULE_DEREF) {
		if (!walk_word(w, cfa, words.bytes, &at))
			return WALK_NEEDS_ALL;
		cfa = truncated(at + (uint64_t)(int64_t)r->cfa_add, words);
	}
	if (!words.link_register && cfa <= c->sp && !is_signal)
		return r->flags & RULE_DEREF ? WALK_NEEDS_ALL : UNWIND_STOP_LOOP;
	at = (r->flags & RULE_RA_AT_BASE ? base : cfa) + (uint64_t)(int64_t)r->ra_off;
	if (!shaped_return(w, r, at, words, &ra))
		return WALK_NEEDS_ALL;
	ra &= w->code_mask;
	if (words.link_register && !is_signal && (cfa < c->sp || (cfa == c->sp && ra == c->ip)))
		return UNWIND_STOP_LOOP;
	at = (r->flags & RULE_FP_AT_BASE ? base : cfa) + (uint64_t)(int64_t)r->fp_off;
	if (r->flags & RULE_FP_LOST) {
		c->fp_known = false;
	} else if (r->fp_off || r->flags & RULE_FP_AT_BASE) {
		if (!walk_word(w, at, words.bytes, &c->fp))
			return WALK_NEEDS_ALL;
		c->fp_known = true;
	}
	if (words.link_register && is_signal) {
		if (!walk_word(w, at + words.bytes, words.bytes, &c->lr))
			return WALK_NEEDS_ALL;
		c->lr_known = true;
	}
	c->ip = ra;
	c->sp = cfa;
	c->sp_known = true;
	c->is_return_address = !is_signal;
	c->how = r->how;
	return ra ? WALK_ON : zero_return(w);
}

/* ---- looking up rules ---------------------------------------------------------------------- */

/* Sets the walk's key and entry for the rule of the cursor's frame, and prefetches the entry. */
static inline void seek(struct walk *w, struct rule_entry *entries, uint64_t lookup_ip)
{
	w->key = w->space_key | lookup_ip;
	w->entry = &entries[rule_cache_slot(w->key)];
	__builtin_prefetch(w->entry);
}

/* True if the address is outside of user space. */
static inline bool is_outside(uint64_t lookup_ip)
{
	return lookup_ip >> RULE_CACHE_IP_BITS;
}

/* seek() for any address: outside of user space the key is one that no entry has. */
static inline void seek_any(struct walk *w, struct rule_entry *entries, uint64_t lookup_ip)
{
	seek(w, entries, lookup_ip);
	if (is_outside(lookup_ip))
		w->key = RULE_CACHE_NO_SPACE;
}

/* ---- guesses in the form of rules --------------------------------------------------------- */

#define GUESS_WORD   8
#define GUESS_SHARES 256u /* of all frames */

/* The kinds that usual_step() can use. RULE_JIT_FP is not one: see fp_owner.c. */
#define USUAL_KINDS (1u << RULE_SP | 1u << RULE_FP | 1u << RULE_CODE_SP | 1u << RULE_CODE_FP)

static inline uint16_t usual_kinds(const struct cursor *c)
{
	return c->fp_known ? USUAL_KINDS : 0;
}

/* Moves to the caller of the frame with rule *r, if the caller's entry is in the cache. Which
 * frames need guesses follows no pattern that a branch predictor could learn. So there is no branch
 * on that, and the checks of a guess are expressed such that other rules pass them. Returns false
 * if the step does not apply; then nothing has changed. */
static inline __attribute__((always_inline)) bool
usual_step(struct walk *w, struct rule_entry *entries, const struct rule *r)
{
	struct cursor *c = &w->c;
	uint64_t cfa = c->bases[rule_base((enum rule_kind)r->kind)] + (uint64_t)(int64_t)r->cfa_off;
	uint64_t higher = cfa - c->sp - (uint64_t)(int64_t)r->cfa_add;
	uint64_t kept = -(uint64_t)(r->fp_off == 0), ra, fp, key;
	struct rule_entry *next;

	if (!(w->usual_kinds >> r->kind & 1))
		return false;
	if (cfa <= c->sp || higher > (uint64_t)(int64_t)r->ra_off ||
	    !walk_word(w, cfa - GUESS_WORD, GUESS_WORD, &ra) ||
	    !walk_word(w, cfa + (uint64_t)(int64_t)r->fp_off, GUESS_WORD, &fp) ||
	    is_outside(ra - 1))
		return false;
	key = w->space_key | (ra - 1);
	next = &entries[rule_cache_slot(key)];
	if (next->key != key || r->reg & ((cfa & (GUESS_WORD - 1)) |
					  (RULE_MAY_BE_RETURN & ~(unsigned)next->rule.flags)))
		return false;
	w->key = key;
	w->entry = next;
	c->fp = fp ^ (kept & (fp ^ c->fp));
	c->ip = ra;
	c->sp = cfa;
	c->is_return_address = true;
	c->how = r->how;
	w->usual_kinds = USUAL_KINDS;
	return true;
}

/* ------------------------------------------------------------------------------------------- */

/* RULE_SHAPED. The rule may be replaced in the cache. */
static enum unwind_stop shaped_or_throwing_step(struct walk *w, const struct rule *r)
{
	bool throws = !(r->flags & RULE_DEREF) && r->cfa_add == RULE_THROWS;
	bool by_fp = r->reg == w->arch->fp;
	enum unwind_stop stop;

	if (r->flags & RULE_SIGNAL)
		w->next[-1].is_return_address = false;
	stop = shaped_step(w, r, words_of(w->arch));
	return throws && stop == WALK_ON ? throw_step(w, &w->c, by_fp) : stop;
}

/* A step by a rule that is not of the two simple kinds. */
static __attribute__((noinline)) enum unwind_stop odd_step(struct walk *w,
							   const struct rule_entry *e)
{
	struct rule_entry *entries = w->worker->cache.entries;
	const struct map *map = walk_map(w, e);
	enum rule_kind kind = (enum rule_kind)e->rule.kind;

	switch (kind) {
	case RULE_SP:
	case RULE_FP: /* the frame pointer is not known */
	case RULE_FULL:
		return WALK_NEEDS_ALL;
	case RULE_SHAPED:
		return shaped_or_throwing_step(w, &e->rule);
	case RULE_END:
		if (e->rule.flags & RULE_SIGNAL)
			w->next[-1].is_return_address = false;
		return UNWIND_STOP_END;
	case RULE_CODE_SP:
	case RULE_CODE_FP:
		w->usual_kinds = usual_kinds(&w->c);
		if (usual_step(w, entries, &e->rule))
			return WALK_ON;
		break;
	case RULE_NO_CFI:
	case RULE_JIT_FP:
		if (fallback_cached(w, &e->rule))
			return WALK_ON;
		break; /* *e may have been replaced */
	case RULE_NO_BINARY:
		/* Signal frames are recognized by their contents: see walk_full.c */
		if (map->dso->kind == DSO_VDSO)
			return WALK_NEEDS_ALL;
		break;
	default:
		break;
	}
	return fallback_step(w, &w->c, kind, map);
}

/* ---- the two usual kinds of rules --------------------------------------------------------- */

PREFETCHING void prefetch_word(const struct walk *w, uint64_t addr)
{
	__builtin_prefetch((const void *)(uintptr_t)(w->copy_bias + addr));
}

/* Prefetches what the step will read. The address may be anywhere: a prefetch cannot fault. */
PREFETCHING void prefetch_stack(const struct walk *w, struct words words)
{
	const struct rule *r = &w->entry->rule;
	uint64_t cfa = w->c.bases[rule_base((enum rule_kind)r->kind)];

	cfa += (uint64_t)(int64_t)r->cfa_off;
	prefetch_word(w, cfa + (uint64_t)(int64_t)r->fp_off);
	/* A return address that was pushed by a call is in the word below the CFA. */
	prefetch_word(w,
		      words.link_register ? cfa + (uint64_t)(int64_t)r->ra_off : cfa - words.bytes);
}

static inline __attribute__((always_inline)) enum unwind_stop
simple_step(struct walk *w, const struct rule *r, struct words words)
{
	struct cursor *c = &w->c;
	uint64_t cfa = c->bases[r->kind] + (uint64_t)(int64_t)r->cfa_off, ra, at, fp, saved;

	if (words.link_register && !c->sp_known && r->kind == RULE_SP && !cfa_by_record(c, r, &cfa))
		return WALK_NEEDS_ALL;
	cfa = truncated(cfa, words);
	if (!words.link_register && __builtin_expect(cfa <= c->sp, 0))
		return UNWIND_STOP_LOOP;
	at = words.link_register ? cfa + (uint64_t)(int64_t)r->ra_off : cfa - words.bytes;
	if (words.link_register && !r->ra_off) {
		if (!c->lr_known)
			return UNWIND_STOP_NO_REGISTER;
		ra = c->lr;
	} else if (__builtin_expect(!walk_word(w, at, words.bytes, &ra), 0)) {
		if (!words.link_register || !is_given_up(w, at))
			return walk_read_stop(w, at);
		if (!c->lr_known)
			return UNWIND_STOP_NO_REGISTER;
		ra = c->lr;
	}
	if (words.link_register) {
		c->lr = ra;
		c->lr_known = true;
		ra &= w->code_mask;
		if (cfa < c->sp || (cfa == c->sp && ra == c->ip))
			return UNWIND_STOP_LOOP;
	}
	/* About every second frame has saved fp, in no pattern that a branch predictor could learn.
	 * So a word is always read (the one at the CFA if fp was not saved), without a branch on
	 * it. */
	saved = -(uint64_t)(r->fp_off != 0);
	at = cfa + (uint64_t)(int64_t)r->fp_off;
	if (__builtin_expect(walk_word(w, at, words.bytes, &fp), 1)) {
		c->fp ^= saved & (c->fp ^ fp);
		c->fp_known = c->fp_known | (r->fp_off != 0);
	} else if (saved && !is_given_up(w, at)) {
		c->fp_known = false;
	}
	c->ip = ra;
	c->sp = cfa;
	if (words.link_register)
		c->sp_known = true;
	c->is_return_address = true;
	c->how = r->how;
	return WALK_ON;
}

/* Moves to the caller of the frame with rule entry *e. */
static inline __attribute__((always_inline)) enum unwind_stop
step_by(struct walk *w, struct rule_entry *entries, const struct rule_entry *e, struct words words)
{
	struct cursor *c = &w->c;
	enum unwind_stop stop;

	if (__builtin_expect(e->rule.kind <= c->fp_known, 1)) { /* RULE_SP; RULE_FP if fp is
								 * known */
		stop = simple_step(w, &e->rule, words);
		if (__builtin_expect(stop != WALK_ON, 0))
			return stop;
		if (__builtin_expect(is_outside(c->ip - 1), 0)) {
			if (!c->ip)
				return zero_return(w);
			seek_any(w, entries, c->ip - 1);
			return WALK_ON;
		}
		seek(w, entries, c->ip - 1);
		return WALK_ON;
	}
	stop = odd_step(w, e);
	if (stop == WALK_ON)
		seek_any(w, entries, c->ip - c->is_return_address);
	return stop;
}

/* Moves to the caller when usual_step() does not apply. */
static __attribute__((noinline)) enum unwind_stop
unusual_step(struct walk *w, struct rule_entry *entries, const struct rule_entry *e)
{
	enum unwind_stop stop = step_by(w, entries, e, (struct words){GUESS_WORD, false, false});

	w->usual_kinds = usual_kinds(&w->c);
	return stop;
}

/* ------------------------------------------------------------------------------------------- */

/* Appends the frame and moves to its caller. */
static inline __attribute__((always_inline)) enum unwind_stop
step(struct walk *w, struct rule_entry *entries, struct words words)
{
	struct rule_entry own, *e = w->entry;

	if (__builtin_expect(e->key != w->key, 0))
		e = walk_rule_miss(w, w->c.ip - w->c.is_return_address, &own);
	if (!walk_push(w, &w->c, e))
		return UNWIND_STOP_DEPTH;
	if (!words.guesses)
		return step_by(w, entries, e, words);
	if (__builtin_expect(usual_step(w, entries, &e->rule), 1))
		return WALK_ON;
	return unusual_step(w, entries, e);
}

/* The index of the walk whose stack words are prefetched while the i-th takes its step. A stack
 * comes from memory, a rule usually from a near cache. So of the time between two steps of a walk,
 * a quarter is left for fetching its rule, and the rest for fetching its stack words. */
static inline size_t prefetched_at(size_t i, size_t n)
{
	size_t at = i + n - n / 4;

	return at < n ? at : at - n;
}

/* Runs all walks, one step of each in turn. */
static inline __attribute__((always_inline)) void walk_all(struct walk **walks, size_t n,
							   struct words words)
{
	struct rule_entry *entries = walks[0]->worker->cache.entries;
	size_t i, ordered = prefetched_at(0, n);

	for (i = 0; i < n; i++) {
		seek_any(walks[i], entries, walks[i]->c.ip);
		if (words.guesses)
			walks[i]->usual_kinds = usual_kinds(&walks[i]->c);
	}
	for (i = 0; n;) {
		struct walk *w = walks[i];
		enum unwind_stop stop;

		prefetch_stack(walks[ordered], words);
		stop = step(w, entries, words);
		if (__builtin_expect(stop != WALK_ON, 0)) {
			w->stop = stop;
			walks[i] = walks[--n];
			ordered = prefetched_at(i, n);
		}
		if (++i >= n)
			i = 0;
		if (++ordered >= n)
			ordered = 0;
	}
}

/* Not inlined, so that each loop gets its own register allocation. */
static __attribute__((noinline)) void walk_pushed(struct walk **walks, size_t n)
{
	walk_all(walks, n, (struct words){8, false, false});
}

static __attribute__((noinline)) void walk_guessed(struct walk **walks, size_t n)
{
	walk_all(walks, n, (struct words){8, false, true});
}

static __attribute__((noinline)) void walk_linked(struct walk **walks, size_t n)
{
	walk_all(walks, n, (struct words){8, true, false});
}

/* Which loop is faster depends on the share of frames found by guesses. It is estimated from one
 * stack of each of the last batches. */
static void note_guesses(const struct walk *w)
{
	const struct frame *f;
	unsigned n = 0, share = 0;

	for (f = w->frames; f < w->next; f++)
		n += f->how == FRAME_CODE || f->how == FRAME_FRAME_POINTER;
	if (n)
		share = GUESS_SHARES * n / (unsigned)(f - w->frames);
	w->worker->guess_share = (7 * w->worker->guess_share + share) / 8;
}

void walk_fast(struct walk **walks, size_t n)
{
	const struct words words = words_of(walks[0]->arch);
	const struct walk *one = walks[0];

	if (words.bytes == 8 && !words.link_register &&
	    one->worker->guess_share >= GUESS_SHARES / 8)
		walk_guessed(walks, n);
	else if (words.bytes == 8 && !words.link_register)
		walk_pushed(walks, n);
	else if (words.bytes == 8)
		walk_linked(walks, n);
	else
		walk_all(walks, n, words);
	note_guesses(one);
}
