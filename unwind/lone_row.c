/* lone_row.c - functions with one row of call frame information for all of their code.
 *
 * All of LuaJIT's interpreter (lj_vm_asm) is one such function. Its row is that of the
 * interpreter's frame, which is not there yet, or no longer, at the instructions that make and
 * leave it: what is on the stack there, these tell. They must save and restore just what the row
 * says, where it says: a push is of the register whose place is next below, a pop of the one that
 * is lowest, and the return address is all that is left at a return. */
#include <elf.h>
#include <string.h>

#include "unwind/known_code.h"

enum { WORD = 8, INSNS_MAX = 16 };

struct insn {
	enum { OTHER, PUSH, POP, LOWER, RAISE, RETURN } what;
	uint8_t reg; /* DWARF number, of PUSH and POP */
	int32_t n;   /* bytes by which sp changes */
	unsigned bytes;
};

/* Intel SDM volume 2: PUSH r64, POP r64, ADD and SUB r64, imm8 and imm32, RET. */
static struct insn decode(const uint8_t *code, size_t left)
{
	static const uint8_t dwarf[] = {0, 2, 1, 3, 7, 6, 4, 5}; /* psABI, figure 3.36 */
	const unsigned rex = left && code[0] == 0x41;
	const uint8_t op = left > rex ? code[rex] : 0, reg = op & 7;
	int32_t n = 0;

	if (op == 0xc3 && !rex)
		return (struct insn){.what = RETURN, .bytes = 1};
	if (op >> 4 == 5)
		return (struct insn){op & 8 ? POP : PUSH, rex ? reg + 8 : dwarf[reg], WORD,
				     rex + 1};
	if (left < 7 || code[0] != 0x48 || (code[1] != 0x81 && code[1] != 0x83) ||
	    (code[2] != 0xec && code[2] != 0xc4))
		return (struct insn){.what = OTHER};
	if (code[1] == 0x81)
		memcpy(&n, code + 3, sizeof n);
	else
		n = (int8_t)code[3];
	return (struct insn){code[2] == 0xec ? LOWER : RAISE, 0, n, code[1] == 0x81 ? 7 : 4};
}

/* True if the register is saved at so many bytes below the CFA. */
static bool is_saved(const struct cfi_row *row, unsigned reg, int64_t below)
{
	return reg < row->n_regs && row->regs[reg].how == CFI_OFFSET &&
	       row->regs[reg].off == -below;
}

static bool has_saved(const struct cfi_row *row, int64_t below)
{
	unsigned reg = 0;

	while (reg < row->n_regs && !is_saved(row, reg, below))
		reg++;
	return reg < row->n_regs;
}

/* How many bytes are on the stack below the CFA, as the instructions from `code` on tell, in the
 * order of `insns`: up to the one that lowers the stack pointer for good, or to the return. 0: they
 * do not. */
static int64_t told(const struct insn *v, size_t n, const struct cfi_row *row)
{
	const bool leaves = v[n - 1].what == RETURN;
	int64_t depth = leaves ? WORD : row->cfa_off, at;
	size_t i;

	for (i = 0; i < n; i++)
		depth += leaves ? v[i].n : -v[i].n;
	at = depth;
	for (i = 0; i < n && at >= WORD; i++) {
		if ((v[i].what == PUSH && (leaves || !is_saved(row, v[i].reg, at + WORD))) ||
		    (v[i].what == POP && (!leaves || !is_saved(row, v[i].reg, at))) ||
		    (v[i].what == LOWER && (leaves || !has_saved(row, at))) ||
		    (v[i].what == RAISE && (!leaves || at != row->cfa_off)))
			return 0;
		at += v[i].what == PUSH || v[i].what == LOWER ? v[i].n : -v[i].n;
	}
	return i == n ? depth : 0;
}

/* Of the instructions at vaddr the ones that change the stack pointer, up to the last one that
 * told() needs. Returns how many; 0: something else is among them. */
static size_t insns_at(const struct elf_image *img, uint64_t vaddr, struct insn *v)
{
	size_t left;
	const uint8_t *code = elf_image_at_vaddr(img, vaddr, &left);

	for (size_t n = 0; code && n < INSNS_MAX; n++) {
		v[n] = decode(code, left);
		if (v[n].what == OTHER || v[n].n < 0)
			return 0;
		if (v[n].what == RETURN || v[n].what == LOWER)
			return n + 1;
		code += v[n].bytes;
		left -= v[n].bytes;
	}
	return 0;
}

void known_lone_row(struct elf_image *img, const struct arch *arch, const struct cfi_fde *fde,
		    uint64_t vaddr, struct cfi_row *row)
{
	struct insn insns[INSNS_MAX];
	int64_t depth;
	size_t n;

	if (!img || arch->e_machine != EM_X86_64 || row->start > fde->start ||
	    row->end < fde->end || row->cfa_how != CFI_CFA_REG || row->cfa_reg != arch->sp ||
	    row->cfa_off <= WORD || !is_saved(row, row->ra_reg, WORD))
		return;
	n = insns_at(img, vaddr, insns);
	depth = n ? told(insns, n, row) : 0;
	if (!depth || depth >= row->cfa_off)
		return;
	row->cfa_off = depth;
	for (unsigned reg = 0; reg < row->n_regs; reg++)
		if (row->regs[reg].how == CFI_OFFSET && row->regs[reg].off < -depth)
			row->regs[reg] = (struct cfi_reg_rule){.how = CFI_SAME_VALUE};
}
