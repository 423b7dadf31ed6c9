/* native_image.c - frames in methods of native-image: what their code does to them. */
#include "unwind/native_image.h"

/* A method begins by saving the frame pointer and lowering the stack pointer. */
#define PROLOGUE_INSNS 4

/* Where a pass over a method is: at the instruction at `at`, with frame `f` before it. */
struct pass {
	const struct native_method *m;
	const struct arch *arch;
	const uint8_t *code; /* of the method */
	size_t left;
	uint64_t at; /* offset from the start */
	struct code_frame f;
	struct code_frame body; /* of nearly all of the method; sp 0: not known yet */
};

static bool pass_begin(struct pass *p, const struct native_method *m, struct elf_image *img,
		       const struct arch *arch)
{
	*p = (struct pass){.m = m, .arch = arch, .f = arch_entry_frame(arch)};
	p->code = elf_image_at_vaddr(img, m->start, &p->left);
	if (p->left > m->end - m->start)
		p->left = m->end - m->start;
	return p->code;
}

static bool pass_step(struct pass *p, struct code_insn *in)
{
	if (!p->arch->code_step(p->code + p->at, p->left - p->at, &p->f, in))
		return false;
	p->at += in->bytes;
	return true;
}

/* Passes the instructions that make the frame. Returns false if they do not make one of the size in
 * the table. */
static bool pass_prologue(struct pass *p)
{
	struct code_insn in;
	unsigned i;

	for (i = 0; i < PROLOGUE_INSNS && p->f.sp != p->m->frame_bytes; i++)
		if (!pass_step(p, &in) || in.way != CODE_ON)
			return false;
	p->body = p->f;
	return p->f.sp == p->m->frame_bytes;
}

/* The code ends, or tables of addresses follow, which begin behind HLT. */
static bool is_over(const struct pass *p)
{
	return p->at >= p->left || p->code[p->at] == 0xf4;
}

/* Passes an instruction behind the prologue. The stack pointer only changes where the method is
 * left: all of the frame is taken away at once, but for the saved frame pointer, which is popped,
 * and a return or a jump follows. Returns false where that is not so. */
static bool pass_insn(struct pass *p)
{
	const int32_t word = p->arch->word_bytes, left = p->body.saved_fp ? 2 * word : word;
	const int32_t before = p->f.sp;
	struct code_insn in;

	if (!pass_step(p, &in))
		return false;
	if (in.way == CODE_RETURN || (before != p->body.sp && in.way == CODE_JUMP)) {
		p->f = p->body;
		return before == word;
	}
	if (before != p->body.sp)
		return in.way == CODE_ON && in.bytes == 1 && p->f.sp == word;
	if (p->f.sp != before)
		return in.way == CODE_ON && p->f.sp == left;
	p->f = p->body;
	return true;
}

/* Methods preserve no registers of their callers; those that C code calls, and some that compiled
 * code calls in the middle of anything, first push the frame pointer. */
static void make_row(const struct pass *p, struct cfi_row *row)
{
	const struct arch *arch = p->arch;
	const struct code_frame *f = &p->f;
	unsigned reg;

	*row = (struct cfi_row){.start = p->m->start,
				.end = p->m->end,
				.cfa_how = CFI_CFA_REG,
				.cfa_reg = arch->sp,
				.cfa_off = f->sp,
				.ra_reg = arch->ra,
				.n_regs = arch->n_regs};
	for (reg = 0; reg < row->n_regs; reg++)
		row->regs[reg].how = CFI_UNDEFINED;
	row->regs[arch->sp].how = CFI_UNSPECIFIED;
	row->regs[arch->ra] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -arch->word_bytes};
	if (f->saved_fp && f->sp >= f->saved_fp)
		row->regs[arch->fp] = (struct cfi_reg_rule){.how = CFI_OFFSET, .off = -f->saved_fp};
	else if (p->body.saved_fp || !p->body.sp)
		row->regs[arch->fp].how = CFI_SAME_VALUE;
}

bool native_image_row_at_return(const struct native_method *m, struct elf_image *img,
				const struct arch *arch, struct cfi_row *row)
{
	struct pass p;

	if (!pass_begin(&p, m, img, arch) || !pass_prologue(&p))
		return false;
	make_row(&p, row);
	return true;
}

/* The row in the prologue. */
static bool row_in_prologue(struct pass *p, uint64_t off, struct cfi_row *row)
{
	struct code_insn in;

	p->at = 0;
	p->f = arch_entry_frame(p->arch);
	p->body = (struct code_frame){0};
	while (p->at < off && pass_step(p, &in))
		;
	make_row(p, row);
	return p->at == off;
}

bool native_image_row_at(const struct native_method *m, struct elf_image *img,
			 const struct arch *arch, uint64_t vaddr, uint64_t *steps,
			 struct cfi_row *row)
{
	const uint64_t off = vaddr - m->start;
	bool found = false;
	struct pass p;

	if (!pass_begin(&p, m, img, arch) || !pass_prologue(&p))
		return false;
	if (off < p.at)
		return row_in_prologue(&p, off, row);
	for (; !is_over(&p); --*steps) {
		if (p.at == off) {
			make_row(&p, row);
			found = true;
		}
		if (!*steps || !pass_insn(&p))
			return false;
	}
	return found;
}
