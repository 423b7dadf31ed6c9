/* insn_writes.h - which registers an x86-64 instruction writes. Private to unwind/. */
#ifndef UNWIND_INSN_WRITES_H
#define UNWIND_INSN_WRITES_H

#include "base/insn_x86_64.h"

/* True if the instruction writes the register, or a part of it, as an operand in its
 * ModRM byte or opcode. Also true when that is not certain. */
bool insn_writes(const struct insn_x86_64 *in, unsigned reg);
/* Bit set of the registers that it writes implicitly. */
unsigned insn_writes_besides(const struct insn_x86_64 *in);

#endif
