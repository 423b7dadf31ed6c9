/* cfi.h - rows of DWARF call frame information. Private to unwind/.
 *
 * Source of truth: DWARF5 6.4. Sections and entries: functions/functions.h. All addresses are those
 * of the ELF file (vaddr). Nothing is copied: rows point into the section's bytes.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "functions/functions.h"
#include "unwind/arch.h"

/* How the caller's value of a register is found. */
enum cfi_how {
	CFI_UNSPECIFIED, /* no rule; unwinding treats it as SAME_VALUE */
	CFI_UNDEFINED,
	CFI_SAME_VALUE,
	CFI_OFFSET,	    /* memory at CFA + off */
	CFI_VAL_OFFSET,	    /* CFA + off */
	CFI_REGISTER,	    /* the value of register `off` in this frame */
	CFI_EXPRESSION,	    /* memory at the result of the expression, with the CFA pushed first */
	CFI_VAL_EXPRESSION, /* the result of the expression, with the CFA pushed first */
};

struct cfi_reg_rule {
	uint8_t how;	   /* enum cfi_how */
	uint32_t expr_len; /* *_EXPRESSION */
	union {
		int64_t off;
		const uint8_t *expr;
	};
};

enum cfi_cfa_how { CFI_CFA_UNDEFINED, CFI_CFA_REG, CFI_CFA_EXPRESSION };

/* One row of the table that an FDE encodes, valid in [start, end). */
struct cfi_row {
	uint64_t start, end;
	uint8_t cfa_how; /* enum cfi_cfa_how */
	uint8_t ra_reg;	 /* < n_regs */
	bool is_signal_frame;
	bool ra_signed; /* aarch64: the saved return address carries an authentication code */
	uint8_t n_regs;
	uint32_t cfa_reg;
	uint32_t cfa_expr_len;
	int64_t cfa_off; /* if the CFA is an expression: the last offset given */
	const uint8_t *cfa_expr;
	struct cfi_reg_rule regs[ARCH_REGS_MAX];
};

/* Finds the row for vaddr, which must lie in the FDE. Returns false if the instructions are
 * damaged, the return address column is not a register of this processor, or more than *steps steps
 * would be needed. A step is about one instruction; those used are subtracted from *steps. NULL: no
 * limit. */
bool cfi_row_find(const struct cfi_fde *fde, const struct arch *arch, uint64_t vaddr,
		  uint64_t *steps, struct cfi_row *ret);

#endif
