/* code_x86_64.c - what x86-64 instructions do to a frame (Intel SDM volume 2). */
#include "unwind/code.h"

#include "unwind/insn_writes.h"

enum { RSP = 4, RBP = 5, WORD = 8 };

/* ---- effects on the frame ----------------------------------------------------------------- */

enum { UNKNOWN = -1 };

/* psABI AMD64 3.6.2, figure 3.36 */
static unsigned dwarf_number(unsigned reg)
{
	static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};

	return reg < sizeof numbers ? numbers[reg] : reg;
}

static void sp_set(struct code_frame *f, int64_t sp)
{
	f->sp = sp <= INT32_MAX ? (int32_t)sp : UNKNOWN;
	if (sp < WORD)
		f->sp = CODE_SP_WRONG;
}

/* Functions that pop their arguments, or push some for a function that they jump to, keep the
 * return address in a register meanwhile (V8's builtins). Where it is pushed again, the new CFA is
 * just above it. */
static void push_return(struct code_frame *f)
{
	if (f->fp_holds == CODE_FP_FRAME)
		code_fp_set_other(f);
	f->saved_fp = 0;
	f->sp = f->saved_ra = WORD;
	f->ra_reg = 0;
}

static void pop_return(struct code_frame *f, unsigned reg)
{
	f->sp = UNKNOWN;
	f->saved_ra = 0;
	f->ra_reg = (uint8_t)(dwarf_number(reg) + 1);
}

static bool holds_return(const struct code_frame *f, unsigned reg)
{
	return f->ra_reg && reg < REG_RIP && dwarf_number(reg) + 1 == f->ra_reg;
}

static void push(struct code_frame *f, const struct insn_x86_64 *in, unsigned reg)
{
	if (in->is_word) {
		f->sp = UNKNOWN;
		return;
	}
	if (holds_return(f, reg)) {
		push_return(f);
		return;
	}
	if (f->sp == UNKNOWN)
		return;
	sp_set(f, (int64_t)f->sp + WORD);
	if (reg == RBP && f->fp_holds == CODE_FP_CALLER)
		f->saved_fp = f->sp;
}

/* Loads rbp from the stack word at `from`. */
static void fp_load(struct code_frame *f, int64_t from)
{
	if (f->saved_fp && from == f->saved_fp) {
		f->fp_holds = CODE_FP_CALLER;
		f->fp = f->saved_fp = 0;
	} else {
		code_fp_set_other(f);
	}
}

static void pop(struct code_frame *f, const struct insn_x86_64 *in, unsigned reg)
{
	if (reg == RBP)
		fp_load(f, f->sp);
	if (holds_return(f, reg))
		f->sp = CODE_SP_WRONG;
	else if (f->sp == WORD && f->saved_ra == WORD && reg < REG_RIP && reg != RSP &&
		 reg != RBP && !in->is_word)
		pop_return(f, reg);
	else if (reg == RSP || in->is_word)
		f->sp = UNKNOWN;
	else if (f->sp != UNKNOWN)
		sp_set(f, (int64_t)f->sp - WORD);
}

/* How far below the CFA the address of a memory operand is, or UNKNOWN. */
static int64_t address_place(const struct code_frame *f, const struct insn_x86_64 *in)
{
	if (in->index != REG_NONE)
		return UNKNOWN;
	if (in->base == RSP && f->sp != UNKNOWN)
		return (int64_t)f->sp - in->disp;
	if (in->base == RBP && f->fp_holds == CODE_FP_FRAME)
		return (int64_t)f->fp - in->disp;
	return UNKNOWN;
}

/* How far below the CFA a register points, or UNKNOWN. */
static int64_t register_place(const struct code_frame *f, unsigned reg)
{
	if (reg == RSP)
		return f->sp;
	return reg == RBP && f->fp_holds == CODE_FP_FRAME ? f->fp : UNKNOWN;
}

static void set_place(struct code_frame *f, unsigned reg, int64_t place)
{
	if (reg == RBP)
		code_fp_set_frame(f, place);
	else if (place == UNKNOWN)
		f->sp = UNKNOWN;
	else
		sp_set(f, place);
}

/* Mono fills with this: LEA 0(%rbp), %rbp. */
static bool is_idle(const struct insn_x86_64 *in)
{
	return in->op == 0x8d && !in->is_reg && in->reg == RBP && in->base == RBP &&
	       in->index == REG_NONE && !in->disp;
}

/* 64-bit MOV and LEA that involve rsp or rbp. Returns false for other instructions. */
static bool move(struct code_frame *f, const struct insn_x86_64 *in)
{
	unsigned to = in->op == 0x89 ? in->rm : in->reg, from = in->op == 0x89 ? in->reg : in->rm;
	int64_t place;

	if (in->map != MAP_ONE_BYTE || !(in->rex & 8))
		return false;
	if (is_idle(in))
		return true;
	if (in->op == 0x8d && !in->is_reg && (to == RSP || to == RBP)) {
		set_place(f, to, address_place(f, in));
		return true;
	}
	if (in->op != 0x89 && in->op != 0x8b)
		return false;
	if (in->is_reg) {
		if (to != RSP && to != RBP)
			return false;
		set_place(f, to, register_place(f, from));
		return true;
	}
	place = address_place(f, in);
	if (in->op == 0x8b && in->reg == RBP) {
		fp_load(f, place);
		return true;
	}
	if (in->op == 0x89 && in->reg == RBP && f->fp_holds == CODE_FP_CALLER && place > WORD &&
	    place <= INT32_MAX && !f->saved_fp) {
		f->saved_fp = (int32_t)place;
		return true;
	}
	return false;
}

/* ADD and SUB of a constant to rsp. */
static bool adjust(struct code_frame *f, const struct insn_x86_64 *in)
{
	unsigned ext = in->reg & 7;

	if (in->map != MAP_ONE_BYTE || (in->op != 0x81 && in->op != 0x83) || !in->is_reg ||
	    in->rm != RSP || !(in->rex & 8) || (ext != 0 && ext != 5))
		return false;
	if (f->sp != UNKNOWN)
		sp_set(f, ext ? (int64_t)f->sp + in->imm : (int64_t)f->sp - in->imm);
	return true;
}

/* PUSH, POP and LEAVE. */
static bool stack(struct code_frame *f, const struct insn_x86_64 *in)
{
	unsigned reg = (in->op & 7u) | (in->rex & 1u) << 3;

	if (in->map == MAP_0F && !in->is_vex && (in->op & 0xf6) == 0xa0) { /* fs, gs */
		if (in->op & 1)
			pop(f, in, REG_NONE);
		else
			push(f, in, REG_NONE);
		return true;
	}
	if (in->map != MAP_ONE_BYTE)
		return false;
	if (in->op >> 3 == 0x50 >> 3) {
		push(f, in, reg);
	} else if (in->op >> 3 == 0x58 >> 3) {
		pop(f, in, reg);
	} else if (in->op == 0x68 || in->op == 0x6a || in->op == 0x9c ||
		   (in->op == 0xff && (in->reg & 7) == 6)) {
		push(f, in, in->op == 0xff && in->is_reg ? in->rm : REG_NONE);
	} else if (in->op == 0x8f || in->op == 0x9d) {
		pop(f, in, in->op == 0x8f && in->is_reg ? in->rm : REG_NONE);
	} else if (in->op == 0xc9) {
		f->sp = f->fp_holds == CODE_FP_FRAME ? f->fp : UNKNOWN;
		pop(f, in, RBP);
	} else {
		return false;
	}
	return true;
}

/* True if it accesses memory through the frame pointer that the function was entered with. */
static bool uses_callers_fp(const struct code_frame *f, const struct insn_x86_64 *in)
{
	bool is_nop = in->map == MAP_0F && in->op == 0x1f;

	return in->has_modrm && !in->is_reg && in->base == RBP && !is_nop &&
	       f->fp_holds == CODE_FP_CALLER;
}

/* True if the instruction writes the register `dwarf` (DWARF number, plus 1; 0: none). */
static bool writes(const struct insn_x86_64 *in, unsigned dwarf)
{
	unsigned reg = 0;

	if (!dwarf)
		return false;
	while (reg < REG_RIP && dwarf_number(reg) + 1 != dwarf)
		reg++;
	return reg < REG_RIP && (insn_writes(in, reg) || insn_writes_besides(in) >> reg & 1);
}

/* ---- copies of the stack pointer ---------------------------------------------------------- */

/* V8's builtins call C like this: mov %rsp,%r10; sub $8,%rsp; and $-16,%rsp; mov %r10,(%rsp); ...;
 * call; ...; mov (%rsp),%rsp. */

static void drop_copy(struct code_frame *f)
{
	f->copy = f->copy_off = f->copy_reg = 0;
}

static bool is_move(const struct insn_x86_64 *in)
{
	return in->map == MAP_ONE_BYTE && in->rex & 8 && (in->op == 0x89 || in->op == 0x8b);
}

static bool is_at_sp(const struct insn_x86_64 *in)
{
	return !in->is_reg && in->base == RSP && in->index == REG_NONE;
}

/* mov %rsp,REGISTER */
static bool copies_sp(const struct insn_x86_64 *in)
{
	return is_move(in) && in->is_reg && (in->op == 0x89 ? in->reg : in->rm) == RSP;
}

/* AND or SUB of an immediate to rsp: aligns it or makes room. */
static bool moves_sp(const struct insn_x86_64 *in)
{
	unsigned ext = in->reg & 7;

	return in->map == MAP_ONE_BYTE && (in->op == 0x81 || in->op == 0x83) && in->is_reg &&
	       in->rm == RSP && in->rex & 8 && (ext == 4 || ext == 5);
}

/* The effect of the instruction on the copy. Returns true if it sets the stack pointer to the
 * copy. */
static bool follow_copy(struct code_frame *f, const struct insn_x86_64 *in)
{
	unsigned to = in->op == 0x89 ? in->rm : in->reg;

	if (copies_sp(in)) {
		drop_copy(f);
		if (f->sp > 0 && to != RSP && to != RBP) {
			f->copy = f->sp;
			f->copy_reg = (uint8_t)(to + 1);
		}
		return false;
	}
	if (f->copy_reg) {
		if (is_move(in) && in->op == 0x89 && is_at_sp(in) && in->reg + 1 == f->copy_reg) {
			f->copy_reg = 0;
			f->copy_off = in->disp;
		} else if (!moves_sp(in)) {
			drop_copy(f);
		}
		return false;
	}
	return f->copy && is_move(in) && in->op == 0x8b && is_at_sp(in) && in->reg == RSP &&
	       in->disp == f->copy_off;
}

/* HotSpot's adapters move the return address like this: mov (%rsp),%rax; mov %rsp,%r11; sub
 * $16,%rsp; and $-16,%rsp; push %rax. Once the stack pointer is not known, the return address is
 * known to be in the register only. `before`: the frame before the instruction. */
static void follow_return_copy(struct code_frame *f, const struct code_frame *before,
			       const struct insn_x86_64 *in)
{
	bool loads = is_move(in) && in->op == 0x8b && is_at_sp(in) && in->reg != RSP &&
		     in->reg != RBP && before->saved_ra == WORD &&
		     address_place(before, in) == WORD;

	f->ra_copy = before->ra_copy;
	if (!f->ra_copy || (!copies_sp(in) && !moves_sp(in)) || insn_writes(in, f->ra_copy - 1u))
		f->ra_copy = 0;
	if (loads)
		f->ra_copy = (uint8_t)(in->reg + 1);
	if (!f->ra_copy || f->sp != UNKNOWN || before->sp == UNKNOWN)
		return;
	if (f->fp_holds == CODE_FP_CALLER && f->saved_ra == WORD)
		pop_return(f, f->ra_copy - 1u);
	f->ra_copy = 0;
}

static bool changes_sp(const struct code_frame *before, const struct insn_x86_64 *in)
{
	struct code_frame f = *before;

	return stack(&f, in) || insn_writes(in, RSP);
}

static void effect_on_places(struct code_frame *f, const struct insn_x86_64 *in)
{
	if (follow_copy(f, in)) {
		f->sp = f->copy;
		drop_copy(f);
		return;
	}
	if (f->copy && !f->copy_reg && changes_sp(f, in))
		drop_copy(f);
	if (stack(f, in) || adjust(f, in) || move(f, in))
		return;
	if (insn_writes(in, RSP))
		f->sp = UNKNOWN;
	if (insn_writes(in, RBP))
		code_fp_set_other(f);
	if (writes(in, f->ra_reg))
		f->sp = CODE_SP_WRONG;
}

/* Before V8's builtins jump to others they restore the caller's frame pointer: mov (%rbp),%rbp. The
 * stack pointer may be unknown there, after calls that popped their arguments. */
static void follow_record(struct code_frame *f, const struct code_frame *before,
			  const struct insn_x86_64 *in)
{
	if (f->fp_holds != CODE_FP_CALLER || f->sp != UNKNOWN || changes_sp(before, in))
		f->record = false;
	else if (before->fp_holds == CODE_FP_FRAME && before->sp == UNKNOWN &&
		 before->saved_fp == 2 * WORD && before->saved_ra == WORD)
		f->record = true;
}

/* ---- realigned frames --------------------------------------------------------------------- */

/* gcc aligns a stack to more than 16 bytes like this: lea 8(%rsp),%r10; and $-64,%rsp; push
 * -8(%r10); push %rbp; mov %rsp,%rbp; push %r10; ...; mov -16(%rbp),%r10; leave; lea -8(%r10),%rsp;
 * ret. */

static bool is_lea(const struct insn_x86_64 *in)
{
	return in->map == MAP_ONE_BYTE && in->op == 0x8d && in->rex & 8 && !in->is_reg &&
	       in->index == REG_NONE;
}

/* True for a memory operand that is the return address, addressed through the register that holds
 * the CFA. */
static bool is_at_return(const struct code_frame *f, const struct insn_x86_64 *in)
{
	return f->cfa_reg && !in->is_reg && in->base + 1 == f->cfa_reg && in->index == REG_NONE &&
	       in->disp == -WORD;
}

/* The place where the instruction stores the register that holds the CFA, or loads it from
 * (*loads); UNKNOWN: neither. */
static int64_t saved_cfa_place(const struct code_frame *before, const struct code_frame *f,
			       const struct insn_x86_64 *in, bool *loads)
{
	unsigned reg = (in->op & 7u) | (in->rex & 1u) << 3;

	if (in->map != MAP_ONE_BYTE)
		return UNKNOWN;
	*loads = in->op >> 3 == 0x58 >> 3 || in->op == 0x8b;
	if (in->op >> 3 == 0x50 >> 3 && reg + 1 == before->cfa_reg)
		return f->sp;
	if (in->op >> 3 == 0x58 >> 3 && reg != RSP && reg != RBP)
		return before->sp;
	if (is_move(in) && !in->is_reg && (*loads || in->reg + 1 == before->cfa_reg))
		return address_place(before, in);
	return UNKNOWN;
}

/* Returns true if the instruction has been handled. */
static bool follow_cfa(struct code_frame *f, const struct insn_x86_64 *in)
{
	if (is_lea(in) && in->base == RSP && in->disp == WORD && f->sp == WORD &&
	    f->saved_ra == WORD && in->reg != RSP && in->reg != RBP && !f->is_realigned) {
		f->cfa_reg = (uint8_t)(in->reg + 1);
		return true;
	}
	if (!is_at_return(f, in))
		return false;
	if (in->map == MAP_ONE_BYTE && in->op == 0xff && (in->reg & 7) == 6 && f->sp == UNKNOWN) {
		f->sp = WORD;
		f->is_realigned = true;
		return true;
	}
	if (!is_lea(in) || in->reg != RSP)
		return false;
	f->sp = WORD;
	f->is_realigned = f->cfa_reg = 0;
	f->saved_cfa = 0;
	return true;
}

static void follow_saved_cfa(struct code_frame *f, const struct code_frame *before,
			     const struct insn_x86_64 *in)
{
	bool loads = false;
	int64_t place = before->is_realigned ? saved_cfa_place(before, f, in, &loads) : UNKNOWN;
	unsigned reg = in->op >> 3 == 0x58 >> 3 ? (in->op & 7u) | (in->rex & 1u) << 3 : in->reg;

	if (place > 0 && !loads && place <= INT32_MAX) {
		f->saved_cfa = (int32_t)place;
	} else if (place > 0 && place == before->saved_cfa) {
		f->cfa_reg = (uint8_t)(reg + 1);
		return;
	}
	if (f->cfa_reg && insn_writes(in, f->cfa_reg - 1u) && place == UNKNOWN)
		f->cfa_reg = 0;
}

/* ---- stack pointers that are kept in a register --------------------------------------------- */

/* mov REGISTER,%rsp: returns the register's DWARF number, plus 1; 0: another instruction. */
static unsigned sp_from(const struct insn_x86_64 *in)
{
	unsigned to = in->op == 0x89 ? in->rm : in->reg, from = in->op == 0x89 ? in->reg : in->rm;

	return is_move(in) && in->is_reg && to == RSP ? dwarf_number(from) + 1 : 0;
}

static void follow_kept(struct code_frame *f, const struct insn_x86_64 *in)
{
	if (f->kept_reg && sp_from(in) == f->kept_reg)
		f->sp = f->kept;
	else if (writes(in, f->kept_reg) ||
		 (f->kept_reg && in->map == MAP_ONE_BYTE && in->op >> 3 == 0x58 >> 3))
		f->kept = f->kept_reg = 0;
}

static void effect(struct code_frame *f, const struct insn_x86_64 *in)
{
	struct code_frame before = *f;

	if (follow_cfa(f, in))
		return;
	effect_on_places(f, in);
	if (before.cfa_reg || before.is_realigned)
		follow_saved_cfa(f, &before, in);
	follow_return_copy(f, &before, in);
	follow_record(f, &before, in);
	follow_kept(f, in);
}

/* ---- control flow ------------------------------------------------------------------------- */

static enum code_way way_of_one_byte(const struct insn_x86_64 *in)
{
	unsigned op = in->op;

	if (op >> 4 == 7 || (op >= 0xe0 && op <= 0xe3))
		return CODE_BRANCH;
	switch (op) {
	case 0xc2:
	case 0xc3:
		return CODE_RETURN;
	case 0xe8:
		return CODE_CALL;
	case 0xe9:
	case 0xeb:
		return CODE_JUMP;
	case 0xca: /* far returns, int3, hlt */
	case 0xcb:
	case 0xcc:
	case 0xf4:
		return CODE_END;
	case 0xff:
		if ((in->reg & 7) == 2)
			return CODE_CALL;
		if ((in->reg & 7) == 4)
			return CODE_SWITCH;
	}
	return CODE_ON;
}

static enum code_way way_of(const struct insn_x86_64 *in)
{
	if (in->is_vex)
		return CODE_ON;
	if (in->map == MAP_ONE_BYTE)
		return way_of_one_byte(in);
	if (in->map != MAP_0F)
		return CODE_ON;
	if (in->op >> 4 == 8)
		return CODE_BRANCH;
	/* UD2, UD1, UD0 */
	return in->op == 0x0b || in->op == 0xb9 || in->op == 0xff ? CODE_END : CODE_ON;
}

/* NOP and INT3. Not a long NOP with a displacement: HotSpot stores data in such NOPs after
 * calls. */
static bool is_filler(const struct insn_x86_64 *in)
{
	if (in->map == MAP_0F)
		return !in->is_vex && in->op == 0x1f && !in->disp;
	return in->map == MAP_ONE_BYTE && ((in->op == 0x90 && !(in->rex & 1)) || in->op == 0xcc);
}

/* ENTER; far calls and jumps; a call of the next instruction, which only serves to get its
 * address. */
static bool is_refused(const struct insn_x86_64 *in)
{
	unsigned ext = in->reg & 7;

	if (in->map != MAP_ONE_BYTE)
		return false;
	return in->op == 0xc8 || (in->op == 0xff && (ext == 3 || ext == 5)) ||
	       (in->op == 0xe8 && !in->imm);
}

/* True if called functions preserve the register. psABI AMD64 3.2.1 */
static bool is_kept(unsigned reg)
{
	return reg == 3 || (reg >= 12 && reg <= 15);
}

bool code_step_x86_64(const uint8_t *code, size_t n, struct code_frame *frame,
		      struct code_insn *ret)
{
	struct insn_x86_64 in;
	enum code_way way;
	bool through_fp;

	if (!insn_x86_64_read(code, n, &in))
		return false;
	if (is_refused(&in))
		return false;
	through_fp = uses_callers_fp(frame, &in);
	effect(frame, &in);
	way = way_of(&in);
	if (way == CODE_CALL && !is_kept(frame->cfa_reg - 1u))
		frame->cfa_reg = 0;
	if (way == CODE_SWITCH && in.is_reg && holds_return(frame, in.rm))
		way = CODE_END; /* a return */
	*ret = (struct code_insn){.bytes = in.bytes,
				  .way = (uint8_t)way,
				  .is_filler = is_filler(&in),
				  .uses_callers_fp = through_fp,
				  .is_by_word = !in.is_reg && in.base == REG_RIP,
				  .sp_from = (uint8_t)sp_from(&in),
				  .target = (int64_t)(in.bytes + (uint64_t)in.imm)};
	return true;
}

bool code_may_start_x86_64(const uint8_t *at, size_t n, uint64_t vaddr)
{
	if (vaddr % 16 == 0 || n < 5)
		return true;
	switch (at[-1]) {
	case 0x00: /* of a long NOP */
	case 0x90:
	case 0xc3:
	case 0xcc:
		return true;
	}
	return at[-5] == 0xe8 || at[-5] == 0xe9 || at[-2] == 0xeb ||
	       (at[-2] == 0x0f && at[-1] == 0x0b);
}

/* V8 and linkers pad with INT3. A single one may also follow a call that does not return. */
bool code_begins_x86_64(const uint8_t *at, size_t n)
{
	return n >= 2 && at[-1] == 0xcc && at[-2] == 0xcc && at[0] != 0xcc;
}
