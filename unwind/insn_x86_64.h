/* insn_x86_64.h - the operands and the length of x86-64 instructions. Private to unwind/. */
#ifndef UNWIND_INSN_X86_64_H
#define UNWIND_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

/* Numbers of registers that are no operand. */
enum { REG_RIP = 16, REG_NONE = 17 };

struct insn_x86_64 {
	uint8_t bytes;
	uint8_t map; /* enum insn_map */
	uint8_t op;
	uint8_t rex;
	bool is_vex;	     /* by a VEX or EVEX prefix */
	bool is_word;	     /* a prefix makes operands 16 bits wide */
	bool has_modrm;	     /* then what follows, unless is_reg only reg and rm */
	bool is_reg;	     /* rm is a register */
	uint8_t reg, rm;     /* numbers 0 .. 15; reg may be a part of the opcode (reg & 7) */
	uint8_t vex_reg;     /* the third one of a VEX prefix */
	uint8_t base, index; /* of an address; REG_* */
	int32_t disp;
	uint8_t disp_off; /* of a 32-bit displacement in the instruction; 0: it has none */
	int64_t imm;	  /* the immediate or relative operand, with its sign; 0: none */
};

/* False: not an instruction that is known, or more than these `n` bytes. */
bool insn_x86_64_read(const uint8_t *code, size_t n, struct insn_x86_64 *ret);

/* insn_writes.c: does it write to this register, or a part of it, as an operand in its ModRM byte
 * or in its opcode? Rather so than not, where that is not sure. */
bool insn_writes(const struct insn_x86_64 *in, unsigned reg);
/* The registers that it writes without naming them, a bit each. */
unsigned insn_writes_besides(const struct insn_x86_64 *in);

#endif
