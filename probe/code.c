/* code.c - reads a function's instructions in a row, as far as probes need them.
 *
 * Sources: Intel SDM volume 2; Arm ARM C6.2; cmd/internal/obj/x86/obj6.go and arm64/obj7.go of Go
 * for the check of the stack's size. A probe within an instruction would change what the program
 * does: nothing is said about code of which one instruction is not understood. */
#include "probe/code.h"

#include <string.h>

#include "base/insn_x86_64.h"

enum way { WAY_ON, WAY_RETURN, WAY_JUMP, WAY_BRANCH, WAY_INDIRECT };

struct step {
	size_t bytes;
	enum way way;
	bool is_switch; /* WAY_INDIRECT: by a table of this function's places */
	int64_t target; /* relative to the function's start */
};

/* ---- x86-64 --------------------------------------------------------------------------------- */

/* An indirect jump by a register that was added to, or by an index, is one of a table. */
static bool is_x86_switch(const struct insn_x86_64 *in, const struct insn_x86_64 *before)
{
	if (!in->is_reg)
		return in->index != REG_NONE;
	return before->map == MAP_ONE_BYTE && (before->op == 0x01 || before->op == 0x03) &&
	       before->has_modrm;
}

static bool step_x86(const uint8_t *code, size_t at, size_t n, struct insn_x86_64 *before,
		     struct step *ret)
{
	struct insn_x86_64 in;

	if (!insn_x86_64_read(code + at, n - at, &in))
		return false;
	/* The immediate of what is no jump may be any number. */
	*ret = (struct step){.bytes = in.bytes,
			     .target = (int64_t)(at + in.bytes + (uint64_t)in.imm)};
	if (in.map == MAP_0F && in.op >> 4 == 8)
		ret->way = WAY_BRANCH;
	if (in.map == MAP_ONE_BYTE && !in.is_vex) {
		if (in.op == 0xc3 || in.op == 0xc2)
			ret->way = WAY_RETURN;
		else if (in.op == 0xeb || in.op == 0xe9)
			ret->way = WAY_JUMP;
		else if (in.op >> 4 == 7 || (in.op >= 0xe0 && in.op <= 0xe3))
			ret->way = WAY_BRANCH;
		else if (in.op == 0xff && (in.reg & 7) == 4)
			ret->way = WAY_INDIRECT;
	}
	ret->is_switch = ret->way == WAY_INDIRECT && is_x86_switch(&in, before);
	*before = in;
	return true;
}

/* ---- aarch64 -------------------------------------------------------------------------------- */

enum { A64_BYTES = 4 };

static uint32_t word_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* bits [low, low + n) as a signed number of instructions, in bytes */
static int64_t distance(uint32_t insn, unsigned low, unsigned n)
{
	return (int64_t)((int32_t)(insn << (32 - low - n)) >> (32 - n)) * A64_BYTES;
}

static bool step_a64(const uint8_t *code, size_t at, size_t n, struct step *ret)
{
	const uint32_t insn = n - at < A64_BYTES ? 0 : word_at(code + at);
	const uint32_t before = at < A64_BYTES ? 0 : word_at(code + at - A64_BYTES);

	if (n - at < A64_BYTES)
		return false;
	*ret = (struct step){.bytes = A64_BYTES};
	if ((insn & 0xfffffc1f) == 0xd65f0000 || (insn | 0x400) == 0xd65f0fff) {
		ret->way = WAY_RETURN; /* RET, RETAA, RETAB */
	} else if (insn >> 26 == 5) {
		ret->way = WAY_JUMP; /* B */
		ret->target = (int64_t)at + distance(insn, 0, 26);
	} else if (insn >> 24 == 0x54 || (insn & 0x7e000000) == 0x34000000) {
		ret->way = WAY_BRANCH; /* B.cond, CBZ */
		ret->target = (int64_t)at + distance(insn, 5, 19);
	} else if ((insn & 0x7e000000) == 0x36000000) {
		ret->way = WAY_BRANCH; /* TBZ */
		ret->target = (int64_t)at + distance(insn, 5, 14);
	} else if ((insn & 0xfffffc1f) == 0xd61f0000) {
		ret->way = WAY_INDIRECT; /* BR; of a table: behind ADD */
		ret->is_switch = (before & 0x1f000000) == 0x0b000000;
	}
	return true;
}

/* ---- a function ----------------------------------------------------------------------------- */

struct walk {
	const struct function_code *f;
	size_t at;
	struct insn_x86_64 before;
};

static bool next(struct walk *w, struct step *ret)
{
	const struct function_code *f = w->f;

	if (f->set == INSN_SET_X86)
		return step_x86(f->bytes, w->at, f->n, &w->before, ret);
	return f->set == INSN_SET_A64 && step_a64(f->bytes, w->at, f->n, ret);
}

/* Marks where instructions begin. Returns false if not all is understood. */
static bool mark_starts(const struct function_code *f, uint8_t *starts)
{
	struct walk w = {.f = f};
	struct step s;

	for (; w.at < f->n; w.at += s.bytes) {
		if (!next(&w, &s))
			return false;
		starts[w.at] = 1;
	}
	for (w = (struct walk){.f = f}; w.at < f->n && next(&w, &s); w.at += s.bytes)
		if ((s.way == WAY_JUMP || s.way == WAY_BRANCH) && s.target >= 0 &&
		    s.target < (int64_t)f->n && !starts[s.target])
			return false;
	return true;
}

static bool leaves(const struct function_code *f, const struct step *s, code_is_inside *is_inside,
		   void *arg)
{
	if (s->way == WAY_INDIRECT)
		return !s->is_switch;
	return (s->target < 0 || s->target >= (int64_t)f->n) &&
	       !is_inside(arg, f->vaddr + (uint64_t)s->target);
}

int code_exits_find(const struct function_code *f, code_is_inside *is_inside, void *arg,
		    struct code_exits *ret)
{
	uint8_t *starts = calloc(f->n + 1, 1);
	struct walk w = {.f = f};
	struct step s;
	int rc = 1;

	if (!starts)
		return -1;
	if (!mark_starts(f, starts))
		rc = 0;
	for (; rc > 0 && w.at < f->n && next(&w, &s); w.at += s.bytes) {
		if (s.way == WAY_ON || (s.way != WAY_RETURN && !leaves(f, &s, is_inside, arg)))
			continue;
		if (s.way == WAY_BRANCH)
			ret->n_conditional++;
		else if (vec_push(&ret->vaddrs, f->vaddr + w.at) ||
			 vec_push(&ret->is_jump, s.way != WAY_RETURN))
			rc = -1;
	}
	free(starts);
	return rc;
}

void code_exits_done(struct code_exits *x)
{
	vec_done(&x->vaddrs);
	vec_done(&x->is_jump);
}

enum code_place code_place_at(const struct function_code *f, uint64_t off)
{
	uint8_t *starts = off < f->n ? calloc(f->n + 1, 1) : NULL;
	enum code_place place = CODE_PLACE_UNKNOWN;

	if (starts && mark_starts(f, starts))
		place = starts[off] ? CODE_PLACE_INSN : CODE_PLACE_INSIDE;
	free(starts);
	return place;
}

bool code_loops_at_start(const struct function_code *f)
{
	struct walk w = {.f = f};
	struct step s;

	for (; w.at < f->n && next(&w, &s); w.at += s.bytes)
		if ((s.way == WAY_JUMP || s.way == WAY_BRANCH) && !s.target)
			return true;
	return false;
}

/* ---- Go ------------------------------------------------------------------------------------- */

/* CMP 16(R14), SP, or LEA -n(SP), R12 and CMP 16(R14), R12; then JBE. */
static size_t x86_stack_check(const struct function_code *f)
{
	static const uint8_t plain[] = {0x49, 0x3b, 0x66, 0x10}, lea8[] = {0x4c, 0x8d, 0x64, 0x24},
			     lea32[] = {0x4c, 0x8d, 0xa4, 0x24}, cmp[] = {0x4d, 0x3b, 0x66, 0x10};
	const uint8_t *p = f->bytes;
	size_t at = 0;

	if (f->n < 24)
		return 0;
	if (!memcmp(p, plain, 4))
		at = 4;
	else if (!memcmp(p, lea8, 4) && !memcmp(p + 5, cmp, 4))
		at = 9;
	else if (!memcmp(p, lea32, 4) && !memcmp(p + 8, cmp, 4))
		at = 12;
	if (at && p[at] == 0x76)
		return at + 2;
	return at && p[at] == 0x0f && p[at + 1] == 0x86 ? at + 6 : 0;
}

/* MOVD 16(g), R16; CMP R16, RSP; BLS */
static size_t a64_stack_check(const struct function_code *f)
{
	if (f->n < 3 * A64_BYTES || word_at(f->bytes) != 0xf9400b90 ||
	    word_at(f->bytes + 4) != 0xeb3063ff ||
	    (word_at(f->bytes + 8) & 0xff00001f) != 0x54000009)
		return 0;
	return 3 * A64_BYTES;
}

size_t code_go_stack_check(const struct function_code *f)
{
	return f->set == INSN_SET_X86	? x86_stack_check(f)
	       : f->set == INSN_SET_A64 ? a64_stack_check(f)
					: 0;
}
