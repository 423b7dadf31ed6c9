/* code_step.c - the step by the machine code of a function.
 *
 * The start of the function is known from symbols, or from calls in the code of its module. */
#include "base/hash.h"
#include "reader/reader.h"
#include "unwind/return_check.h"

/* How many bytes from the start of a function are searched for a jump to another one. */
#define JUMP_BYTES_MAX 4096

/* How many words above the stack pointer are searched for a frame record. */
#define RECORD_WORDS_MAX 64

/* Maximum number of instructions that are followed to the end of a function. */
#define LEAVE_STEPS_MAX 512

/* Limits on the paths that are followed from the start of a called function: runs of instructions
 * without a jump, and instructions. */
#define RUNS_MAX     32
#define GO_STEPS_MAX 1024

/* Maximum number of bytes by which an alignment lowers the stack pointer. */
#define REALIGNED_BYTES_MAX 4096

/* Maximum number of argument words that a function may pop when it returns. */
#define POPPED_WORDS_MAX 64

/* Functions of V8 pop their arguments. `sp` is where the stack pointer would be if they did not:
 * after they have returned c->sp is above it, and in a caller to which they have not returned yet
 * it is below. Returns true if arguments can be the reason for the difference. If c->sp is below,
 * no return address may lie between the two, as there would be if a frame had been skipped. */
static bool callee_popped(struct walk *w, const struct cursor *c, uint64_t sp)
{
	unsigned word = w->arch->word_bytes;
	bool above = c->sp > sp;
	uint64_t at, v, words = (above ? c->sp - sp : sp - c->sp) / word;

	if (w->arch->ra != w->arch->pc || words > POPPED_WORDS_MAX || (sp - c->sp) % word)
		return false;
	if (above)
		return c->sp <= c->fp && (c->how == FRAME_SAMPLE || c->how == FRAME_CODE ||
					  c->how == FRAME_FRAME_POINTER);
	if (c->how != FRAME_CODE && c->how != FRAME_FRAME_POINTER)
		return false;
	for (at = c->sp; at < sp; at += word)
		if (!walk_word(w, at, word, &v) || return_check(w, v) == RETURN_CALL)
			return false;
	return true;
}

/* The CFA from the copy of the stack pointer that is kept where it is aligned. */
static bool cfa_by_copy(const struct walk *w, const struct cursor *c, const struct code_frame *f,
			uint64_t *cfa)
{
	uint64_t sp;

	if (!f->copy || f->copy_reg || !c->sp_known ||
	    !walk_word(w, c->sp + (uint64_t)(int64_t)f->copy_off, w->arch->word_bytes, &sp))
		return false;
	*cfa = sp + (uint32_t)f->copy;
	return sp > c->sp;
}

/* The CFA from a register. Its value is known in the sample's own frame, and in that of its caller
 * if the sample's own code does not change the register. */
static bool cfa_by_register(struct walk *w, const struct cursor *c, const struct code_frame *f,
			    uint64_t *cfa)
{
	struct cfi_module *cm;
	uint64_t vaddr, sp;

	if (c->is_return_address) {
		cm = w->next - w->frames == 2 && w->frames->map
			     ? walk_module(w, w->frames->map, w->frames->ip, &vaddr)
			     : NULL;
		if (!cm || !code_keeps(cm, vaddr, f->kept_reg))
			return false;
	}
	if (!c->sp_known || !arch_reg(w->arch, &w->s->user_regs, (uint8_t)(f->kept_reg - 1), &sp))
		return false;
	*cfa = sp + (uint32_t)f->kept;
	return sp > c->sp;
}

/* The CFA from both registers if both are known. The stack pointer may be wrong after a guess. */
static bool cfa_of(struct walk *w, const struct cursor *c, const struct code_frame *f,
		   uint64_t *cfa)
{
	bool by_sp = f->sp >= 0 && c->sp_known;
	bool by_fp = f->fp_holds == CODE_FP_FRAME && c->fp_known;

	if (!by_sp && !by_fp)
		return f->kept_reg ? cfa_by_register(w, c, f, cfa) : cfa_by_copy(w, c, f, cfa);
	*cfa = by_fp ? c->fp + (uint32_t)f->fp : c->sp + (uint32_t)f->sp;
	if (by_sp && c->sp + (uint32_t)f->sp != *cfa)
		return callee_popped(w, c, *cfa - (uint32_t)f->sp);
	return by_sp || (by_fp && (!c->sp_known || *cfa > c->sp));
}

/* Finds the return address of a frame. Returns WALK_ON, or why it is not known. */
static enum unwind_stop return_of(const struct walk *w, const struct cursor *c,
				  const struct code_frame *f, uint64_t cfa, uint64_t *ra)
{
	uint64_t at = cfa - (uint32_t)f->saved_ra;

	*ra = c->lr;
	if (!f->saved_ra)
		return c->lr_known && !c->is_return_address ? WALK_ON : UNWIND_STOP_NO_CFI;
	if (walk_word(w, at, w->arch->word_bytes, ra))
		return WALK_ON;
	return memory_is_cut_before(&w->memory, at) ? UNWIND_STOP_TRUNCATED_STACK
						    : UNWIND_STOP_NO_CFI;
}

/* True if the code at `ip` shows a frame with a frame pointer, or nothing. Does not depend on what
 * the fallback has cached for `ip`. */
static bool goes_by_fp(struct walk *w, uint64_t ip)
{
	struct rule_entry own, *e = walk_rule(w, ip, &own);
	enum rule_kind kind = (enum rule_kind)e->rule.kind;
	const struct map *map = walk_map(w, e);
	struct code_function fn;
	struct code_frame frame;
	struct cfi_module *cm;
	uint64_t vaddr;

	if (!rule_is_missing(kind))
		return kind == RULE_FP;
	if (map->dso->kind == DSO_ANON)
		return jit_goes_by_fp(w, ip);
	cm = walk_module(w, map, ip, &vaddr);
	return !cm || !cfi_module_code_frame(cm, vaddr, &fn, &frame) ||
	       frame.fp_holds == CODE_FP_FRAME;
}

/* The return address is in a register, whose value is known only in the sample's own frame. The
 * number of argument words above the stack pointer is not known, so the caller must be one that is
 * found by its frame pointer. */
static bool return_in_register(struct walk *w, const struct cursor *c, const struct code_frame *f,
			       struct cursor *ret)
{
	if (c->how != FRAME_SAMPLE || f->fp_holds != CODE_FP_CALLER || !c->fp_known ||
	    !arch_reg(w->arch, &w->s->user_regs, (uint8_t)(f->ra_reg - 1), &ret->ip))
		return false;
	ret->how = FRAME_CODE;
	return goes_by_fp(w, ret->ip - 1);
}

/* Finds the frame record: the first one on the stack whose saved frame pointer equals the register,
 * which already has the caller's value. */
static bool find_record(struct walk *w, const struct cursor *c, struct cursor *ret)
{
	unsigned word = w->arch->word_bytes, i;
	uint64_t at = c->sp, fp;

	if (c->how != FRAME_SAMPLE || !c->fp_known)
		return false;
	for (i = 0; i < RECORD_WORDS_MAX; i++, at += word) {
		if (!walk_word(w, at, word, &fp) || !walk_word(w, at + word, word, &ret->ip))
			return false;
		if (fp == c->fp && return_check(w, ret->ip) != RETURN_NONE)
			break;
	}
	ret->sp = at + 2 * word;
	ret->sp_known = true;
	ret->how = FRAME_CODE;
	return i < RECORD_WORDS_MAX && ret->sp <= c->fp;
}

/* The CFA that was saved in the frame, or that is in a register of the sample's own frame. Where
 * the stack was realigned, the return address at *cfa is a copy. */
static bool realigned_cfa(const struct walk *w, const struct cursor *c, const struct code_frame *f,
			  uint64_t *cfa)
{
	uint64_t kept, from = f->is_realigned ? *cfa : c->sp;

	/* From 8 on, instructions and DWARF number registers in the same way (psABI AMD64, figure
	 * 3.36). */
	if ((!f->saved_cfa ||
	     !walk_word(w, *cfa - (uint32_t)f->saved_cfa, w->arch->word_bytes, &kept)) &&
	    (c->how != FRAME_SAMPLE || f->cfa_reg <= 8 ||
	     !arch_reg(w->arch, &w->s->user_regs, (uint8_t)(f->cfa_reg - 1), &kept)))
		return false;
	*cfa = kept;
	return kept >= from && kept - from <= REALIGNED_BYTES_MAX;
}

/* True between the alignment of the stack pointer and the copying of the return address. */
static bool is_being_aligned(const struct code_frame *f)
{
	return f->cfa_reg && f->sp < 0 && !f->is_realigned && f->fp_holds == CODE_FP_CALLER;
}

enum unwind_stop code_caller(struct walk *w, const struct cursor *c, const struct code_frame *f,
			     struct cursor *ret)
{
	enum unwind_stop stop;

	*ret = *c;
	if (f->ra_lost)
		return UNWIND_STOP_NO_CFI;
	if (f->ra_reg)
		return return_in_register(w, c, f, ret) ? WALK_ON : UNWIND_STOP_NO_CFI;
	if (f->record)
		return find_record(w, c, ret) ? WALK_ON : UNWIND_STOP_NO_CFI;
	if (is_being_aligned(f) ? !realigned_cfa(w, c, f, &ret->sp) : !cfa_of(w, c, f, &ret->sp))
		return UNWIND_STOP_NO_CFI;
	ret->sp_known = true;
	stop = return_of(w, c, f, ret->sp, &ret->ip);
	ret->ip &= w->code_mask;
	if (f->fp_holds != CODE_FP_CALLER)
		ret->fp_known = f->saved_fp && walk_word(w, ret->sp - (uint32_t)f->saved_fp,
							 w->arch->word_bytes, &ret->fp);
	ret->how = FRAME_CODE;
	if (f->is_realigned && stop == WALK_ON && !realigned_cfa(w, c, f, &ret->sp))
		return UNWIND_STOP_NO_CFI;
	return stop;
}

/* True if the call before `ra` can lead to the function at `start`: its target is not known, is
 * `start`, or is code that jumps there. */
static bool leads_to(struct walk *w, uint64_t start, uint64_t ra)
{
	uint64_t target = called_function(w, ra), vaddr;
	const struct map *map = address_space_find(w->s->space, target);
	size_t n = JUMP_BYTES_MAX;
	struct cfi_module *cm;
	const uint8_t *code;

	if (!target || target == start)
		return true;
	cm = map ? walk_module(w, map, target, &vaddr) : NULL;
	code = cm ? cfi_module_code(cm, vaddr, &n) : NULL;
	return code && w->arch->jumps_to(code, n, target, start);
}

/* True if the frame pointer points to a frame record: {caller's frame pointer, return address}. */
static bool has_record(const struct walk *w, const struct code_frame *f)
{
	const int32_t word = w->arch->word_bytes;

	return f->fp_holds == CODE_FP_FRAME && f->fp == 2 * word && f->saved_fp == 2 * word &&
	       f->saved_ra == word;
}

/* True if the return address `ra` can belong to the caller of the frame *c, whose code is *k. If
 * the start of its function is certain, any called code may have jumped to it; the same is true for
 * code that has made a frame record and called another function. What a call in code without a file
 * leads to is not known. Otherwise the call must lead to the function. */
static bool may_be_caller(struct walk *w, const struct cursor *c, const struct known_code *k,
			  uint64_t ra)
{
	const struct map *map = address_space_find(w->s->space, ra - 1);

	if (!map || !may_be_return(w, ra))
		return false;
	if (c->how != FRAME_LINK_REGISTER && (k->fn.is_sure || map->dso->kind == DSO_ANON ||
					      (c->is_return_address && has_record(w, &k->frame))))
		return true;
	return map->dso->kind != DSO_ANON && leads_to(w, k->fn.start + k->bias, ra);
}

bool code_insn_at(const struct cfi_module *cm, uint64_t vaddr, struct code_frame *frame,
		  struct code_insn *ret)
{
	size_t n = INSN_BYTES_MAX;
	const uint8_t *code = cfi_module_code(cm, vaddr, &n);

	return code && cfi_module_arch(cm)->code_step(code, n, frame, ret);
}

bool leaves_by_fp(struct walk *w, const struct map *map, uint64_t ip)
{
	const int32_t word = w->arch->word_bytes;
	struct code_frame f = {.sp = -1,
			       .fp = 2 * word,
			       .fp_holds = CODE_FP_FRAME,
			       .saved_fp = 2 * word,
			       .saved_ra = word};
	struct code_frame at_branch = f;
	struct code_insn in = {0};
	struct cfi_module *cm;
	uint64_t vaddr, branch = 0;
	unsigned i;

	if (!w->arch->code_step || w->arch->ra != w->arch->pc)
		return false;
	cm = walk_module(w, map, ip, &vaddr);
	for (i = 0; cm && i < LEAVE_STEPS_MAX && f.fp_holds == CODE_FP_FRAME; i++) {
		if (!code_insn_at(cm, vaddr, &f, &in))
			return false;
		if (in.way == CODE_BRANCH) {
			branch = vaddr + (uint64_t)in.target;
			at_branch = f;
		}
		if (in.way == CODE_END && branch) {
			vaddr = branch;
			f = at_branch;
			branch = 0;
		} else if (in.way <= CODE_JUMP) {
			vaddr += in.way == CODE_JUMP ? (uint64_t)in.target : in.bytes;
		} else {
			return false;
		}
	}
	return f.fp_holds == CODE_FP_CALLER && f.sp == word;
}

/* Returns how many there are. */
static uint64_t run_added(uint64_t *runs, uint64_t n, uint64_t at)
{
	for (uint64_t i = 0; i < n; i++)
		if (runs[i] == at)
			return n;
	runs[n] = at;
	return n + 1;
}

/* True if a path through the code that begins at `start` gets to `ip`, perhaps in the middle of
 * another function: assembly code shares endings so. */
static bool gets_to(struct walk *w, const struct map *map, uint64_t start, uint64_t ip)
{
	uint64_t runs[RUNS_MAX], at, end, run = 0, n = 1, steps = 0;
	struct code_frame f = {0};
	struct code_insn in;
	struct cfi_module *cm;

	if (!start || start < map->start || start >= map->end)
		return false;
	cm = walk_module(w, map, ip, &end);
	runs[0] = end - ip + start;
	for (; cm && run < n; run++)
		for (at = runs[run]; steps++ < GO_STEPS_MAX && code_insn_at(cm, at, &f, &in);
		     at += in.bytes) {
			if (at == end)
				return true;
			if ((in.way == CODE_BRANCH || in.way == CODE_JUMP) && n < RUNS_MAX)
				n = run_added(runs, n, at + (uint64_t)in.target);
			if (in.way >= CODE_JUMP)
				break;
		}
	return false;
}

/* may_be_caller() for code whose function is not known. */
static bool follows_call(struct walk *w, const struct map *map, uint64_t ip,
			 const struct cursor *caller)
{
	enum return_check check = return_check(w, caller->ip);

	return check == RETURN_MAP ||
	       (check == RETURN_CALL &&
		(may_have_called_file(w, map, ip, caller->sp - w->arch->word_bytes, caller->ip) ||
		 gets_to(w, map, called_function(w, caller->ip), ip)));
}

/* True if the CFA cannot be found from the frame: the stack pointer was aligned. */
static bool is_lost(const struct code_frame *f)
{
	return f->sp < 0 && f->fp_holds != CODE_FP_FRAME && !f->ra_lost && !f->ra_reg &&
	       !f->cfa_reg && !f->is_realigned && !f->record && (!f->copy || f->copy_reg);
}

static const struct known_code *known_code(struct walk *w, const struct map *map,
					   const struct cursor *c)
{
	uint64_t ip = c->ip - c->is_return_address, vaddr = 0;
	struct known_code *k = &w->worker->codes[hash_u64(ip) % CODES_KNOWN];
	struct cfi_module *cm;

	if (k->map != map->id || k->ip != ip) {
		cm = walk_module(w, map, ip, &vaddr);
		k->fn = (struct code_function){0};
		k->is_known = cm && cfi_module_code_frame(cm, vaddr, &k->fn, &k->frame);
		k->ahead = CODE_AHEAD_UNKNOWN;
		if (cm && (k->is_known ? is_lost(&k->frame) : !k->fn.is_named && !k->fn.is_part))
			k->ahead = code_ahead(cm, vaddr + c->is_return_address,
					      c->is_return_address, &k->frame);
		k->is_known |= k->ahead == CODE_AHEAD_KNOWN;
		k->bias = ip - vaddr;
		k->ip = ip;
		k->map = map->id;
	}
	return k;
}

bool leaves_by_switch(struct walk *w, const struct map *map, const struct cursor *c)
{
	return w->arch->code_step && known_code(w, map, c)->ahead == CODE_AHEAD_SWITCH;
}

bool has_callers_fp(struct walk *w, const struct map *map, const struct cursor *c)
{
	const struct known_code *k = w->arch->code_step ? known_code(w, map, c) : NULL;

	return k && k->is_known && k->frame.fp_holds == CODE_FP_CALLER && k->frame.sp < 0;
}

enum unwind_stop code_step(struct walk *w, struct cursor *c, const struct map *map)
{
	uint64_t ip = c->ip - c->is_return_address;
	const struct known_code *k;
	struct cursor caller;
	enum unwind_stop stop;

	if (!w->arch->code_step)
		return UNWIND_STOP_NO_CFI;
	k = known_code(w, map, c);
	if (!k->is_known)
		return UNWIND_STOP_NO_CFI;
	/* The cache does not check where calls lead, as follows_call() does. */
	if (k->ahead != CODE_AHEAD_KNOWN && k->fn.is_named &&
	    ip - k->bias - k->fn.start < k->fn.end - k->fn.start)
		fallback_note_code(w, ip, &k->frame);
	stop = code_caller(w, c, &k->frame, &caller);
	if (stop != WALK_ON)
		return stop;
	if (k->ahead == CODE_AHEAD_KNOWN ? !follows_call(w, map, ip, &caller)
					 : !may_be_caller(w, c, k, caller.ip))
		return UNWIND_STOP_NO_CFI;
	*c = caller;
	return WALK_ON;
}
