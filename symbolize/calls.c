/* calls.c - where functions start, according to the calls of a file's own code.
 *
 * Assembly often gives its symbols no size, and a stripped file has no symbols for functions that
 * it does not export: in musl everything behind memset, system calls and the root of all threads
 * among it, would be memset. But somebody calls these functions. A wrong hit takes a byte of
 * another instruction that looks like a call and is followed by a distance to just these few
 * addresses. */
#include <elf.h>
#include <string.h>

#include "symbolize/elfsyms.h"

enum { CALL_REL32 = 0xe8, CALL_BYTES = 5 };

static uint32_t word_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Intel SDM volume 2, CALL: E8 cd */
static uint64_t last_x86(const uint8_t *code, uint64_t size, uint64_t vaddr, uint64_t low,
			 uint64_t high)
{
	const uint8_t *p = code, *end = code + size;
	uint64_t best = 0;

	while (end - p >= CALL_BYTES && (p = memchr(p, CALL_REL32, (size_t)(end - p) - 4))) {
		uint64_t target = vaddr + (uint64_t)(p - code) + CALL_BYTES +
				  (uint64_t)(int64_t)(int32_t)word_at(p + 1);

		if (target > low && target <= high && target > best)
			best = target;
		p++;
	}
	return best;
}

/* Arm ARM, BL imm26; instructions are little-endian everywhere. */
static uint64_t last_aarch64(const uint8_t *code, uint64_t size, uint64_t vaddr, uint64_t low,
			     uint64_t high)
{
	uint64_t best = 0, off;

	for (off = 0; size - off >= 4; off += 4) {
		uint32_t insn = word_at(code + off);
		uint64_t target = vaddr + off + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4);

		if (insn >> 26 == 0x25 && target > low && target <= high && target > best)
			best = target;
	}
	return best;
}

bool called_start(struct elf_image *img, uint64_t low, uint64_t high, uint64_t *ret)
{
	uint16_t machine = elf_image_machine(img);
	size_t i, n = elf_image_section_count(img);
	struct elf_section s;
	const char *name;
	uint64_t last;

	*ret = 0;
	for (i = 0; i < n; i++) {
		if (!elf_image_section_at(img, i, &name, &s) || !(s.flags & SHF_EXECINSTR) ||
		    !s.data)
			continue;
		if (machine == EM_X86_64 || machine == EM_386)
			last = last_x86(s.data, s.size, s.vaddr, low, high);
		else if (machine == EM_AARCH64)
			last = last_aarch64(s.data, s.size, s.vaddr, low, high);
		else
			return false;
		if (last > *ret)
			*ret = last;
	}
	return *ret;
}
