/* code_addresses.c - which addresses a function has as constants. */
#include <string.h>

#include "base/insn_x86_64.h"
#include "probe/code.h"

enum { A64_BYTES = 4, A64_PAGE = 4096, A64_REGS = 32 };

static int read_x86(const struct function_code *f, struct code_addresses *ret)
{
	struct insn_x86_64 in;

	for (size_t at = 0; at < f->n && insn_x86_64_read(f->bytes + at, f->n - at, &in);) {
		const bool is_one_byte = in.map == MAP_ONE_BYTE && !in.is_vex;
		uint64_t to = 0;

		at += in.bytes;
		if (is_one_byte && in.op == 0x8d && !in.is_reg && in.base == REG_RIP)
			to = f->vaddr + at + (uint64_t)(int64_t)in.disp;
		else if (is_one_byte && (in.op >> 3 == 0xb8 >> 3 || in.op == 0xc7))
			to = (uint64_t)in.imm & (in.rex & 8 ? UINT64_MAX : UINT32_MAX);
		if (to && vec_push(&ret->vaddrs, to))
			return -1;
	}
	return 0;
}

/* ADR and ADRP: immlo in bits 29 and 30, immhi from bit 5 on. */
static int64_t a64_page(uint32_t insn)
{
	return ((int32_t)(insn << 8) >> 13) * 4 + (int64_t)(insn >> 29 & 3);
}

static int read_a64(const struct function_code *f, struct code_addresses *ret)
{
	uint64_t page[A64_REGS];
	bool is_set[A64_REGS] = {false};

	for (size_t at = 0; at + A64_BYTES <= f->n; at += A64_BYTES) {
		const uint64_t here = f->vaddr + at;
		uint32_t insn;
		uint64_t to = 0;

		memcpy(&insn, f->bytes + at, sizeof insn);
		if ((insn & 0x9f000000) == 0x10000000) /* ADR */
			to = here + (uint64_t)a64_page(insn);
		if ((insn & 0x9f000000) == 0x90000000) { /* ADRP */
			page[insn & 31] = (here & ~(uint64_t)(A64_PAGE - 1)) +
					  (uint64_t)(a64_page(insn) * A64_PAGE);
			is_set[insn & 31] = true;
		}
		if ((insn & 0xffc00000) == 0x91000000 && is_set[insn >> 5 & 31]) /* ADD */
			to = page[insn >> 5 & 31] + (insn >> 10 & 0xfff);
		if (to && vec_push(&ret->vaddrs, to))
			return -1;
	}
	return 0;
}

int code_addresses_find(const struct function_code *f, struct code_addresses *ret)
{
	return f->set == INSN_SET_X86	? read_x86(f, ret)
	       : f->set == INSN_SET_A64 ? read_a64(f, ret)
					: 0;
}
