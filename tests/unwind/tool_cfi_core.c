/* tool_cfi_core.c - writes hard samples of an x86-64 recording as core files, for gdb to unwind.
 *
 *	tool_cfi_core PERF.DATA FOLDER MAX
 *
 * Hard are samples with a frame whose CFA is not sp or fp plus a constant, or with a signal frame;
 *at most MAX of them, and at most 3 with the same such address. For each, FOLDER/N.core has the
 *registers and the stack copy, and on standard output: "core N", "module BIAS PATH" for every file
 *mapped executable, "frame IP" for ours, "stop REASON".
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include "base/hash.h"
#include "tests/unwind/frame_row.h"
#include "unwind/memory.h"

#define SAME_ADDRESS_MAX 3

/* DWARF numbers in the order of struct user_regs_struct; -1: not recorded, 0 in the core. */
static const int8_t user_regs[] = {15, 14, 13, 12, 6,  3, 11, 10, 9,  8,  0,  2,  1, 4,
				   5,  -1, 16, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1};

static bool is_hard(struct modules *modules, const struct frame *f)
{
	struct cfi_row row;

	return frame_row(modules, f, &row) &&
	       (row.is_signal_frame || row.cfa_how == CFI_CFA_EXPRESSION ||
		(row.cfa_how == CFI_CFA_REG && row.cfa_reg != 7 && row.cfa_reg != 6));
}

static int write_core(const struct perf_sample *s, const char *path)
{
	Elf64_Ehdr eh = {.e_type = ET_CORE,
			 .e_machine = EM_X86_64,
			 .e_version = 1,
			 .e_phoff = sizeof eh,
			 .e_ehsize = sizeof eh,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2};
	struct __attribute__((packed)) {
		Elf64_Nhdr nh;
		char name[8];
		struct elf_prstatus st;
	} note = {.nh = {5, sizeof note.st, NT_PRSTATUS}, .name = "CORE"};
	uint64_t note_at = sizeof eh + 2 * sizeof(Elf64_Phdr), sp = 0, v;
	Elf64_Phdr ph[2] = {{.p_type = PT_NOTE, .p_offset = note_at, .p_filesz = sizeof note},
			    {.p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W,
			     .p_offset = note_at + sizeof note,
			     .p_filesz = s->user_stack_bytes,
			     .p_memsz = s->user_stack_bytes}};
	FILE *f = fopen(path, "wb");
	size_t i;

	if (!f)
		return -1;
	memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
	note.st.pr_pid = 1;
	for (i = 0; i < sizeof user_regs; i++)
		if (user_regs[i] >= 0 &&
		    arch_reg(&arch_x86_64, &s->user_regs, (uint8_t)user_regs[i], &v))
			memcpy((char *)&note + offsetof(struct elf_prstatus, pr_reg) + sizeof note -
				       sizeof note.st + 8 * i,
			       &v, 8);
	arch_reg(&arch_x86_64, &s->user_regs, arch_x86_64.sp, &sp);
	ph[1].p_vaddr = sp;
	fwrite(&eh, sizeof eh, 1, f);
	fwrite(ph, sizeof ph, 1, f);
	fwrite(&note, sizeof note, 1, f);
	fwrite(s->user_stack, s->user_stack_bytes, 1, f);
	return fclose(f);
}

static void print_sample(struct modules *modules, const struct perf_sample *s,
			 const struct stack_trace *t, unsigned number)
{
	uint64_t vaddr;
	size_t i;

	printf("core %u\n", number);
	for (i = 0; i < address_space_count(s->space); i++) {
		const struct map *map = address_space_at(s->space, i);
		struct module *mod = modules_get(modules, map->dso);

		if (mod && mod->image && map->dso->kind == DSO_FILE &&
		    module_ip_to_vaddr(mod, map, map->start, &vaddr))
			printf("module 0x%" PRIx64 " %s\n", map->start - vaddr, map->dso->path);
	}
	for (i = t->n_kernel; i < t->n; i++)
		printf("frame %" PRIu64 "\n", t->frames[i].ip);
	printf("stop %s\n", unwind_stop_text(t->stop));
}

/* The address that makes the sample hard; 0: none, or a frame is in no file that gdb can read. */
static uint64_t hard_ip(struct modules *modules, const struct stack_trace *t)
{
	uint64_t ip = 0;
	size_t i;

	for (i = t->n_kernel; i < t->n; i++) {
		if (t->frames[i].map->dso->kind != DSO_FILE)
			return 0;
		if (!ip && is_hard(modules, &t->frames[i]))
			ip = t->frames[i].ip;
	}
	return ip;
}

int main(int argc, char **argv)
{
	struct unwind_options opt = {.no_guess = true};
	struct hash_table seen = {0};
	struct modules *modules;
	struct perf_batch *batch;
	struct stack_trace t;
	struct unwinder *u;
	struct perf_file *f;
	struct err err;
	unsigned number = 0, max = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	char path[4096];
	size_t i;

	if (argc < 4 || perf_file_open(&f, argv[1], NULL, &err) ||
	    modules_new(&modules, NULL, &err) || unwinder_new(&u, modules, &opt, &err))
		return 2;
	while (perf_file_read(f, &batch, &err) > 0) {
		for (i = 0; i < batch->n && number < max; i++) {
			const struct perf_sample *s = &batch->samples[i];
			uint64_t ip;
			uint32_t n;

			unwind_sample(u, s, &t);
			ip = t.stop == UNWIND_STOP_END ? hard_ip(modules, &t) : 0;
			n = ip ? hash_get(&seen, ip) : HASH_NONE;
			n = n == HASH_NONE ? 0 : n;
			if (!ip || n == SAME_ADDRESS_MAX || hash_put(&seen, ip, n + 1))
				continue;
			snprintf(path, sizeof path, "%s/%u.core", argv[2], number);
			if (write_core(s, path))
				return 2;
			print_sample(modules, s, &t, number++);
		}
		perf_batch_release(f, batch);
	}
	hash_done(&seen);
	unwinder_free(u);
	modules_free(modules);
	perf_file_close(f);
	return 0;
}
