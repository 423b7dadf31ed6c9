/* code_reference.c - which bytes of an instruction encode the distance to what it refers to. */
#include "base/insn_x86_64.h"
#include "unwind/unwind.h"

/* CALL, JMP and Jcc with a 32-bit displacement */
static bool is_far_jump(const struct insn_x86_64 *in)
{
	return !in->is_vex && ((in->map == MAP_ONE_BYTE && (in->op == 0xe8 || in->op == 0xe9)) ||
			       (in->map == MAP_0F && in->op >> 4 == 8));
}

/* Jcc and JMP with an 8-bit displacement */
static bool is_near_jump(const struct insn_x86_64 *in)
{
	return !in->is_vex && in->map == MAP_ONE_BYTE && (in->op >> 4 == 7 || in->op == 0xeb);
}

/* The mandatory prefix of SSE and AVX (table 2-12 and section 2.3.6.1): 0, 0x66, 0xf3, 0xf2. */
static uint8_t simd_prefix(const uint8_t *code, bool is_vex)
{
	static const uint8_t pp[] = {0, 0x66, 0xf3, 0xf2};
	uint8_t found = 0;

	if (is_vex)
		return pp[(*code == 0xc5 ? code[1] : code[2]) & 3];
	for (; *code == 0x66 || *code == 0xf2 || *code == 0xf3; code++)
		found = found == 0xf2 || found == 0xf3 ? found : *code;
	return found;
}

/* The size of scalars follows from the prefix; anything wider is taken as 16 bytes. */
static uint8_t simd_bytes(const struct insn_x86_64 *in, uint8_t prefix)
{
	bool compares = in->map == MAP_0F && (in->op == 0x2e || in->op == 0x2f);

	/* Odd FMA opcodes are scalar. */
	if (in->is_vex && in->map == MAP_0F38 && in->op >= 0x96 && in->op <= 0xbf && in->op & 1)
		return in->rex & 8 ? 8 : 4;
	if (prefix == 0xf2 || (prefix == 0xf3 && in->map == MAP_0F && in->op == 0x7e) ||
	    (prefix == 0x66 && compares))
		return 8;
	if (prefix == 0xf3 && !(in->map == MAP_0F && (in->op == 0x6f || in->op == 0x7f)))
		return 4;
	return compares ? 4 : 16;
}

static uint8_t operand_bytes(const struct insn_x86_64 *in, const uint8_t *code)
{
	if (in->is_vex || in->map != MAP_ONE_BYTE)
		return simd_bytes(in, simd_prefix(code, in->is_vex));
	if (in->op == 0x8d)
		return 0;
	return in->rex & 8 ? 8 : in->is_word ? 2 : in->op & 1 ? 4 : 1;
}

bool code_reference_read(const uint8_t *code, size_t n, struct code_reference *ret)
{
	struct insn_x86_64 in;

	*ret = (struct code_reference){0};
	if (!insn_x86_64_read(code, n, &in))
		return false;
	ret->bytes = in.bytes;
	if (is_far_jump(&in) || is_near_jump(&in)) {
		ret->first = in.bytes - (is_near_jump(&in) ? 1 : 4);
		ret->last = in.bytes;
		ret->distance = in.bytes + in.imm;
		ret->is_jump = true;
	} else if (in.has_modrm && !in.is_reg && in.base == REG_RIP) {
		ret->first = in.disp_off;
		ret->last = in.disp_off + 4;
		ret->distance = in.bytes + in.disp;
		ret->loads = operand_bytes(&in, code);
	}
	return true;
}
