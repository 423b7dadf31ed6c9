/* rule.h - rows of call frame information in the forms that stack walking uses. Private to unwind/.
 *
 * In nearly all rows the CFA is sp or fp plus a constant, fp is saved at CFA - n or not at all, and
 * the return address is saved, or is in the link register if there is one. `struct rule` holds such
 * a row in 16 bytes, and also the few other shapes that need only sp, fp, the program counter and
 * the link register. `struct full_rule` holds any row. */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "base/arena.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/unwind.h"

enum rule_kind {
	RULE_SP,     /* CFA = sp + cfa_off; fp at CFA + fp_off, unchanged if fp_off is 0; return
		      * address at CFA + ra_off, in the link register if ra_off is 0; where calls
		      * push it, in the word below the CFA */
	RULE_FP,     /* the same with CFA = fp + cfa_off */
	RULE_SHAPED, /* based on register `reg`, as `flags` say */
	RULE_FULL,   /* needs all registers: struct full_rule */
	RULE_END,    /* the outermost frame */
	/* No rule; fallback.c decides what is tried next. */
	RULE_NO_CFI,
	/* In a worker's cache, these replace RULE_NO_CFI at addresses where the fallback has found
	 * a frame like that of RULE_SP or RULE_FP: by machine code, or by frame pointer in code
	 * without a file. See fallback_cached.c. */
	RULE_CODE_SP,
	RULE_CODE_FP,
	RULE_BAD_CFI,
	RULE_JIT_FP,
	RULE_NO_BINARY,
	RULE_NO_MAP,
	RULE_STACK_SWITCH, /* the caller may be on another stack */
	RULE_CLONE,	   /* the outermost frame of the task that the system call before it
			    * created; otherwise no rule */
	RULE_GO_THREAD,	   /* the outermost frame, unless C code has called it */
	RULE_GO_CALLBACK,  /* CFA = sp + cfa_off: see go_step.c */
	RULE_KINDS
};

/* The register relative to which a step will first read memory, as an index of cursor.bases. Exact
 * for kinds named after a register; for others a guess: code without call frame information has a
 * frame pointer, if anything. */
static inline unsigned rule_base(enum rule_kind kind)
{
	_Static_assert(RULE_SP == 0 && RULE_FP == 1 && RULE_NO_CFI % 2 == 1, "bits");
	_Static_assert(RULE_CODE_SP % 2 == 0 && RULE_CODE_FP % 2 == 1 && RULE_JIT_FP % 2 == 1,
		       "bits");
	return kind & 1;
}

/* True for RULE_NO_CFI and the kinds that replace it in a worker's cache. */
static inline bool rule_is_missing(enum rule_kind kind)
{
	return kind == RULE_NO_CFI || kind == RULE_CODE_SP || kind == RULE_CODE_FP ||
	       kind == RULE_JIT_FP;
}

/* Flags of RULE_SHAPED; base is the value of register `reg`. RULE_END has RULE_SIGNAL if the
 * frame's address is not that of a call. */
enum {
	RULE_DEREF = 1,	       /* CFA = memory at (base + cfa_off), plus cfa_add */
	RULE_RA_AT_BASE = 2,   /* return address at base + ra_off, not CFA + ra_off */
	RULE_FP_AT_BASE = 4,   /* fp at base + fp_off */
	RULE_FP_LOST = 8,      /* fp has no value in the caller */
	RULE_SIGNAL = 16,      /* the caller was interrupted, it did not call; its link register is
				* saved in the word after its fp */
	RULE_PC_IN_CFA = 32,   /* depends on the exact pc (PLT); not valid for a return address */
	RULE_RETURN_SHIFT = 6, /* in cached rules bits 6 and 7 hold an enum return_check */
};

/* Flags of cached RULE_NO_CFI to RULE_CODE_FP, where fallback.c sets them. */
enum { RULE_UNKNOWN_CODE = 1 }; /* not code that arch.known_frame() recognizes */

/* How the fallback continues from an address, independent of the registers: rule.reg of a cached
 * RULE_NO_CFI. See fallback_cached.c. */
enum rule_way {
	RULE_WAY_UNKNOWN, /* not determined yet, or none of these */
	RULE_WAY_JIT,	  /* by frame pointer, in code without a file */
	/* By the frame that the machine code of a named function shows. CFA = fp + cfa_off if `how`
	 * is CODE_FP_FRAME, and CFA = sp + cfa_add unless cfa_add < 0; fp_off and ra_off as for
	 * RULE_SP. */
	RULE_WAY_CODE,
};

/* cfa_add of a RULE_SHAPED without RULE_DEREF: the function ends with __builtin_eh_return(), see
 * throw.c. Otherwise it is 0. */
enum { RULE_THROWS = 1 };

/* rule.reg of RULE_CODE_* and RULE_JIT_FP; rule.reg of RULE_SP and RULE_FP is 0. CFA = base +
 * cfa_off, and CFA - sp must be cfa_add to cfa_add + ra_off. Rules of kind RULE_SP and RULE_FP pass
 * the same check: their cfa_add is 0, and their ra_off is minus a word where calls push the return
 * address, which as an unsigned number is larger than any distance. */
#define RULE_GUESS 0xff

struct rule {
	int32_t cfa_off;
	int32_t fp_off;
	int16_t ra_off;
	int16_t cfa_add;
	uint8_t kind; /* enum rule_kind */
	uint8_t reg;
	uint8_t flags;
	uint8_t how; /* enum frame_how of the caller's frame */
};

/* Registers that stay unchanged are left out. Immutable. */
struct full_rule {
	uint8_t cfa_how, ra_reg, how;
	uint8_t n;
	bool is_signal_frame;
	bool throws; /* see RULE_THROWS */
	bool has_sp; /* the row has a rule for the stack pointer */
	uint32_t cfa_reg, cfa_expr_len;
	union {
		int64_t cfa_off;
		const uint8_t *cfa_expr;
	};
	struct full_rule_reg {
		uint8_t reg;
		struct cfi_reg_rule rule;
	} regs[];
};

/* Packs a row; the kind is RULE_FULL if it does not fit. `vaddr`: the address for which the rule is
 * used. Sets `how` to FRAME_CFI. */
void rule_pack(const struct cfi_row *row, const struct arch *arch, uint64_t vaddr,
	       struct rule *ret);
/* Returns NULL when out of memory. Expressions point into the bytes of the section. */
const struct full_rule *rule_full(const struct cfi_row *row, const struct arch *arch,
				  enum frame_how how, struct arena *arena);

#endif
