/* fp_owner.c - which frame does the frame record at the frame pointer belong to?
 *
 * Code that keeps no frame pointer leaves the register to its callers (psABI AMD64 3.2.1: rbp
 * belongs to the caller). The record is then that of the nearest caller that keeps one, and a walk
 * that continues from the record skips this caller. Where it is not known which kind of code it is,
 * the words up to the record show it: that caller has left its return address among them, and its
 * call frame information says that its CFA is just above this very record. A stale return address
 * may seem to show the same. But the machine code of its function shows how far below the record
 * the stack pointer was at the call, and so at which stack address the word must be. */
#include <sys/mman.h>

#include "base/text.h"
#include "unwind/return_check.h"

/* Maximum distance of the record from the stack pointer, in words, that is searched. */
#define WORDS_MAX 4096

/* Maximum number of callers between such code and the owner. */
#define CALLERS_MAX 16

/* log2 of the size of the parts of the address space that the filter tells apart. */
#define FILTER_SHIFT 20

static unsigned filter_bit(uint64_t addr)
{
	return (unsigned)((addr >> FILTER_SHIFT) * 0x9e3779b97f4a7c15u >> (64 - CODE_FILTER_BITS));
}

static bool may_be_code(const struct code_filter *f, uint64_t addr)
{
	unsigned bit = filter_bit(addr);

	return f->bits[bit / 64] >> bit % 64 & 1;
}

static bool is_named(const struct map *m, const char *name)
{
	return !strcmp(base_name(m->dso->path), name);
}

/* The filter for words that can be addresses in code of files: one bit for each part of the address
 * space. Nearly all words of a frame are not such addresses. */
static const struct code_filter *code_filter(struct walk *w)
{
	struct code_filter *f = &w->worker->code_filter;
	const struct address_space *space = w->s->space;
	size_t n = address_space_count(space), i;
	uint64_t at;

	if (f->layout == address_space_layout(space) && f->n_maps == n)
		return f;
	*f = (struct code_filter){.layout = address_space_layout(space), .n_maps = n};
	for (i = 0; i < n; i++) {
		const struct map *m = address_space_at(space, i);

		f->is_hotspot |= is_named(m, "libjvm.so");
		if (!(m->prot & PROT_EXEC) || m->dso->kind == DSO_ANON || m->end <= m->start)
			continue;
		if ((m->end - m->start) >> FILTER_SHIFT >> CODE_FILTER_BITS) {
			memset(f->bits, 0xff, sizeof f->bits);
			continue;
		}
		for (at = m->start >> FILTER_SHIFT; at <= (m->end - 1) >> FILTER_SHIFT; at++) {
			unsigned bit = filter_bit(at << FILTER_SHIFT);

			f->bits[bit / 64] |= 1ull << bit % 64;
		}
	}
	return f;
}

/* The frame of the function that `ra` returns to, by its machine code. NULL: not known. */
static const struct code_frame *code_frame_at(struct walk *w, uint64_t ra)
{
	struct known_frame *k = &w->worker->frames[hash_u64(ra) % FRAMES_KNOWN];
	const struct map *map = address_space_find(w->s->space, ra - 1);
	struct code_function fn;
	struct cfi_module *cm;
	uint64_t vaddr;

	if (!map)
		return NULL;
	if (k->map != map->id || k->ra != ra) {
		cm = walk_module(w, map, ra - 1, &vaddr);
		*k = (struct known_frame){.map = map->id, .ra = ra};
		k->is_known = cm && (cfi_module_fde_frame(cm, vaddr, &k->frame) ||
				     cfi_module_code_frame(cm, vaddr, &fn, &k->frame));
	}
	return k->is_known ? &k->frame : NULL;
}

static enum fp_owner owner_of(const struct walk *w, const struct cursor *c,
			      const struct code_frame *f, uint64_t at)
{
	const int32_t word = w->arch->word_bytes;

	if (f->fp_holds != CODE_FP_FRAME || f->sp < 0 || f->is_realigned)
		return FP_OWNER_UNKNOWN;
	return f->fp == 2 * word && c->fp + (uint32_t)f->fp - (uint32_t)f->sp == at + (uint32_t)word
		       ? FP_OWNER_CALLER
		       : FP_OWNER_SELF;
}

enum fp_owner fp_owner_by_code(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at)
{
	const struct code_frame *f = code_frame_at(w, ra);

	return f ? owner_of(w, c, f, at) : FP_OWNER_UNKNOWN;
}

/* True if the call before `ra` leads to the function that contains `ip`, or does not say where it
 * leads. */
static bool may_have_called(struct walk *w, uint64_t ra, uint64_t ip)
{
	uint64_t target = called_function(w, ra), vaddr, at;
	const struct map *map = address_space_find(w->s->space, ip);
	struct cfi_module *cm = map ? walk_module(w, map, ip, &vaddr) : NULL;
	struct code_function fn;
	struct code_frame f;
	struct cfi_fde fde;

	if (!target)
		return true;
	at = target - (ip - vaddr);
	if (cm && cfi_module_fde(cm, vaddr, &fde))
		return at >= fde.start && at < fde.end;
	return cm && cfi_module_code_frame(cm, vaddr, &fn, &f) && at == fn.start;
}

/* One step from the return address `ra` at stack address *at to its caller, by call frame
 * information or machine code. If *on is set on return, continue at the new *at; else the result
 * says what is known. */
static enum fp_owner step_out(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t *at,
			      bool *on)
{
	const unsigned word = w->arch->word_bytes;
	const int32_t record = 2 * (int32_t)word;
	struct rule_entry own;
	struct rule r = walk_rule(w, ra - 1, &own)->rule;
	const struct code_frame *f;
	uint64_t cfa = *at + word;

	*on = false;
	if (r.kind == RULE_FP && r.cfa_off == record && r.fp_off == -record)
		return fp_owner_by_code(w, c, ra, *at);
	if (rule_is_missing((enum rule_kind)r.kind)) {
		f = code_frame_at(w, ra);
		if (!f || f->ra_lost)
			return FP_OWNER_UNKNOWN;
		if (f->fp_holds != CODE_FP_CALLER || f->sp < 0 || f->saved_fp)
			return f->fp_holds == CODE_FP_OTHER ? FP_OWNER_SELF
							    : owner_of(w, c, f, *at);
		cfa += (uint32_t)f->sp;
	} else if (r.kind == RULE_SP) {
		cfa += (uint64_t)(int64_t)r.cfa_off;
		/* It saves fp, but not as part of a frame record; Go's functions do. */
		if (r.fp_off && r.how != FRAME_GO_TABLE)
			return FP_OWNER_SELF;
		if (r.fp_off)
			return r.fp_off == -record && cfa == c->fp + (uint64_t)record
				       ? FP_OWNER_CALLER
				       : FP_OWNER_SELF;
	} else {
		return FP_OWNER_SELF;
	}
	*on = cfa > *at + word && cfa <= c->fp;
	*at = cfa - word;
	return FP_OWNER_SELF;
}

/* Follows callers from the return address `ra` at `at`, as long as they do not use the frame
 * pointer, to the owner of the record at c->fp, and sets *owner_ip to an address in that owner.
 * FP_OWNER_SELF: they do not lead there. FP_OWNER_UNKNOWN: their caller is code without a file,
 * which may be the owner. */
static enum fp_owner follow(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at,
			    uint64_t *owner_ip)
{
	unsigned steps;
	bool on = true;

	for (steps = 0; steps < CALLERS_MAX && return_check(w, ra) == RETURN_CALL; steps++) {
		enum fp_owner owner = step_out(w, c, ra, &at, &on);
		uint64_t ip = ra - 1;

		*owner_ip = ip;
		if (!on)
			return owner;
		if (!walk_word(w, at, w->arch->word_bytes, &ra) || !may_have_called(w, ra, ip))
			return FP_OWNER_SELF;
	}
	return steps && return_check(w, ra) == RETURN_MAP ? FP_OWNER_UNKNOWN : FP_OWNER_SELF;
}

/* True if the call before `ra` can have led to the code at `ip`, in `map`. Not so if it names a
 * function with call frame information, which that code does not have; nor, for code of a file, if
 * it names another function. */
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

/* True if the record's return address follows a call that names the function at `ip`. Otherwise the
 * record may be the code's own, and the function one that it called earlier and that had its record
 * at the same place. */
static bool record_is_of(struct walk *w, const struct cursor *c, uint64_t ip)
{
	uint64_t ra;

	if (!walk_word(w, c->fp + w->arch->word_bytes, w->arch->word_bytes, &ra))
		return false;
	ra &= w->code_mask;
	return return_check(w, ra) == RETURN_CALL && called_function(w, ra) &&
	       may_have_called(w, ra, ip);
}

/* True if the code is in a file, and the record leads to code without a file. JIT compilers call
 * their builtins in this way, and these keep frame pointers: V8's are in libnode. */
static bool is_called_by_jit(struct walk *w, const struct cursor *c, const struct map *map)
{
	uint64_t ra;

	return map && map->dso->kind != DSO_ANON &&
	       walk_word(w, c->fp + w->arch->word_bytes, w->arch->word_bytes, &ra) &&
	       return_check(w, ra & w->code_mask) == RETURN_MAP;
}

/* Searches the words up to the record for callers in files. */
static enum fp_owner find_in_files(struct walk *w, const struct cursor *c, const struct map *map,
				   const struct code_filter *filter, struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	unsigned n_owners = 0, n_found = 0, n_unsure = 0, n_jit = 0, i;
	uint64_t at, ra, owner_ip = 0, ip = 0;
	bool is_leaf = !c->is_return_address && map && map->dso->kind != DSO_ANON;

	for (i = 0, at = c->sp; at < c->fp && i < WORDS_MAX; i++, at += word) {
		enum fp_owner owner;

		if (!walk_word(w, at, word, &ra))
			break;
		n_jit += is_leaf && return_check(w, ra) == RETURN_MAP;
		owner = may_be_code(filter, ra) ? follow(w, c, ra, at, &ip) : FP_OWNER_SELF;
		n_owners += owner == FP_OWNER_CALLER;
		if (owner == FP_OWNER_SELF || !may_lead_to(w, ra, map, c->ip))
			continue;
		n_unsure += owner == FP_OWNER_UNKNOWN;
		if (owner == FP_OWNER_UNKNOWN)
			continue;
		n_found++;
		owner_ip = ip;
		*caller = *c;
		caller->ip = ra;
		caller->sp = at + word;
		caller->how = FRAME_FP_OWNER;
	}
	/* Of two candidates one is stale. */
	if (n_found == 1 && !n_unsure && record_is_of(w, c, owner_ip))
		return FP_OWNER_CALLER;
	return ((n_owners || n_unsure) && !is_called_by_jit(w, c, map)) || n_jit ? FP_OWNER_UNKNOWN
										 : FP_OWNER_SELF;
}

enum fp_owner fp_owner_find(struct walk *w, const struct cursor *c, const struct map *map,
			    struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	const struct code_filter *filter;
	enum fp_owner owner;

	/* With a link register, functions save the caller's registers at varying places. */
	if (w->arch->ra != w->arch->pc || !w->arch->code_step || !c->fp_known || !c->sp_known ||
	    c->fp % word || c->sp % word || c->fp <= c->sp)
		return FP_OWNER_SELF;
	filter = code_filter(w);
	if (map && map->dso->kind == DSO_ANON) {
		owner = jit_owner_find(w, c, filter->is_hotspot, caller);
		if (owner != FP_OWNER_SELF || filter->is_hotspot)
			return owner;
	}
	return find_in_files(w, c, map, filter, caller);
}
