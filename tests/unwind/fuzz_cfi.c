/* fuzz_cfi.c - libFuzzer target: call frame information, and stacks walked by it.
 *
 * The input is a header of 12 bytes - flags, the CPU (enum below), and the sizes of what follows -
 * then .eh_frame, .eh_frame_hdr, .debug_frame, .gopclntab, and a stack. From these an ELF file is
 * made with each of them at a fixed address (fuzz_seeds.sh links its programs accordingly); its
 * rows are looked up one by one, then samples inside of it are unwound, in the fast way and with
 * all registers, which must not differ. */
#include <string.h>

#include "reader/machine.h"
#include "tests/reader/machine_facts.h"
#include "tests/fuzz.h"
#include "unwind/cfi.h"
#include "unwind/cfi.h"
#include "unwind/unwind.h"

enum { PART_EH, PART_HDR, PART_DEBUG, PART_GO, PART_N };
enum { CPU_X86_64, CPU_AARCH64, CPU_I386, CPU_N };
enum { FLAG_SECTIONLESS = 1, FLAG_NO_HDR = 2, FLAG_NO_GUESS = 4, FLAG_LIBDW = 8 };

enum {
	HEAD_BYTES = 12,
	TEXT_VADDR = 0x1000, /* file offset = vaddr for all that is loaded */
	TEXT_BYTES = 0x1000,
	TEXT_LOOKED = 0x400, /* of them: the seeds' code is shorter */
	PART_BYTES = 0x1000,
	SHDRS_OFF = TEXT_VADDR + TEXT_BYTES + PART_N * PART_BYTES,
	N_SHDRS = PART_N + 3,
	NAMES_OFF = SHDRS_OFF + N_SHDRS * (int)sizeof(Elf64_Shdr),
	FILE_BYTES = NAMES_OFF + 128,
	LOAD_BIAS = 0x400000, /* of the mapping */
	STACK_IP = 0x7ffe0000,
	STACK_BYTES_MAX = 0x2000,
};

static const char names[] =
	"\0.eh_frame\0.eh_frame_hdr\0.debug_frame\0.gopclntab\0.text\0.shstrtab";
static const uint8_t name_off[] = {1, 11, 25, 38, 49, 55};

struct input {
	uint8_t flags, cpu;
	const uint8_t *part[PART_N];
	size_t size[PART_N];
	const uint8_t *stack;
	size_t stack_bytes;
};

static uint64_t part_vaddr(unsigned part)
{
	return TEXT_VADDR + TEXT_BYTES + part * (uint64_t)PART_BYTES;
}

static bool input_parse(struct input *in, const uint8_t *data, size_t size)
{
	struct buf b = buf_make(data, size, 0, false);

	in->flags = buf_u8(&b);
	in->cpu = buf_u8(&b) % CPU_N;
	buf_skip(&b, 2);
	for (unsigned i = 0; i < PART_N; i++)
		in->size[i] = buf_u16(&b) % (PART_BYTES + 1);
	for (unsigned i = 0; i < PART_N; i++) {
		if (in->size[i] > buf_left(&b))
			in->size[i] = buf_left(&b);
		in->part[i] = buf_take(&b, in->size[i]);
	}
	in->stack = b.p;
	in->stack_bytes = buf_left(&b) < STACK_BYTES_MAX ? buf_left(&b) : STACK_BYTES_MAX;
	return buf_ok(&b);
}

/* ---- the file ----------------------------------------------------------------------------- */

/* put_section64(), put_headers64() and the same for 32 bits. */
#define PUT(bits)                                                                                  \
	static void put_section##bits(uint8_t *file, unsigned index, unsigned name, uint64_t off,  \
				      uint64_t size)                                               \
	{                                                                                          \
		const Elf##bits##_Shdr sh = {                                                      \
			.sh_name = name_off[name],                                                 \
			.sh_type = name == PART_N + 1 ? SHT_STRTAB : SHT_PROGBITS,                 \
			.sh_flags = SHF_ALLOC,                                                     \
			.sh_addr = (Elf##bits##_Addr)off,                                          \
			.sh_offset = (Elf##bits##_Off)off,                                         \
			.sh_size = (Elf##bits##_Off)size,                                          \
		};                                                                                 \
                                                                                                   \
		memcpy(file + SHDRS_OFF + index * sizeof sh, &sh, sizeof sh);                      \
	}                                                                                          \
                                                                                                   \
	static void put_headers##bits(uint8_t *file, const struct input *in, uint16_t machine)     \
	{                                                                                          \
		const Elf##bits##_Ehdr eh = {                                                      \
			.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS##bits, ELFDATA2LSB, EV_CURRENT}, \
			.e_type = ET_DYN,                                                          \
			.e_machine = machine,                                                      \
			.e_version = EV_CURRENT,                                                   \
			.e_entry = TEXT_VADDR,                                                     \
			.e_phoff = sizeof eh,                                                      \
			.e_shoff = in->flags & FLAG_SECTIONLESS ? 0 : SHDRS_OFF,                   \
			.e_ehsize = sizeof eh,                                                     \
			.e_phentsize = sizeof(Elf##bits##_Phdr),                                   \
			.e_phnum = in->flags & FLAG_NO_HDR ? 1 : 2,                                \
			.e_shentsize = sizeof(Elf##bits##_Shdr),                                   \
			.e_shnum = in->flags & FLAG_SECTIONLESS ? 0 : N_SHDRS,                     \
			.e_shstrndx = in->flags & FLAG_SECTIONLESS ? 0 : N_SHDRS - 1,              \
		};                                                                                 \
		const Elf##bits##_Phdr ph[] = {                                                    \
			{.p_type = PT_LOAD,                                                        \
			 .p_flags = PF_R | PF_X,                                                   \
			 .p_filesz = SHDRS_OFF,                                                    \
			 .p_memsz = SHDRS_OFF,                                                     \
			 .p_align = 0x1000},                                                       \
			{.p_type = PT_GNU_EH_FRAME,                                                \
			 .p_flags = PF_R,                                                          \
			 .p_offset = (Elf##bits##_Off)part_vaddr(PART_HDR),                        \
			 .p_vaddr = (Elf##bits##_Addr)part_vaddr(PART_HDR),                        \
			 .p_filesz = (Elf##bits##_Off)in->size[PART_HDR],                          \
			 .p_memsz = (Elf##bits##_Off)in->size[PART_HDR]},                          \
		};                                                                                 \
                                                                                                   \
		memcpy(file, &eh, sizeof eh);                                                      \
		memcpy(file + eh.e_phoff, ph, sizeof ph);                                          \
		for (unsigned i = 0; i < PART_N; i++)                                              \
			put_section##bits(file, 1 + i, i, part_vaddr(i), in->size[i]);             \
		put_section##bits(file, 1 + PART_N, PART_N, TEXT_VADDR, TEXT_BYTES);               \
		put_section##bits(file, 2 + PART_N, PART_N + 1, NAMES_OFF, sizeof names);          \
	}
PUT(32)
PUT(64)

/* FILE_BYTES of malloc'ed memory. */
static uint8_t *make_file(const struct input *in)
{
	uint8_t *file = calloc(1, FILE_BYTES);

	FUZZ_CHECK(file);
	if (in->cpu == CPU_I386)
		put_headers32(file, in, EM_386);
	else
		put_headers64(file, in, in->cpu == CPU_AARCH64 ? EM_AARCH64 : EM_X86_64);
	/* Calls everywhere, so that return addresses are believed. */
	memset(file + TEXT_VADDR, 0xe8, TEXT_BYTES);
	for (unsigned i = 0; i < PART_N; i++)
		memcpy(file + part_vaddr(i), in->part[i], in->size[i]);
	memcpy(file + NAMES_OFF, names, sizeof names);
	return file;
}

/* ---- rows --------------------------------------------------------------------------------- */

static void check_inside(const struct cfi_section *sec, const uint8_t *p, size_t n)
{
	FUZZ_CHECK(p >= sec->data && n <= sec->size && (size_t)(p - sec->data) <= sec->size - n);
}

static void check_row(const struct cfi_fde *fde, const struct arch *arch, uint64_t vaddr)
{
	struct cfi_row row;

	FUZZ_CHECK(fde->start <= vaddr && vaddr < fde->end);
	if (!cfi_row_find(fde, arch, vaddr, NULL, &row))
		return;
	FUZZ_CHECK(row.start <= vaddr && vaddr < row.end);
	FUZZ_CHECK(row.n_regs <= ARCH_REGS_MAX && row.ra_reg < row.n_regs);
	if (row.cfa_how == CFI_CFA_EXPRESSION)
		check_inside(fde->sec, row.cfa_expr, row.cfa_expr_len);
	for (unsigned i = 0; i < row.n_regs; i++)
		if (row.regs[i].how >= CFI_EXPRESSION)
			check_inside(fde->sec, row.regs[i].expr, row.regs[i].expr_len);
}

static void check_entries(const struct cfi_section *sec)
{
	struct cfi_fde fde;
	uint64_t off, next;

	for (off = 0; off < sec->size; off = next) {
		enum cfi_entry_kind kind = cfi_entry_at(sec, off, &next);

		FUZZ_CHECK(next > off && next <= sec->size);
		if (kind == CFI_ENTRY_FDE)
			(void)cfi_fde_read(sec, off, &fde);
	}
}

static void check_index(struct cfi_index *ix, const struct arch *arch)
{
	struct cfi_fde fde, listed;

	check_entries(&ix->sec);
	for (uint64_t vaddr = TEXT_VADDR; vaddr < TEXT_VADDR + TEXT_LOOKED; vaddr += 3) {
		bool is_listed = cfi_index_listed(ix, vaddr, &listed);
		bool is_found = cfi_index_find(ix, vaddr, &fde) > 0;

		FUZZ_CHECK(!is_listed ||
			   (is_found && listed.start == fde.start && listed.end == fde.end));
		if (is_found)
			check_row(&fde, arch, vaddr);
	}
	if (cfi_index_find(ix, UINT64_MAX, &fde) > 0)
		check_row(&fde, arch, UINT64_MAX);
	cfi_index_done(ix);
}

static void check_tables(const uint8_t *file)
{
	struct elf_image *img;
	struct cfi_index ix;
	struct go_table go;
	uint64_t size;
	const struct arch *arch;

	FUZZ_CHECK(!elf_image_open_memory(&img, file, FILE_BYTES, "fuzz", NULL));
	arch = arch_find_elf(elf_image_machine(img), elf_image_is_64(img));
	cfi_index_open_eh(&ix, img);
	check_index(&ix, arch);
	cfi_index_open_debug(&ix, img);
	check_index(&ix, arch);
	go_table_open(&go, img);
	for (uint64_t vaddr = TEXT_VADDR; go.data && vaddr < TEXT_VADDR + TEXT_LOOKED; vaddr += 5)
		(void)go_table_find(&go, vaddr, NULL, &size);
	elf_image_close(img);
}

/* ---- walks -------------------------------------------------------------------------------- */

enum { MAX_FRAMES = 200, N_SAMPLES = UNWIND_BATCH };

static void check_trace(const struct stack_trace *t, const struct perf_sample *s)
{
	FUZZ_CHECK(t->n >= 1 && t->n <= MAX_FRAMES && t->stop < UNWIND_STOP_N);
	FUZZ_CHECK(t->frames[0].ip == s->ip && t->frames[0].how == FRAME_SAMPLE);
	for (size_t i = 0; i < t->n; i++) {
		const struct frame *f = &t->frames[i];
		uint64_t ip = frame_lookup_ip(f);

		FUZZ_CHECK(f->how < FRAME_HOW_N);
		FUZZ_CHECK(!f->map || (f->map->start <= ip && ip < f->map->end));
	}
}

static const struct address_space *make_space(struct machine *machine, char *path)
{
	const struct machine_mmap map = {
		.pid = 7,
		.tid = 7,
		.start = LOAD_BIAS,
		.len = SHDRS_OFF,
		.prot = 5, /* read, execute */
		.is_exec = true,
		.path = path,
	};

	FUZZ_CHECK(!machine_mmap(machine, &map));
	return machine_space(machine, 7);
}

/* By CPU: what the recording says of it, and where its registers are (asm/perf_regs.h). */
static const struct cpu {
	const char *arch;
	uint64_t abi, mask;
	unsigned sp, pc;
} cpus[] = {
	[CPU_X86_64] = {"x86_64", PERF_REGS_ABI_64_, 0xff01ff, 7, 8},
	[CPU_AARCH64] = {"aarch64", PERF_REGS_ABI_64_, 0x1ffffffff, 31, 32},
	[CPU_I386] = {"x86_64", PERF_REGS_ABI_32_, 0x1ff, 7, 8},
};

struct samples {
	struct perf_event event;
	struct perf_sample v[N_SAMPLES];
	const struct perf_sample *list[N_SAMPLES];
	uint64_t regs[N_SAMPLES][33];
};

/* At rising addresses, with registers that point into the stack. */
static void make_samples(struct samples *s, const struct input *in, struct machine *machine,
			 const struct address_space *space)
{
	const struct cpu *cpu = &cpus[in->cpu];

	for (unsigned i = 0; i < N_SAMPLES; i++) {
		uint64_t ip = LOAD_BIAS + TEXT_VADDR + i * 73;

		for (unsigned r = 0; r < 33; r++)
			s->regs[i][r] = STACK_IP + r * 8;
		s->regs[i][cpu->sp] = STACK_IP;
		s->regs[i][cpu->pc] = ip;
		s->v[i] = (struct perf_sample){
			.ip = ip,
			.pid = 7,
			.tid = 7,
			.cpumode = PERF_CPUMODE_USER,
			.event = &s->event,
			.space = space,
			.kernel = machine_kernel(machine),
			.comm = "",
			.user_regs = {cpu->abi, cpu->mask, s->regs[i]},
			.user_stack = in->stack,
			.user_stack_bytes = (uint32_t)in->stack_bytes,
			.user_stack_asked = STACK_BYTES_MAX,
		};
		s->list[i] = &s->v[i];
	}
}

static void check_same(const struct stack_trace *a, const struct stack_trace *b)
{
	FUZZ_CHECK(a->n == b->n && a->stop == b->stop && a->stop_module == b->stop_module);
	for (size_t i = 0; i < a->n; i++) {
		const struct frame *f = &a->frames[i], *g = &b->frames[i];

		FUZZ_CHECK(f->ip == g->ip && f->map == g->map && f->how == g->how);
		FUZZ_CHECK(f->is_return_address == g->is_return_address);
		FUZZ_CHECK(a->places[i].sp == b->places[i].sp);
		FUZZ_CHECK(a->places[i].fp == b->places[i].fp);
	}
}

static void unwind(const struct input *in, struct machine *machine, struct modules *modules,
		   const struct address_space *space)
{
	struct unwind_options opt = {.arch = cpus[in->cpu].arch,
				     .max_frames = MAX_FRAMES,
				     .method = in->flags & FLAG_LIBDW ? UNWIND_LIBDW : UNWIND_AUTO,
				     .places = true,
				     .no_guess = in->flags & FLAG_NO_GUESS};
	struct stack_trace traces[N_SAMPLES], full[N_SAMPLES];
	struct samples s = {0};
	struct unwinder *u, *all;

	make_samples(&s, in, machine, space);
	FUZZ_CHECK(!unwinder_new(&u, modules, &opt, NULL));
	unwind_samples(u, s.list, N_SAMPLES, traces);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		check_trace(&traces[i], &s.v[i]);
	if (opt.method == UNWIND_AUTO) {
		opt.method = UNWIND_FULL;
		FUZZ_CHECK(!unwinder_new(&all, modules, &opt, NULL));
		unwind_samples(all, s.list, N_SAMPLES, full);
		for (unsigned i = 0; i < N_SAMPLES; i++)
			check_same(&traces[i], &full[i]);
		unwinder_free(all);
	}
	unwinder_free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const no_dirs[] = {NULL};
	const struct modules_options opt = {
		.debug_dirs = no_dirs, .buildid_dir = "", .no_debuginfod_cache = true};
	struct machine *machine;
	struct modules *modules;
	struct input in;
	uint8_t *file;
	char path[32];
	int fd;

	if (!input_parse(&in, data, size))
		return 0;
	file = make_file(&in);
	check_tables(file);
	fd = fuzz_file_of(file, FILE_BYTES, path);
	FUZZ_CHECK(!machine_new(&machine) && !modules_new(&modules, &opt, NULL));
	unwind(&in, machine, modules, make_space(machine, path));
	modules_free(modules);
	machine_free(machine);
	close(fd);
	free(file);
	return 0;
}
