/* tool_stacks.c FILE - a recording's stacks for other unwinders to work on; see bench/framehop.rs.
 * Lines: "V", then "M start end pgoff path" per executable mapping, when these are others than
 * before; "S tid time_ns pc sp fp n", then n bytes of stack. Numbers are decimal. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "unwind/arch.h"
#include "unwind/memory.h"

static void print_maps(const struct address_space *as)
{
	size_t i;

	puts("V");
	for (i = 0; i < address_space_count(as); i++) {
		const struct map *m = address_space_at(as, i);

		if (m->prot & PROT_EXEC)
			printf("M %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", m->start, m->end,
			       m->pgoff, m->dso->path);
	}
}

static void print_sample(const struct perf_sample *s, const struct arch *arch,
			 const struct address_space **last)
{
	uint64_t pc, sp, fp = 0;

	if (!s->user_stack_asked || !arch_reg(arch, &s->user_regs, arch->pc, &pc) ||
	    !arch_reg(arch, &s->user_regs, arch->sp, &sp))
		return;
	arch_reg(arch, &s->user_regs, arch->fp, &fp);
	if (s->space != *last)
		print_maps(s->space);
	*last = s->space;
	printf("S %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", s->tid, s->time_ns, pc,
	       sp, fp, s->user_stack_bytes);
	fwrite(s->user_stack, 1, s->user_stack_bytes, stdout);
}

int main(int argc, char **argv)
{
	const struct address_space *last = NULL;
	const struct arch *arch;
	struct perf_batch *batch;
	struct perf_file *f;
	struct err err;
	size_t i;
	int rc;

	if (argc != 2 || perf_file_open(&f, argv[1], NULL, &err))
		return 2;
	arch = arch_find(perf_file_info(f)->arch, PERF_REGS_ABI_64_);
	if (!arch)
		return 2;
	while ((rc = perf_file_read(f, &batch, &err)) > 0) {
		for (i = 0; i < batch->n; i++)
			print_sample(&batch->samples[i], arch, &last);
		perf_batch_release(f, batch);
		last = NULL; /* its address may be used again */
	}
	perf_file_close(f);
	return rc ? 2 : 0;
}
