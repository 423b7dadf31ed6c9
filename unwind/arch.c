/* arch.c - the table of processors. */
#include "unwind/arch.h"

#include <stddef.h>
#include <sys/utsname.h>

#include "base/processor.h"
#include "unwind/unwind.h"

static const struct arch *const archs[] = {&arch_x86_64, &arch_i386, &arch_aarch64};

const struct arch *arch_find(const char *name, uint64_t abi)
{
	unsigned word_bytes = abi == PERF_REGS_ABI_32_ ? 4 : abi == PERF_REGS_ABI_64_ ? 8 : 0;
	const struct processor *cpu;
	struct utsname uts;

	if (!name)
		name = uname(&uts) ? "" : uts.machine;
	cpu = processor_find(name, word_bytes);
	return cpu ? arch_find_elf(cpu->e_machine, cpu->word_bytes == 8) : NULL;
}

const struct arch *arch_find_elf(uint16_t e_machine, bool is_64)
{
	size_t i;

	for (i = 0; i < sizeof archs / sizeof *archs; i++)
		if (archs[i]->e_machine == e_machine && (archs[i]->word_bytes == 8) == is_64)
			return archs[i];
	return NULL;
}

/* An authentication code occupies the bits between the top of the process's address space and bit
 * 55; bits 56 and up may hold a tag (Arm ARM D5.1.4). The size of the address space was not
 * recorded: 39, 42, 47, 48 or 52 bits, depending on the kernel's configuration. As many bits as the
 * highest mapping of the process needs are enough, because an address above it would be of no
 * use. */
uint64_t arch_code_mask(const struct arch *arch, const struct address_space *space)
{
	size_t n;

	if (!arch->signs_addresses)
		return UINT64_MAX;
	n = address_space_count(space);
	if (!n)
		return UINT64_MAX;
	return UINT64_MAX >> __builtin_clzll((address_space_at(space, n - 1)->end - 1) | 1);
}

bool unwind_ends_in_call(uint16_t e_machine, bool is_64, const uint8_t *end, size_t n)
{
	const struct arch *arch = arch_find_elf(e_machine, is_64);

	return !arch || arch->ends_in_call(end, n);
}
