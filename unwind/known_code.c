/* known_code.c - code that is recognized by its bytes (unwind/arch.h has them for each processor),
 * as it has no call frame information, or none that is right. */
#include "unwind/known_code.h"

#include <string.h>

const struct arch_exit *known_exit(struct elf_image *img, const struct arch *arch, uint64_t vaddr)
{
	const struct arch_exit *x;
	const uint8_t *code = NULL;
	size_t left = 0, before = 0;

	for (x = arch->exits; x && x->code; x++) {
		if (x == arch->exits || x->before != before) {
			before = x->before;
			code = elf_image_at_vaddr(img, vaddr - before, &left);
		}
		if (code && left >= x->code_bytes && !memcmp(code, x->code, x->code_bytes))
			return x;
	}
	return NULL;
}

static bool has_code(struct elf_image *img, uint64_t vaddr, const struct arch_clone *clone)
{
	size_t left, i = 0;
	const uint8_t *code = elf_image_at_vaddr(img, vaddr, &left);

	if (!code || left < clone->code_bytes)
		return false;
	while (i < clone->code_bytes && (clone->code[i] < 0 || clone->code[i] == code[i]))
		i++;
	return i == clone->code_bytes;
}

bool known_after_clone(struct elf_image *img, const struct arch *arch, uint64_t vaddr)
{
	const struct arch_clone *clone;
	uint64_t past;

	for (clone = arch->clones; clone && clone->code; clone++)
		for (past = clone->first; past <= clone->last; past++)
			if (has_code(img, vaddr - past, clone))
				return true;
	return false;
}

/* True if vaddr is in the code of the trampoline; or one byte before it, where the look-up of the
 * "return address" that the kernel made goes; or at its end, where a sample taken during the system
 * call is. *past: offset from the start. */
static bool is_at_trampoline(struct elf_image *img, const struct arch_trampoline *t, uint64_t vaddr,
			     int *past)
{
	const uint8_t *code;
	size_t left;

	for (*past = -1; *past <= t->code_bytes; ++*past) {
		code = elf_image_at_vaddr(img, vaddr - (uint64_t)*past, &left);
		if (code && left >= t->code_bytes && !memcmp(code, t->code, t->code_bytes))
			return true;
	}
	return false;
}

bool known_trampoline_row(struct elf_image *img, const struct arch *arch, uint64_t vaddr,
			  struct cfi_row *row)
{
	const struct arch_trampoline *t = arch->trampolines;
	int past = 0;
	size_t i;

	while (t && t->code && !is_at_trampoline(img, t, vaddr, &past))
		t++;
	if (!t || !t->code)
		return false;
	*row = (struct cfi_row){.cfa_how = CFI_CFA_REG,
				.cfa_reg = arch->sp,
				.cfa_off = past > 0 ? -(int64_t)t->popped_bytes : 0,
				.ra_reg = arch->pc,
				.n_regs = arch->n_regs,
				.is_signal_frame = true};
	for (i = 0; i < t->n_saved; i++)
		row->regs[t->saved[i].reg] =
			(struct cfi_reg_rule){.how = CFI_OFFSET, .off = t->saved[i].off};
	return true;
}

int known_stub_prefix(struct elf_image *img, const struct arch *arch)
{
	const struct elf_segment *segs;
	size_t n = elf_image_segments(img, &segs), i, left, unread;
	const size_t prefix = arch->stub_prefix_bytes;
	const uint8_t *code, *stub;

	elf_image_bytes(img, &unread); /* bounds the work when segments overlap */
	for (i = 0; i < n; i++) {
		code = segs[i].flags & PF_X ? elf_image_at_vaddr(img, segs[i].vaddr, &left) : NULL;
		if (!code || left > unread)
			continue;
		stub = memmem(code, left, arch->stub, arch->stub_bytes);
		if (stub && (size_t)(stub - code) >= prefix &&
		    !memcmp(stub - prefix, arch->stub_prefix, prefix))
			return (int)prefix;
		if (stub)
			return 0;
		unread -= left;
	}
	return -1;
}
