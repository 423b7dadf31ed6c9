/* insn_writes.c - which registers an x86-64 instruction writes (Intel SDM volume 2). */
#include "unwind/insn_writes.h"

/* For the one-byte map, with a ModRM byte: whether rm or reg is written. Conservative: true if in
 * doubt. */
static bool one_byte_writes_rm(const struct insn_x86_64 *in)
{
	unsigned op = in->op, ext = in->reg & 7;

	if (op < 0x40)
		return op < 0x38 && (op & 7) < 2;
	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return ext != 7;
	case 0xf6:
	case 0xf7:
		return ext == 2 || ext == 3;
	case 0xfe:
	case 0xff:
		return ext < 2;
	}
	return op == 0x86 || op == 0x87 || op == 0x88 || op == 0x89 || op == 0x8c || op == 0x8f ||
	       op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3);
}

static bool one_byte_writes_reg(const struct insn_x86_64 *in)
{
	unsigned op = in->op;

	if (op < 0x40)
		return op < 0x38 && (op & 7) >= 2;
	return op == 0x63 || op == 0x69 || op == 0x6b || op == 0x86 || op == 0x87 || op == 0x8a ||
	       op == 0x8b || op == 0x8d;
}

static bool map_0f_writes_rm(const struct insn_x86_64 *in)
{
	unsigned op = in->op;

	if (in->is_vex)
		return op == 0x7e;
	return op == 0x7e || op >> 4 == 9 || op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac ||
	       op == 0xad || op == 0xb0 || op == 0xb1 || op == 0xb3 || op == 0xba || op == 0xbb ||
	       op == 0xc0 || op == 0xc1 || op == 0x00 || op == 0x01 || op == 0xae;
}

static bool map_0f_writes_reg(const struct insn_x86_64 *in)
{
	unsigned op = in->op;

	if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0xc5 || op == 0xd7 ||
	    (in->is_vex && op == 0x93))
		return true;
	return !in->is_vex && (op == 0x02 || op == 0x03 || op >> 4 == 4 || op == 0xaf ||
			       op == 0xb2 || (op >= 0xb4 && op <= 0xb8) ||
			       (op >= 0xbc && op <= 0xbf) || op == 0xc0 || op == 0xc1);
}

/* True for 8-bit operands: there registers 4 to 7 are AH to BH unless there is a REX prefix. */
static bool has_high_bytes(const struct insn_x86_64 *in)
{
	unsigned op = in->op;

	if (in->rex || in->is_vex)
		return false;
	if (in->map == MAP_0F)
		return op >> 4 == 9 || op == 0xb0 || op == 0xc0;
	if (in->map != MAP_ONE_BYTE)
		return false;
	return op < 0x40 ? !(op & 1)
			 : op == 0x80 || (op >= 0x84 && op <= 0x8a && !(op & 1)) ||
				   (op >= 0xb0 && op <= 0xb7) || op == 0xc0 || op == 0xc6 ||
				   op == 0xd0 || op == 0xd2 || op == 0xf6 || op == 0xfe;
}

bool insn_writes(const struct insn_x86_64 *in, unsigned which)
{
	unsigned bits = has_high_bytes(in) ? 3 : 15; /* AH and AL are parts of the same register */
	bool rm = in->has_modrm && in->is_reg && (in->rm & bits) == which;
	bool reg = in->has_modrm && (in->reg & bits) == which;

	switch ((enum insn_map)in->map) {
	case MAP_ONE_BYTE:
		if (!in->has_modrm)
			return ((in->op >= 0x91 && in->op <= 0x97) || in->op >> 4 == 0xb ||
				(in->op == 0x90 && in->rex & 1)) &&
			       (((in->op & 7u) | (in->rex & 1u) << 3) & bits) == which;
		return (rm && one_byte_writes_rm(in)) || (reg && one_byte_writes_reg(in));
	case MAP_0F:
		if (in->op >= 0xc8 && in->op <= 0xcf && !in->is_vex)
			return ((in->op & 7) | (in->rex & 1) << 3) == (int)which;
		return (rm && map_0f_writes_rm(in)) || (reg && map_0f_writes_reg(in));
	case MAP_0F38:
		if (in->is_vex && in->op >= 0xf2 && in->op <= 0xf7) /* BMI */
			return (reg && in->op != 0xf3) ||
			       (in->vex_reg == which && (in->op == 0xf3 || in->op == 0xf6));
		return reg && in->op >= 0xf0;
	case MAP_0F3A:
		return (rm && in->op >= 0x14 && in->op <= 0x17) || (reg && in->op == 0xf0);
	}
	return false;
}

/* Bits of register sets. */
enum { A = 1, C = 2, D = 4, B = 8, SI = 0x40, DI = 0x80, R11 = 0x800 };

static unsigned one_byte_writes_besides(const struct insn_x86_64 *in)
{
	unsigned op = in->op, ext = in->reg & 7;

	if (op < 0x38)
		return (op & 6) == 4 ? A : 0; /* an immediate to AL or EAX */
	switch (op) {
	case 0x99:
		return D;
	case 0xcd: /* int $0x80 */
	case 0xd7: /* xlat */
	case 0xe4: /* in */
	case 0xe5:
	case 0xec:
	case 0xed:
		return A;
	case 0xdf: /* fnstsw %ax */
		return ext == 4 ? A : 0;
	case 0xf6: /* mul, div */
	case 0xf7:
		return ext >= 4 ? A | D : 0;
	}
	if ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf)) /* strings */
		return A | C | SI | DI;
	if (op >= 0xe0 && op <= 0xe2) /* loop */
		return C;
	/* xchg, cltq, lahf, mov */
	return (op >= 0x91 && op <= 0x98) || (op == 0x90 && in->rex & 1) || op == 0x9f ||
			       op == 0xa0 || op == 0xa1
		       ? A
		       : 0;
}

static unsigned map_0f_writes_besides(const struct insn_x86_64 *in)
{
	switch (in->op) {
	case 0x05: /* syscall */
		return A | C | R11;
	case 0x01: /* xgetbv, rdtscp, ... */
	case 0xa2: /* cpuid */
		return A | B | C | D;
	case 0x31: /* rdtsc, rdmsr, rdpmc */
	case 0x32:
	case 0x33:
		return A | D;
	case 0xb0: /* cmpxchg */
	case 0xb1:
		return A;
	case 0xc7: /* cmpxchg16b; rdrand, rdseed and rdpid of a register */
		return A | D | (in->is_reg ? 1u << in->rm : 0);
	}
	return 0;
}

unsigned insn_writes_besides(const struct insn_x86_64 *in)
{
	if (in->is_vex)
		return in->map == MAP_0F38 && in->op == 0xf6 ? D : 0;
	return in->map == MAP_ONE_BYTE ? one_byte_writes_besides(in)
	       : in->map == MAP_0F     ? map_0f_writes_besides(in)
				       : 0;
}
