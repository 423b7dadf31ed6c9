/* code_aarch64.c - what instructions of 64-bit Arm do to a frame (Arm ARM C4.1). */
#include "unwind/code.h"

enum { FP = 29, LR = 30, SP = 31, NONE = 32, WORD = 8, INSN_BYTES = 4, UNKNOWN = -1 };

static uint32_t instruction(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

static int64_t signed_bits(uint32_t insn, unsigned low, unsigned n)
{
	return (int64_t)((uint64_t)insn << (64 - low - n)) >> (64 - n);
}

/* ---- effects on the frame ----------------------------------------------------------------- */

static void sp_set(struct code_frame *f, int64_t sp)
{
	f->sp = sp <= INT32_MAX ? (int32_t)sp : UNKNOWN;
	if (sp < 0)
		f->sp = CODE_SP_WRONG;
}

/* Sets sp to `bytes` above a place, which may be UNKNOWN. */
static void sp_move(struct code_frame *f, int64_t place, int64_t bytes)
{
	if (place == UNKNOWN)
		f->sp = UNKNOWN;
	else
		sp_set(f, place - bytes);
}

/* How far below the CFA a register points, or UNKNOWN. */
static int64_t place_of(const struct code_frame *f, unsigned reg)
{
	if (reg == SP)
		return f->sp;
	return reg == FP && f->fp_holds == CODE_FP_FRAME ? f->fp : UNKNOWN;
}

static void store(struct code_frame *f, unsigned reg, int64_t at)
{
	if (at <= 0 || at > INT32_MAX)
		return;
	if (reg == LR && !f->saved_ra && !f->ra_lost)
		f->saved_ra = (int32_t)at;
	if (reg == FP && f->fp_holds == CODE_FP_CALLER)
		f->saved_fp = (int32_t)at;
}

static void set_other(struct code_frame *f, unsigned reg)
{
	if (reg == FP)
		code_fp_set_other(f);
	if (reg == LR && !f->saved_ra)
		f->ra_lost = true;
}

static void load(struct code_frame *f, unsigned reg, int64_t at)
{
	if (reg == FP && f->saved_fp && at == f->saved_fp) {
		f->fp_holds = CODE_FP_CALLER;
		f->fp = f->saved_fp = 0;
	} else if (reg == LR && f->saved_ra && at == f->saved_ra) {
		f->saved_ra = 0;
	} else {
		set_other(f, reg);
	}
}

/* The place that a load or store accesses. Changes the base register as the addressing mode says:
 * not at all, after the access, or before it. */
enum addressing { AT_OFFSET, AFTER, BEFORE };

static int64_t address(struct code_frame *f, unsigned base, int64_t off, enum addressing how)
{
	int64_t place = place_of(f, base), at;

	at = place == UNKNOWN ? UNKNOWN : place - (how == AFTER ? 0 : off);
	if (how != AT_OFFSET && base == SP)
		sp_move(f, place, off);
	else if (how != AT_OFFSET)
		set_other(f, base);
	return at;
}

/* LDP, STP, LDPSW, LDNP, STNP: pairs of w, x, s, d or q registers. */
static bool pair(struct code_frame *f, uint32_t insn)
{
	unsigned how = insn >> 23 & 3, base = insn >> 5 & 31, size = insn >> 30;
	bool is_vector = insn >> 26 & 1, is_load = insn >> 22 & 1;
	unsigned a = insn & 31, b = insn >> 10 & 31;
	unsigned bytes = is_vector ? 4u << size : size & 2 ? 8 : 4;
	int64_t at;

	if ((insn & 0x3a000000) != 0x28000000)
		return false;
	at = address(f, base, signed_bits(insn, 15, 7) * bytes,
		     how == 1	? AFTER
		     : how == 3 ? BEFORE
				: AT_OFFSET);
	if (is_vector)
		return true;
	if (!is_load && size == 2) {
		store(f, a, at);
		store(f, b, at == UNKNOWN ? at : at - WORD);
	} else if (is_load) {
		load(f, a, size == 2 ? at : UNKNOWN);
		load(f, b, size == 2 && at != UNKNOWN ? at - WORD : UNKNOWN);
	}
	return true;
}

/* LDR, STR of one register, with an immediate or register offset. */
static bool single(struct code_frame *f, uint32_t insn)
{
	unsigned base = insn >> 5 & 31, reg = insn & 31, size = insn >> 30, opc = insn >> 22 & 3;
	bool is_vector = insn >> 26 & 1, is_word = size == 3 && !is_vector;
	enum addressing how = AT_OFFSET;
	int64_t off, at;

	if ((insn & 0x3b000000) == 0x39000000) {
		off = (int64_t)(insn >> 10 & 0xfff) << size;
	} else if ((insn & 0x3b200000) == 0x38000000) {
		off = signed_bits(insn, 12, 9);
		how = (insn >> 10 & 3) == 1 ? AFTER : (insn >> 10 & 3) == 3 ? BEFORE : AT_OFFSET;
	} else if ((insn & 0x3b200c00) == 0x38200800) { /* by a register */
		off = 0;
		base = NONE;
	} else {
		return false;
	}
	at = address(f, base, off, how);
	if (is_vector)
		return true;
	if (opc == 0 && is_word)
		store(f, reg, at);
	else if (opc != 0 && !(size == 3 && opc == 2)) /* not PRFM */
		load(f, reg, is_word && opc == 1 ? at : UNKNOWN);
	return true;
}

/* 64-bit ADD, SUB with an immediate: moves sp. */
static bool add(struct code_frame *f, uint32_t insn)
{
	unsigned to = insn & 31, from = insn >> 5 & 31;
	int64_t n = (int64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1) * 12, place;

	if ((insn & 0xbf800000) != 0x91000000)
		return false;
	place = place_of(f, from);
	if (insn >> 30 & 1)
		n = -n;
	if (to == SP)
		sp_move(f, place, n);
	else if (to == FP)
		code_fp_set_frame(f, place == UNKNOWN ? place : place - n);
	else
		set_other(f, to);
	return true;
}

/* True if it writes sp in a way that is not tracked. */
static bool changes_sp(uint32_t insn)
{
	static const struct {
		uint32_t mask, bits;
	} kinds[] = {
		{0x3fe00000, 0x0b200000}, /* ADD, SUB with an extended register */
		{0x7f800000, 0x12000000}, /* AND, ORR, EOR with an immediate */
		{0x7f800000, 0x32000000}, {0x7f800000, 0x52000000},
		{0xbf800000, 0x11000000},			    /* ADD, SUB of 32 bits */
		{0xbfc00000, 0x91800000},			    /* ADDG, SUBG, IRG */
		{0xffe0fc00, 0x9ac01000}, {0xffa0f800, 0x04205000}, /* ADDVL, ADDPL */
	};
	size_t i;

	if ((insn & 31) == SP)
		for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
			if ((insn & kinds[i].mask) == kinds[i].bits)
				return true;
	return false;
}

/* LD1 to ST4 of vectors, in the forms that change their base register. */
static bool is_vector_walk(uint32_t insn)
{
	return (insn & 0xbe800000) == 0x0c800000;
}

/* True if it may write the general register in its lowest bits. */
static bool writes_general(uint32_t insn)
{
	unsigned op0 = insn >> 25 & 15;

	if (op0 == 8 || op0 == 9 || op0 == 5 || op0 == 13) /* data processing */
		return true;
	if ((op0 & 5) == 4) /* memory, stores too: of registers or vectors */
		return !(insn >> 26 & 1);
	if ((op0 & 7) == 7) /* conversions; SMOV, UMOV */
		return (insn & 0x5f200000) == 0x1e000000 || (insn & 0x5f20fc00) == 0x1e200000 ||
		       (insn & 0xbfe0ec00) == 0x0e002c00;
	return (insn & 0xfff00000) == 0xd5300000 || op0 < 4; /* MRS; SVE */
}

static void other(struct code_frame *f, uint32_t insn)
{
	unsigned base = insn >> 5 & 31;

	if (changes_sp(insn) || (is_vector_walk(insn) && base == SP))
		f->sp = UNKNOWN;
	if (is_vector_walk(insn))
		set_other(f, base);
	else if (writes_general(insn))
		set_other(f, insn & 31);
}

static void effect(struct code_frame *f, uint32_t insn)
{
	/* Hints: PACIASP and similar sign the link register, AUTIASP and similar undo that, XPACI
	 * removes the authentication code. */
	if ((insn & 0xfffff01f) == 0xd503201f)
		return;
	if (pair(f, insn) || single(f, insn) || add(f, insn))
		return;
	other(f, insn);
}

/* ---- control flow ------------------------------------------------------------------------- */

static bool way_of(uint32_t insn, struct code_insn *ret)
{
	static const struct {
		uint32_t mask, bits;
		enum code_way way;
		uint8_t low, n; /* bits of the target; 0: none */
	} ways[] = {
		{0xfc000000, 0x14000000, CODE_JUMP, 0, 26},   /* B */
		{0xfc000000, 0x94000000, CODE_CALL, 0, 0},    /* BL */
		{0xff000000, 0x54000000, CODE_BRANCH, 5, 19}, /* B.cond, BC.cond */
		{0x7e000000, 0x34000000, CODE_BRANCH, 5, 19}, /* CBZ, CBNZ */
		{0x7e000000, 0x36000000, CODE_BRANCH, 5, 14}, /* TBZ, TBNZ */
		{0xffe0001f, 0xd4200000, CODE_END, 0, 0},     /* BRK */
		{0xffff0000, 0x00000000, CODE_END, 0, 0},     /* UDF */
	};
	unsigned op = insn >> 21 & 7;
	size_t i;

	*ret = (struct code_insn){
		.bytes = INSN_BYTES, .way = CODE_ON, .is_filler = insn == 0xd503201f || !insn};
	if (insn >> 25 == 0x6b) { /* branches to registers, with or without authentication */
		if (op > 2)
			return false; /* ERET, DRPS */
		ret->way = op == 0 ? CODE_SWITCH : op == 1 ? CODE_CALL : CODE_RETURN;
		return true;
	}
	for (i = 0; i < sizeof ways / sizeof *ways; i++) {
		if ((insn & ways[i].mask) != ways[i].bits)
			continue;
		ret->way = (uint8_t)ways[i].way;
		if (ways[i].n)
			ret->target = signed_bits(insn, ways[i].low, ways[i].n) * INSN_BYTES;
		return true;
	}
	return true;
}

bool code_step_aarch64(const uint8_t *code, size_t n, struct code_frame *frame,
		       struct code_insn *ret)
{
	uint32_t insn;

	if (n < INSN_BYTES)
		return false;
	insn = instruction(code);
	if (!way_of(insn, ret))
		return false;
	if (ret->way == CODE_CALL) { /* puts its return address into the link register */
		if (!frame->saved_ra)
			frame->ra_lost = true;
	} else if (ret->way == CODE_ON) {
		effect(frame, insn);
	}
	return true;
}
