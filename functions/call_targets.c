/* call_targets.c - function starts, according to the direct calls in a file's own code.
 *
 * Assembly often gives its symbols no size, and a stripped file has no symbols for functions that
 * it does not export. In musl, all code after memset, including the system calls and the root of
 * all threads, would be taken for memset. But these functions are called. */
#include <elf.h>
#include <string.h>

#include "functions/functions.h"

enum { CALL_REL32 = 0xe8, CALL_BYTES = 5, INSN_BYTES = 4 };

static uint32_t word_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Intel SDM volume 2, CALL: E8 cd, at any byte offset. */
static bool next_x86(const uint8_t *code, size_t n, size_t *off, int64_t *target)
{
	const uint8_t *at = n >= CALL_BYTES && *off <= n - CALL_BYTES
				    ? memchr(code + *off, CALL_REL32, n - (CALL_BYTES - 1) - *off)
				    : NULL;

	if (!at)
		return false;
	*off = (size_t)(at - code) + 1;
	*target = (int64_t)*off + CALL_BYTES - 1 + (int32_t)word_at(at + 1);
	return true;
}

/* Arm ARM, BL imm26; instructions are always little-endian. */
static bool next_aarch64(const uint8_t *code, size_t n, size_t *off, int64_t *target)
{
	for (; *off + INSN_BYTES <= n; *off += INSN_BYTES) {
		uint32_t insn = word_at(code + *off);

		if (insn >> 26 == 0x25) {
			*target = (int64_t)*off + ((int64_t)(int32_t)(insn << 6) >> 4);
			*off += INSN_BYTES;
			return true;
		}
	}
	return false;
}

bool next_call(enum insn_set set, const uint8_t *code, size_t n, size_t *off, int64_t *target)
{
	static bool (*const next[INSN_SET_N])(const uint8_t *code, size_t n, size_t *off,
					      int64_t *target) = {
		[INSN_SET_X86] = next_x86,
		[INSN_SET_A64] = next_aarch64,
	};

	return next[set] && next[set](code, n, off, target);
}

bool called_start(struct elf_image *img, uint64_t low, uint64_t high, uint64_t *ret)
{
	const enum insn_set set = processor_insn_set(elf_image_machine(img));
	size_t i, n = elf_image_section_count(img), off;
	struct elf_section s;
	const char *name;
	int64_t to;

	*ret = 0;
	for (i = 0; i < n; i++) {
		if (!elf_image_section_at(img, i, &name, &s) || !(s.flags & SHF_EXECINSTR) ||
		    !s.data)
			continue;
		for (off = 0; next_call(set, s.data, s.size, &off, &to);) {
			uint64_t target = s.vaddr + (uint64_t)to;

			if (target > low && target <= high && target > *ret)
				*ret = target;
		}
	}
	return *ret;
}
