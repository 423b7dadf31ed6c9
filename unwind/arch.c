/* arch.c - the table of processors. */
#include "unwind/arch.h"

#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

#include "reader/reader.h"

static const struct arch *const archs[] = {&arch_x86_64, &arch_i386, &arch_aarch64};

static bool has_name(const struct arch *a, const char *name)
{
	const char *const *n;

	for (n = a->names; *n; n++)
		if (!strcmp(*n, name))
			return true;
	return false;
}

const struct arch *arch_find(const char *name, uint64_t abi)
{
	unsigned word_bytes = abi == PERF_REGS_ABI_32_ ? 4 : abi == PERF_REGS_ABI_64_ ? 8 : 0;
	struct utsname uts;
	size_t i;

	if (!name)
		name = uname(&uts) ? "" : uts.machine;
	for (i = 0; i < sizeof archs / sizeof *archs; i++)
		if (has_name(archs[i], name) && (!word_bytes || archs[i]->word_bytes == word_bytes))
			return archs[i];
	return NULL;
}

const struct arch *arch_find_elf(uint16_t e_machine, bool is_64)
{
	size_t i;

	for (i = 0; i < sizeof archs / sizeof *archs; i++)
		if (archs[i]->e_machine == e_machine && (archs[i]->word_bytes == 8) == is_64)
			return archs[i];
	return NULL;
}
