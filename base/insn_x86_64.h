/* insn_x86_64.h - the operands and the length of x86-64 instructions. */
#ifndef BASE_INSN_X86_64_H
#define BASE_INSN_X86_64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

/* Special values of register fields. */
enum { REG_RIP = 16, REG_NONE = 17 };

struct insn_x86_64 {
	uint8_t bytes;
	uint8_t map; /* enum insn_map */
	uint8_t op;
	uint8_t rex;
	bool is_vex;	     /* has a VEX or EVEX prefix */
	bool is_word;	     /* an operand-size prefix makes operands 16 bits wide */
	bool has_modrm;	     /* then the following fields are set; if is_reg, only reg and rm */
	bool is_reg;	     /* rm is a register, not memory */
	uint8_t reg, rm;     /* 0 .. 15; reg & 7 may be an opcode extension */
	uint8_t vex_reg;     /* the third operand, of a VEX prefix */
	uint8_t base, index; /* of a memory operand; may be REG_* */
	int32_t disp;
	uint8_t disp_off; /* offset of a 32-bit displacement within the instruction; 0: none */
	int64_t imm;	  /* immediate or relative operand, sign-extended; 0: none */
};

/* Decodes the instruction at `code`. Returns false if it is not known or longer than `n` bytes. */
bool insn_x86_64_read(const uint8_t *code, size_t n, struct insn_x86_64 *ret);

#endif
