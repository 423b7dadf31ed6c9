/* disassemble.h - machine code as text, by libcapstone, which is loaded when it is first needed.
 * Private to report/. */
#ifndef REPORT_DISASSEMBLE_H
#define REPORT_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum insn_kind { INSN_OTHER, INSN_JUMP, INSN_CALL };

/* An instruction; or bytes that are none, as ".byte 0x06". */
struct insn_text {
	uint64_t vaddr;
	unsigned size; /* bytes */
	enum insn_kind kind;
	bool has_target; /* of a jump or call: where it leads is known */
	uint64_t target;
	char mnemonic[32], operands[160];
};

/* Calls `each` for the instructions of n bytes of code at vaddr, in order; it returns 0 to go on.
 * x86 is written as AT&T and objdump do. Returns 0; negative with *err if there is no library, or
 * it does not know the processor (e_machine: elf.h); or what `each` returned. */
int disassemble(uint16_t e_machine, bool is_64, const uint8_t *code, size_t n, uint64_t vaddr,
		int (*each)(void *arg, const struct insn_text *insn), void *arg, struct err *err);

#endif
