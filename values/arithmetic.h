/* arithmetic.h - the operations of DWARF expressions that compute a value from values on the stack
 * (DWARF5 2.5.1.4 and 2.5.1.5). They read nothing of a process or a file. Private to values/. */
#ifndef VALUES_ARITHMETIC_H
#define VALUES_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value on the stack. Generic ones have no type and are as wide as an address (DWARF5 2.5.1). */
struct item {
	uint64_t v;
	uint8_t bytes;
	bool is_typed, is_signed;
	/* Only its lower bits are sure to be of the value: compilers take narrow integers out of
	 * registers, whose upper bits may be anything, as if they were addresses. */
	bool is_loose;
};

/* What the result of an expression is for. */
struct item_use {
	size_t wanted;	 /* bytes of the value; 0: not known, or an address */
	bool is_unknown; /* what is needed is not known, or not understood: set, never reset */
};

/* As wide as its type: what does not fit is cut, or is the sign. */
struct item item_narrowed(struct item i);

/* To be called for an operand whose upper bits decide about the value's: sets is_unknown if they
 * may be anything. */
void item_need_all_bits(struct item_use *u, struct item i);

/* a OP b, where b is the top of the stack: DW_OP_and .. DW_OP_xor. A division that has no result
 * sets is_unknown. */
struct item item_binary(struct item_use *u, uint8_t op, struct item a, struct item b);
/* DW_OP_eq .. DW_OP_ne. */
bool item_compare(struct item_use *u, uint8_t op, struct item a, struct item b);
/* DW_OP_abs, DW_OP_neg, DW_OP_not. */
struct item item_unary(struct item_use *u, uint8_t op, struct item a);

#endif
