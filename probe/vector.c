/* vector.c - leaves out places at which a probe would make the program compute something else.
 *
 * The kernel executes some instructions below a probe itself, by their opcode's byte alone
 * (uprobes.c of arch/x86/kernel: 70 to 7f are conditional jumps, 50 to 57 push, c3 returns ..).
 * Instructions that are encoded with VEX, EVEX or XOP have the same bytes for something else:
 * vpbroadcastb, with which many of glibc's string functions begin, is taken for a jump, and does
 * nothing (Linux 6.18; also with perf's probes). */
#include <elf.h>
#include <string.h>

#include "probe/places.h"

static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67};

	return memchr(prefixes, byte, sizeof prefixes);
}

bool is_vector_insn(const uint8_t *insn, size_t n, bool is_64_bit)
{
	size_t i = 0;

	while (i < n && is_prefix(insn[i]))
		i++;
	if (i + 1 >= n)
		return false;
	switch (insn[i]) {
	case 0xc4:
	case 0xc5:
	case 0x62: /* in 32-bit code LES, LDS and BOUND, if that is of memory */
		return is_64_bit || insn[i + 1] >> 6 == 3;
	case 0x8f: /* POP has 0 there */
		return (insn[i + 1] & 0x38) != 0;
	default:
		return false;
	}
}

/* FF /3: the kernel mends the return address below a probe as that of a near call, and so destroys
 * the code segment that a far call pushes beside it (Linux 6.18: the program dies). */
bool is_far_call(const uint8_t *insn, size_t n, bool is_64_bit)
{
	size_t i = 0;

	while (i < n && (is_prefix(insn[i]) || insn[i] == 0x66))
		i++;
	if (is_64_bit && i < n && insn[i] >> 4 == 4) /* REX */
		i++;
	return i + 1 < n && insn[i] == 0xff && (insn[i + 1] >> 3 & 7) == 3;
}

bool is_vector_at(struct elf_image *img, uint64_t off)
{
	const uint16_t machine = elf_image_machine(img);
	size_t size = 0;
	const uint8_t *bytes = elf_image_bytes(img, &size);

	const bool is_64_bit = machine == EM_X86_64;

	return (is_64_bit || machine == EM_386) && off < size &&
	       (is_vector_insn(bytes + off, (size_t)(size - off), is_64_bit) ||
		is_far_call(bytes + off, (size_t)(size - off), is_64_bit));
}

void places_drop_vector(struct probe_places *p, struct elf_image *img)
{
	size_t n = 0;

	for (size_t i = 0; i < p->places.n; i++)
		if (!is_vector_at(img, p->places.v[i].off))
			p->places.v[n++] = p->places.v[i];
	p->n_vector = p->places.n - n;
	p->places.n = n;
}
