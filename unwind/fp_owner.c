/* fp_owner.c - whose is the frame record that the frame pointer leads to?
 *
 * Code that keeps no frame pointer leaves the register to its callers: the record is then that of
 * the nearest caller that keeps one, and whoever goes on from the record leaves this caller out
 * (psABI AMD64 3.2.1: rbp belongs to the caller). Where nothing tells which kind of code it is, the
 * words up to the record do: that caller has left its return address among them, and its call frame
 * information says that its frame begins behind this very record. A return address of a call that
 * is over may say so, too; but the machine code of its function tells how far below the record the
 * stack pointer was at the call, and so at which place of the stack the word must be.
 */
#include <sys/mman.h>

#include "unwind/evidence.h"

/* How far from the stack pointer the record is, at most, where other words are looked at. */
#define WORDS_MAX 4096

/* How many callers there are at most between such code and the owner. */
#define CALLERS_MAX 16

/* A range of addresses that has a bit of a filter. */
#define FILTER_BITS  64u
#define FILTER_SHIFT 32

static uint64_t filter_bit(uint64_t addr)
{
	return 1ull << ((addr >> FILTER_SHIFT) * 0x9e3779b97f4a7c15u >> 58);
}

/* Which words can be addresses in code of files: a bit for each part of the address space. Nearly
 * all words of a frame are none. */
static uint64_t code_filter(struct walk *w)
{
	struct code_filter *f = &w->worker->code_filter;
	const struct address_space *space = w->s->space;
	size_t n = address_space_count(space), i;
	uint64_t at;

	if (f->layout == address_space_layout(space) && f->n_maps == n)
		return f->bits;
	*f = (struct code_filter){.layout = address_space_layout(space), .n_maps = n};
	for (i = 0; i < n; i++) {
		const struct map *m = address_space_at(space, i);

		if (!(m->prot & PROT_EXEC) || m->dso->kind == DSO_ANON || m->end <= m->start)
			continue;
		if ((m->end - m->start) >> FILTER_SHIFT >= FILTER_BITS)
			f->bits = UINT64_MAX;
		for (at = m->start >> FILTER_SHIFT; at <= (m->end - 1) >> FILTER_SHIFT && ~f->bits;
		     at++)
			f->bits |= filter_bit(at << FILTER_SHIFT);
	}
	return f->bits;
}

enum fp_owner fp_owner_by_code(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);
	const int32_t word = w->arch->word_bytes;
	struct code_frame f;
	struct cfi_module *cm;
	uint64_t vaddr;

	cm = map ? walk_module(w, map, ra - 1, &vaddr) : NULL;
	if (!cm || !cfi_module_fde_frame(cm, vaddr, &f) || f.sp < 0 || f.fp_holds != CODE_FP_FRAME)
		return FP_OWNER_UNKNOWN;
	return f.fp == 2 * word && c->fp + (uint32_t)f.fp - (uint32_t)f.sp == at + (uint32_t)word
		       ? FP_OWNER_CALLER
		       : FP_OWNER_SELF;
}

/* Does the call before `ra` lead to the function that `ip` is in, as far as it says where to? */
static bool may_have_called(struct walk *w, uint64_t ra, uint64_t ip)
{
	uint64_t target = called_function(w, ra), vaddr, at;
	const struct map *map = address_space_find(w->s->space, ip);
	struct cfi_module *cm = map ? walk_module(w, map, ip, &vaddr) : NULL;
	struct cfi_fde fde;

	if (!target)
		return true;
	at = target - (ip - vaddr);
	return cm && cfi_module_fde(cm, vaddr, &fde) && at >= fde.start && at < fde.end;
}

/* Follows frames by their rules from a return address at `at` on, as long as these leave the frame
 * pointer alone, to the owner of the record at c->fp. FP_OWNER_SELF: they do not lead there. */
static enum fp_owner follow(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	const unsigned word = w->arch->word_bytes;
	const int32_t record = 2 * (int32_t)word;
	struct rule_entry own;
	unsigned steps;

	for (steps = 0; steps < CALLERS_MAX && evidence_of(w, ra) == EVIDENCE_CALL; steps++) {
		struct rule r = walk_rule(w, ra - 1, &own)->rule;
		uint64_t cfa = at + word + (uint64_t)(int64_t)r.cfa_off, ip = ra - 1;

		if (r.kind == RULE_FP && r.cfa_off == record && r.fp_off == -record)
			return fp_owner_by_code(w, c, ra, at);
		if (r.kind != RULE_SP || cfa <= at || cfa > c->fp + (uint64_t)record)
			return FP_OWNER_SELF;
		if (r.fp_off)
			return r.fp_off == -record && cfa == c->fp + (uint64_t)record
				       ? FP_OWNER_CALLER
				       : FP_OWNER_SELF;
		at = cfa - word;
		if (!walk_word(w, at, word, &ra) || !may_have_called(w, ra, ip))
			return FP_OWNER_SELF;
	}
	return FP_OWNER_SELF;
}

/* Can the call before `ra` have led to the code at `ip`, in `map`? Not if it names a function with
 * call frame information, which that code has not; nor, in a file, another function. */
static bool may_lead_to(struct walk *w, uint64_t ra, const struct map *map, uint64_t ip)
{
	uint64_t target = called_function(w, ra);
	struct rule_entry own;

	if (!target)
		return true;
	if (map && map->dso->kind != DSO_ANON)
		return target <= ip && ip - target <= FUNCTION_BYTES_MAX;
	return walk_rule(w, target, &own)->rule.kind >= RULE_NO_CFI;
}

/* Of the record's own return address: is it in code that is no file's? */
static bool record_leads_to_jit(struct walk *w, const struct cursor *c)
{
	uint64_t ra;

	return walk_word(w, c->fp + w->arch->word_bytes, w->arch->word_bytes, &ra) &&
	       evidence_of(w, ra & w->code_mask) == EVIDENCE_MAP;
}

enum fp_owner fp_owner_find(struct walk *w, const struct cursor *c, const struct map *map,
			    struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	unsigned n_found = 0, n_unsure = 0, i;
	uint64_t filter, at, ra;

	/* With a link register callers keep their own where they like. */
	if (w->arch->ra != w->arch->pc || !w->arch->code_step || !c->fp_known || !c->sp_known ||
	    c->fp % word || c->sp % word || c->fp <= c->sp)
		return FP_OWNER_SELF;
	filter = code_filter(w);
	for (i = 0, at = c->sp; at < c->fp && i < WORDS_MAX; i++, at += word) {
		enum fp_owner owner;

		if (!walk_word(w, at, word, &ra))
			break;
		owner = filter_bit(ra) & filter ? follow(w, c, ra, at) : FP_OWNER_SELF;
		if (owner == FP_OWNER_SELF)
			continue;
		if (owner == FP_OWNER_UNKNOWN || !may_lead_to(w, ra, map, c->ip)) {
			n_unsure++;
			continue;
		}
		n_found++;
		*caller = *c;
		caller->ip = ra;
		caller->sp = at + word;
		caller->how = FRAME_FP_OWNER;
	}
	/* Of two, one is of a call that is over; and a compiler's functions leave such words to
	 * each other. */
	if (n_found == 1 && !record_leads_to_jit(w, c))
		return FP_OWNER_CALLER;
	return n_found || n_unsure ? FP_OWNER_UNKNOWN : FP_OWNER_SELF;
}
