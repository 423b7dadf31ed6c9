/* jit_info.c - call frame information of code without a file, and the step by it.
 *
 * tools/perf/Documentation/jitdump-specification.txt, JIT_CODE_UNWINDING_INFO: an .eh_frame for the
 * one function whose code the next record describes, as if it were placed after the code. Writers
 * do not agree on the distance (perf inject: next multiple of 16; V8: of 8). So only the length of
 * the FDE is used, and its start is taken as the function's. */
#include "functions/functions.h"
#include "unwind/walk.h"

/* A CIE, an FDE, a terminator. */
#define ENTRIES_MAX 8

/* JIT-compiled functions have about ten. Results are not cached. */
#define INSTRUCTIONS_MAX 2048

static bool fde_find(const struct cfi_section *sec, struct cfi_fde *ret)
{
	uint64_t off = 0, next;
	unsigned i, n = 0;

	for (i = 0; i < ENTRIES_MAX && off < sec->size; i++, off = next)
		if (cfi_entry_at(sec, off, &next) == CFI_ENTRY_FDE &&
		    (n++ || !cfi_fde_read(sec, off, ret)))
			return false;
	return n && off >= sec->size;
}

/* Finds the row of an address in the function, and the address's vaddr in the .eh_frame. */
static bool row_find(const struct jit_unwind_info *info, const struct arch *arch, uint64_t ip,
		     struct cfi_row *ret, uint64_t *vaddr)
{
	struct cfi_section sec = {
		.data = info->eh_frame,
		.size = info->size,
		.vaddr = (info->end + 15) & ~(uint64_t)15,
		.is_eh = true,
		.swap = info->swap,
		.address_bytes = arch->word_bytes,
	};
	uint64_t steps = INSTRUCTIONS_MAX;
	struct cfi_fde fde;

	if (ip < info->start || ip >= info->end || !fde_find(&sec, &fde) ||
	    fde.end - fde.start > info->end - info->start ||
	    ip - info->start >= fde.end - fde.start)
		return false;
	*vaddr = fde.start + (ip - info->start);
	return cfi_row_find(&fde, arch, *vaddr, &steps, ret) && !ret->is_signal_frame;
}

bool jit_rule(const struct jit_unwind_info *info, const struct arch *arch, uint64_t ip,
	      struct rule *ret)
{
	struct cfi_row row;
	uint64_t vaddr;

	*ret = (struct rule){.kind = RULE_NO_CFI};
	if (!row_find(info, arch, ip, &row, &vaddr))
		return false;
	rule_pack(&row, arch, vaddr, ret);
	return true;
}

/* Reads a saved register. In the sample's own frame a slot below sp is not filled yet or was
 * already restored, and the register still has its value: see is_given_up() of walk_fast.c. */
static bool saved_word(const struct walk *w, uint64_t at, uint64_t *value)
{
	return walk_word(w, at, w->arch->word_bytes, value) ||
	       (w->next - 1 == w->frames && at < w->memory.sp);
}

static enum unwind_stop step_by(const struct walk *w, struct cursor *c, const struct rule *r)
{
	bool by_fp = r->kind == RULE_FP, pushed = w->arch->ra == w->arch->pc;
	uint64_t cfa = c->bases[r->kind] + (uint64_t)(int64_t)r->cfa_off, ra = c->lr;

	if (!(by_fp ? c->fp_known : c->sp_known))
		return WALK_NEEDS_ALL;
	if (w->arch->word_bytes == 4)
		cfa = (uint32_t)cfa;
	if (c->sp_known && (pushed ? cfa <= c->sp : cfa < c->sp))
		return UNWIND_STOP_LOOP;
	if (r->ra_off ? !walk_word(w, cfa + (uint64_t)(int64_t)r->ra_off, w->arch->word_bytes, &ra)
		      : !c->lr_known)
		return r->ra_off ? walk_read_stop(w, cfa + (uint64_t)(int64_t)r->ra_off)
				 : UNWIND_STOP_NO_REGISTER;
	if (r->fp_off && !saved_word(w, cfa + (uint64_t)(int64_t)r->fp_off, &c->fp))
		c->fp_known = false;
	ra &= w->code_mask;
	if (cfa == c->sp && ra == c->ip)
		return UNWIND_STOP_LOOP;
	c->ip = ra;
	c->sp = cfa;
	c->sp_known = true;
	c->how = FRAME_CFI;
	return ra ? WALK_ON : UNWIND_STOP_END;
}

/* Each frame needs this several times, also as the caller of the previous one; so the last answer
 * is kept. */
static bool is_described(struct walk *w, uint64_t ip)
{
	struct jit_answer *a = &w->jit;
	const struct jitdump *dump;

	if (!a->is_known || a->ip != ip) {
		/* if out of memory, the whole profile will fail anyway */
		a->is_described = !jit_cursor_seek(&w->worker->jitdumps, w->s, &dump, NULL) &&
				  dump &&
				  jitdump_unwind_info(dump, ip, jit_sample_time(w->s), &a->info);
		/* The recorder names functions of V8, of which it says no more. */
		a->is_described = a->is_described && (a->info.code || a->info.size ||
						      a->info.frame_kind != JIT_FRAME_NONE);
		a->is_known = true;
		a->ip = ip;
	}
	return a->is_described;
}

bool jit_bytecode_find(struct walk *w, uint64_t method, uint64_t *start, uint64_t *end)
{
	const struct jitdump *dump;

	return w->is_described && !jit_cursor_seek(&w->worker->jitdumps, w->s, &dump, NULL) &&
	       dump && jitdump_bytecode(dump, method, jit_sample_time(w->s), start, end);
}

bool jit_is_named(struct walk *w, uint64_t ip)
{
	struct func_cursor cursor = {0};
	const struct jitdump *dump;
	const struct func *f;

	if (jit_cursor_seek(&w->worker->jitdumps, w->s, &dump, NULL) || !dump)
		return false;
	f = jitdump_find(dump, ip, jit_sample_time(w->s), &cursor);
	return f && *f->name;
}

bool jit_info_find(struct walk *w, uint64_t ip, struct jit_unwind_info *ret)
{
	if (!w->is_described || !is_described(w, ip))
		return false;
	*ret = w->jit.info;
	return true;
}

enum unwind_stop jit_step(struct walk *w, struct cursor *c)
{
	uint64_t ip = c->ip - c->is_return_address;
	struct jit_unwind_info info;
	struct rule rule;

	if (!jit_info_find(w, ip, &info))
		return UNWIND_STOP_NO_CFI;
	if (info.frame_kind != JIT_FRAME_NONE)
		return hotspot_step(w, c, &info);
	if (!jit_rule(&info, w->arch, ip, &rule))
		return UNWIND_STOP_NO_CFI;
	if (rule.kind == RULE_END)
		return UNWIND_STOP_END;
	return rule.kind <= RULE_FP ? step_by(w, c, &rule) : WALK_NEEDS_ALL;
}

const struct full_rule *jit_full_rule(struct walk *w, uint64_t ip, struct arena *arena,
				      uint64_t *bias)
{
	struct jit_unwind_info info;
	struct cfi_row row;
	struct rule rule;
	uint64_t vaddr;

	if (!jit_info_find(w, ip, &info) || !row_find(&info, w->arch, ip, &row, &vaddr))
		return NULL;
	rule_pack(&row, w->arch, vaddr, &rule);
	*bias = ip - vaddr;
	return rule.kind == RULE_END ? NULL : rule_full(&row, w->arch, FRAME_CFI, arena);
}
