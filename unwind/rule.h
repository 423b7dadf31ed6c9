/* rule.h - rows of call frame information in the forms that walking a stack uses. Private to
 * unwind/.
 *
 * Nearly all rows say: CFA is sp or fp plus a constant, fp is saved at CFA - n or not at all, the
 * return address is saved, too, or in the link register where there is one. `struct rule` holds
 * these in 16 bytes, and with them the few other shapes that need nothing but sp, fp, the program
 * counter and the link register. `struct full_rule` holds any row.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "base/arena.h"
#include "unwind/arch.h"
#include "unwind/cfi.h"
#include "unwind/unwind.h"

enum rule_kind {
	RULE_SP,     /* CFA = sp + cfa_off; fp at CFA + fp_off, unchanged when fp_off is 0; return
		      * address at CFA + ra_off, in the link register when ra_off is 0; in the word
		      * below the CFA where calls push it */
	RULE_FP,     /* the same from fp */
	RULE_SHAPED, /* from register `reg`, in the way that `flags` say */
	RULE_FULL,   /* needs all registers: struct full_rule */
	RULE_END,    /* the outermost frame */
	/* No rule; what is tried next is in fallback.c. */
	RULE_NO_CFI,
	/* RULE_NO_CFI in a worker's cache, where the fallback has been, if it went on as by RULE_SP
	 * or RULE_FP: by machine code, or by frame pointer in code without a file. See
	 * fallback_cached.c. */
	RULE_CODE_SP,
	RULE_CODE_FP,
	RULE_BAD_CFI,
	RULE_JIT_FP,
	RULE_NO_BINARY,
	RULE_NO_MAP,
	RULE_STACK_SWITCH, /* the caller may be on another stack */
	RULE_CLONE,	   /* the outermost frame if the system call that returns there made it */
	RULE_GO_THREAD,	   /* the outermost frame, unless C code has called it */
	RULE_GO_CALLBACK,  /* the CFA is cfa_off above sp: see go_step.c */
	RULE_KINDS
};

/* The register whose memory a step will read first, as index of cursor.bases: a guess, but for
 * those that are named after it. Code without call frame information has frame pointers, if
 * anything. */
static inline unsigned rule_base(enum rule_kind kind)
{
	_Static_assert(RULE_SP == 0 && RULE_FP == 1 && RULE_NO_CFI % 2 == 1, "bits");
	_Static_assert(RULE_CODE_SP % 2 == 0 && RULE_CODE_FP % 2 == 1 && RULE_JIT_FP % 2 == 1,
		       "bits");
	return kind & 1;
}

/* Is it RULE_NO_CFI, whatever else is remembered? */
static inline bool rule_is_missing(enum rule_kind kind)
{
	return kind == RULE_NO_CFI || kind == RULE_CODE_SP || kind == RULE_CODE_FP ||
	       kind == RULE_JIT_FP;
}

/* Flags of RULE_SHAPED. base = value of `reg`. */
enum {
	RULE_DEREF = 1,	       /* CFA = memory at (base + cfa_off), plus cfa_add */
	RULE_RA_AT_BASE = 2,   /* return address at base + ra_off, not CFA + ra_off */
	RULE_FP_AT_BASE = 4,   /* fp at base + fp_off */
	RULE_FP_LOST = 8,      /* fp has no value in the caller */
	RULE_SIGNAL = 16,      /* the caller was interrupted, not calling; its link register is
				* saved behind its fp */
	RULE_PC_IN_CFA = 32,   /* depends on the exact pc (PLT): not valid for a return address */
	RULE_RETURN_SHIFT = 6, /* the two bits above are return_check.h's, in cached rules */
};

/* And of cached RULE_NO_CFI to RULE_CODE_FP, where fallback.c keeps them, too. */
enum { RULE_UNKNOWN_CODE = 1 }; /* its bytes are not those of a known function */

/* How the fallback goes on from an address whatever the registers are: rule.reg of cached
 * RULE_NO_CFI. See fallback_cached.c. */
enum rule_way {
	RULE_WAY_UNKNOWN, /* not looked for yet, or none of these */
	RULE_WAY_JIT,	  /* by frame pointer, in code without a file */
	/* By the frame that machine code shows, in a function with a name. The CFA is cfa_off above
	 * the frame pointer if how is CODE_FP_FRAME, and cfa_add above the stack pointer unless
	 * that is < 0; fp_off and ra_off as for RULE_SP. */
	RULE_WAY_CODE,
};

/* rule.reg of RULE_CODE_* and RULE_JIT_FP; that of RULE_SP and RULE_FP is 0. Their CFA is cfa_off
 * above its base, and must be above the stack pointer by cfa_add or up to ra_off more. In a rule of
 * RULE_SP or RULE_FP these are 0 and, where calls push the return address, minus a word: as an
 * unsigned number more than any distance. */
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

/* Rules that leave a register unchanged are left out. Immutable. */
struct full_rule {
	uint8_t cfa_how, ra_reg, how;
	uint8_t n;
	bool is_signal_frame, ra_signed;
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

/* RULE_FULL when the row does not fit. `vaddr`: the address it is used for. `how` becomes
 * FRAME_CFI. */
void rule_pack(const struct cfi_row *row, const struct arch *arch, uint64_t vaddr,
	       struct rule *ret);
/* NULL when out of memory. Points into the section's bytes for expressions. */
const struct full_rule *rule_full(const struct cfi_row *row, enum frame_how how,
				  struct arena *arena);

#endif
