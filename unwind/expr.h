/* expr.h - DWARF expressions as call frame information uses them. Private to unwind/.
 *
 * Sources of truth: DWARF5 2.5 (operations), 6.4.2 (what is allowed in call frame information).
 */
#ifndef UNWIND_EXPR_H
#define UNWIND_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct expr_op {
	uint8_t code; /* DW_OP_* */
	uint64_t a;   /* first operand; for DW_OP_addr and constants the value, for skip/bra the
		       * distance */
	uint64_t b;   /* second operand: the offset of DW_OP_bregx */
};

/* Decodes one operation. Returns false if it is damaged or not allowed in call frame
 * information. */
bool expr_op_read(struct buf *b, unsigned address_bytes, struct expr_op *op);

enum expr_status {
	EXPR_OK,
	EXPR_BAD,	  /* damaged, too many steps, or not allowed here */
	EXPR_NO_REGISTER, /* needs a register that is not known */
	EXPR_NO_MEMORY,	  /* needs memory that was not recorded */
};

/* The registers and memory that an expression may read. */
struct expr_machine {
	const uint64_t *regs; /* by DWARF number */
	uint64_t known;	      /* bit i: regs[i] is known */
	unsigned n_regs;      /* <= 64 */
	unsigned address_bytes;
	bool swap;
	uint64_t bias; /* runtime address minus vaddr, for DW_OP_addr */
	/* Reads `size` (1..8) bytes, zero-extended. */
	bool (*read)(void *arg, uint64_t addr, unsigned size, uint64_t *ret);
	void *arg;
	/* Number of operations still allowed; those that are run are subtracted. NULL: only the
	 * limit for one expression applies. */
	uint64_t *steps;
};

/* Evaluates an expression; *initial (may be NULL) is pushed first. Bounded in steps and stack
 * depth. */
enum expr_status expr_evaluate(const struct expr_machine *m, const uint8_t *expr, size_t len,
			       const uint64_t *initial, uint64_t *ret);

#endif
