/* insn_x86_64.c - Intel SDM volume 2: chapter 2 (formats, VEX, EVEX), appendix A (opcode maps). */
#include "base/insn_x86_64.h"

#include "base/buf.h"

#define INSN_BYTES_MAX 15

/* What follows an opcode.
 * . nothing        m ModRM           b ModRM, imm8     z ModRM, imm16/32
 * 1 imm8           2 imm16           4 imm16/32        e imm16, imm8
 * j rel8           J rel32           o address         v imm16/32/64
 * g ModRM, imm8 if reg < 2           G the same with imm16/32
 * x not in 64-bit mode, a prefix, or not known here */
static const char one_byte_map[] = "mmmm14xxmmmm14xx" /* 00 */
				   "mmmm14xxmmmm14xx"
				   "mmmm14xxmmmm14xx"
				   "mmmm14xxmmmm14xx"
				   "xxxxxxxxxxxxxxxx" /* 40 */
				   "................"
				   "xxxmxxxx4z1b...."
				   "jjjjjjjjjjjjjjjj"
				   "bzxbmmmmmmmmmmmm" /* 80 */
				   "..........x....."
				   "oooo....14......"
				   "11111111vvvvvvvv"
				   "bb2.xxbze.2..1x." /* c0 */
				   "mmmmxxx.mmmmmmmm"
				   "jjjj1111JJxj...."
				   "x.xx..gG......mm";
static const char map_0f[] = "mmmmx.....x.xm.b" /* 00 */
			     "mmmmmmmmmmmmmmmm"
			     "mmmmxxxxmmmmmmmm"
			     "........xxxxxxxx"
			     "mmmmmmmmmmmmmmmm" /* 40 */
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "bbbbmmm.mmxxmmmm"
			     "JJJJJJJJJJJJJJJJ" /* 80 */
			     "mmmmmmmmmmmmmmmm"
			     "...mbmmm...mbmmm"
			     "mmmmmmmmmmbmmmmm"
			     "mmbmbbbm........" /* c0 */
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm";

struct prefixes {
	bool is_word, is_short_address, is_repeated;
};

static bool prefix_read(uint8_t byte, struct prefixes *p)
{
	switch (byte) {
	case 0x66:
		p->is_word = true;
		return true;
	case 0x67:
		p->is_short_address = true;
		return true;
	case 0xf2:
	case 0xf3:
		p->is_repeated = true;
		return true;
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0xf0:
		return true;
	}
	return false;
}

/* The three inverted bits of a VEX or EVEX prefix that correspond to those of REX. */
static uint8_t inverted_rex(uint8_t byte)
{
	return ~byte >> 5 & 7;
}

/* Reads the rest of a VEX or EVEX prefix after its first byte, and the opcode. */
static bool vex_read(struct buf *b, uint8_t first, struct insn_x86_64 *in)
{
	uint8_t byte = buf_u8(b), map = 1;

	in->is_vex = true;
	in->rex = first == 0xc5 ? inverted_rex(byte) & 4 : inverted_rex(byte);
	if (first == 0xc4)
		map = byte & 0x1f;
	if (first == 0x62)
		map = byte & 7;
	if (first != 0xc5) {
		byte = buf_u8(b);
		in->rex |= (uint8_t)(byte >> 7 << 3);
	}
	in->vex_reg = ~byte >> 3 & 15;
	if (first == 0x62)
		buf_u8(b);
	/* EVEX maps 5 and 6 (16-bit floating point) are encoded like map 2. */
	if (!map || map == 4 || map > 6)
		return false;
	in->map = map <= 3 ? map : MAP_0F38;
	in->op = buf_u8(b);
	return true;
}

static bool opcode_read(struct buf *b, struct insn_x86_64 *in, struct prefixes *p)
{
	uint8_t byte;

	while (prefix_read(byte = buf_u8(b), p))
		;
	if (byte >> 4 == 4) {
		in->rex = byte;
		byte = buf_u8(b);
	} else if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
		return vex_read(b, byte, in);
	}
	if (byte == 0x0f) {
		in->map = MAP_0F;
		byte = buf_u8(b);
		if (byte == 0x38 || byte == 0x3a) {
			in->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
			byte = buf_u8(b);
		}
	}
	in->op = byte;
	return true;
}

static char operands(const struct insn_x86_64 *in)
{
	switch ((enum insn_map)in->map) {
	case MAP_ONE_BYTE:
		return one_byte_map[in->op];
	case MAP_0F:
		return map_0f[in->op];
	case MAP_0F38:
		return 'm';
	case MAP_0F3A:
		return 'b';
	}
	return 'x';
}

static void modrm_read(struct buf *b, struct insn_x86_64 *in)
{
	uint8_t modrm = buf_u8(b), mod = modrm >> 6, sib = 0;
	bool has_sib = mod != 3 && (modrm & 7) == 4;

	in->has_modrm = true;
	in->is_reg = mod == 3;
	in->reg = (uint8_t)((modrm >> 3 & 7) | (in->rex & 4) << 1);
	in->rm = (uint8_t)((modrm & 7) | (in->rex & 1) << 3);
	in->base = in->index = REG_NONE;
	if (in->is_reg)
		return;
	in->base = in->rm;
	if (has_sib) {
		sib = buf_u8(b);
		in->base = (uint8_t)((sib & 7) | (in->rex & 1) << 3);
		in->index = (uint8_t)((sib >> 3 & 7) | (in->rex & 2) << 2);
		if (in->index == 4)
			in->index = REG_NONE;
	}
	if (mod == 1)
		in->disp = (int8_t)buf_u8(b);
	if (mod == 2 || (mod == 0 && (in->base & 7) == 5)) {
		in->disp_off = (uint8_t)(b->p - b->data);
		in->disp = (int32_t)buf_u32(b);
	}
	if (mod == 0 && (in->base & 7) == 5)
		in->base = has_sib ? REG_NONE : REG_RIP;
}

static int64_t signed_read(struct buf *b, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return (int8_t)buf_u8(b);
	case 2:
		return (int16_t)buf_u16(b);
	case 4:
		return (int32_t)buf_u32(b);
	}
	return (int64_t)buf_u64(b);
}

bool insn_x86_64_read(const uint8_t *code, size_t n, struct insn_x86_64 *ret)
{
	struct buf b = buf_make(code, n < INSN_BYTES_MAX ? n : INSN_BYTES_MAX, 0, false);
	struct prefixes p = {0};
	unsigned wide;
	char kind;

	*ret = (struct insn_x86_64){0};
	if (!opcode_read(&b, ret, &p))
		return false;
	kind = operands(ret);
	if (kind == 'x' || (kind == 'J' && ret->is_vex))
		return false;
	/* AMD's EXTRQ and INSERTQ, with two immediates */
	if (ret->map == MAP_0F && ret->op == 0x78 && (p.is_word || p.is_repeated) && !ret->is_vex)
		return false;
	ret->is_word = p.is_word && !(ret->rex & 8);
	wide = ret->is_word ? 2 : 4;
	if (kind >= 'a' && kind != 'e' && kind != 'j' && kind != 'o' && kind != 'v')
		modrm_read(&b, ret);
	if (kind == 'G')
		modrm_read(&b, ret);
	if (kind == 'b' || kind == '1' || kind == 'j' || (kind == 'g' && (ret->reg & 7) < 2))
		ret->imm = signed_read(&b, 1);
	else if (kind == '2' || kind == 'e')
		ret->imm = signed_read(&b, 2);
	else if (kind == 'J')
		ret->imm = signed_read(&b, 4);
	else if (kind == 'z' || kind == '4' || (kind == 'G' && (ret->reg & 7) < 2))
		ret->imm = signed_read(&b, wide);
	else if (kind == 'v')
		ret->imm = signed_read(&b, ret->rex & 8 ? 8 : wide);
	else if (kind == 'o')
		ret->imm = signed_read(&b, p.is_short_address ? 4 : 8);
	if (kind == 'e')
		buf_u8(&b);
	ret->bytes = (uint8_t)(b.p - code);
	return buf_ok(&b);
}
