/* red_zone.c - functions that save their caller's stack pointer below their own.
 *
 * OpenSSL's SHA-2 for AVX2 saves it in its frame and, in the loop that lowers the stack pointer, in
 * the word below that (psABI AMD64 3.2.2, "red zone"): the CFA is (sp - 8) dereferenced, plus 8.
 * Stack copies begin at sp, so that word was not copied. The word in the frame was, at the place
 * that other rows of the function describe, but sp is lower by an amount that no row describes. So
 * the stack is searched from that place upwards for the first word that points to a return address
 * whose call leads to this very function. */
#include "reader/reader.h"
#include "unwind/return_check.h"

/* Limits on call frame information, far above what such functions have. */
#define ROWS_MAX	 128
#define INSTRUCTIONS_MAX 2048
#define STEPS_MAX	 (32 * INSTRUCTIONS_MAX) /* for all rows together */

/* Maximum by which the stack pointer may have been lowered. */
#define LOWERED_BYTES_MAX 4096

/* The jump by which a function selects one of its variants is this close to its start. */
#define CHOICE_BYTES 512

/* The largest offset from sp of the saved word among the rows that are otherwise like `r`. 0:
 * none. */
static int32_t place_in_frame(const struct cfi_fde *fde, const struct arch *arch,
			      const struct rule *r)
{
	uint64_t at = fde->start, steps = STEPS_MAX;
	struct cfi_row row;
	struct rule other;
	int32_t place = 0;
	unsigned n;

	if (buf_left(&fde->insns) > INSTRUCTIONS_MAX)
		return 0;
	for (n = 0; n < ROWS_MAX && at < fde->end; n++, at = row.end) {
		if (!cfi_row_find(fde, arch, at, &steps, &row))
			return 0;
		rule_pack(&row, arch, at, &other);
		if (other.kind == RULE_SHAPED && other.flags == r->flags && other.reg == r->reg &&
		    other.cfa_add == r->cfa_add && other.cfa_off > place)
			place = other.cfa_off;
	}
	return place;
}

/* True if a call of `target` leads to the function: it is the target, or the target jumps to it. */
static bool leads_to(struct walk *w, uint64_t target, struct cfi_module *cm,
		     const struct cfi_fde *fde)
{
	const struct map *map = address_space_find(w->s->space, target);
	uint64_t vaddr;
	struct cfi_fde other;
	const uint8_t *end;
	size_t n;

	if (!map || walk_module(w, map, target, &vaddr) != cm || !cfi_module_fde(cm, vaddr, &other))
		return false;
	if (other.start == fde->start)
		return true;
	n = other.end - other.start < CHOICE_BYTES ? other.end - other.start : CHOICE_BYTES;
	end = cfi_module_code_before(cm, other.start + n, &n);
	return end && w->arch->jumps_to(end - n, n, other.start, fde->start);
}

bool red_zone_find(struct walk *w, const struct cursor *c, const struct map *map, uint64_t *cfa)
{
	unsigned word = w->arch->word_bytes;
	struct rule_entry own;
	struct rule r = walk_rule(w, c->ip, &own)->rule;
	struct cfi_module *cm;
	struct cfi_fde fde;
	uint64_t vaddr, at, end, target;

	if (w->worker->no_guess || !w->arch->jumps_to || r.kind != RULE_SHAPED ||
	    r.flags != RULE_DEREF || r.reg != w->arch->sp || r.cfa_off >= 0)
		return false;
	cm = walk_module(w, map, c->ip, &vaddr);
	if (!cm || !cfi_module_fde(cm, vaddr, &fde))
		return false;
	at = c->sp + (uint64_t)place_in_frame(&fde, w->arch, &r);
	if (at == c->sp)
		return false;
	for (end = at + LOWERED_BYTES_MAX; at <= end; at += word) {
		uint64_t saved, ra;

		if (!walk_word(w, at, word, &saved))
			return false;
		*cfa = saved + (uint64_t)(int64_t)r.cfa_add;
		if (saved <= at || !walk_word(w, *cfa + (uint64_t)(int64_t)r.ra_off, word, &ra))
			continue;
		target = called_function(w, ra);
		if (target && leads_to(w, target, cm, &fde))
			return true;
	}
	return false;
}
