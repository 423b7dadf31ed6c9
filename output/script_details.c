/* script_details.c - fields of script that few samples have: registers, branches, what the
 * processor and the kernel say of an access. Source: perf-script(1); pinned by tests against perf.
 */
#include <linux/perf_event.h>
#include <string.h>

#include "base/processor.h"
#include "output/script.h"
#include "reader/reader.h"

/* ---- registers ------------------------------------------------------------------------------ */

/* In the order of asm/perf_regs.h; names as perf prints them. */
static const char *const x86_names[] = {"AX", "BX",    "CX",  "DX",  "SI",  "DI",  "BP",  "SP",
					"IP", "FLAGS", "CS",  "SS",  "DS",  "ES",  "FS",  "GS",
					"R8", "R9",    "R10", "R11", "R12", "R13", "R14", "R15"};
static const char *const a64_names[] = {"lr", "sp", "pc"};

enum { X86_XMM0 = 32, A64_LR = 30, A64_VG = 46 };

static const struct processor *known_processor(const struct profile *p)
{
	const struct processor *cpu =
		p->info && p->info->arch ? processor_find(p->info->arch, 8) : NULL;

	return cpu && cpu->insn_set != INSN_SET_UNKNOWN ? cpu : NULL;
}

bool script_knows_registers(const struct profile *p)
{
	return known_processor(p);
}

static const char *register_name(const struct processor *cpu, unsigned r, char number[8])
{
	const bool is_x86 = cpu->insn_set == INSN_SET_X86;

	if (is_x86 && r < sizeof x86_names / sizeof *x86_names)
		return x86_names[r];
	if (!is_x86 && r >= A64_LR && r - A64_LR < sizeof a64_names / sizeof *a64_names)
		return a64_names[r - A64_LR];
	if (is_x86 && r >= X86_XMM0) /* of 128 bits: two of these */
		snprintf(number, 8, "XMM%u", (r - X86_XMM0) / 2);
	else if (!is_x86 && r < A64_LR)
		snprintf(number, 8, "x%u", r);
	else
		return !is_x86 && r == A64_VG ? "vg" : "unknown";
	return number;
}

static void add_registers(struct text *t, const struct processor *cpu,
			  const struct profile_registers *r)
{
	const char *at = r->values;

	if (!r->abi)
		return;
	text_str(t, " ABI:");
	text_dec(t, r->abi, 0);
	text_char(t, ' ');
	for (unsigned i = 0; i < 64; i++) {
		char number[8];
		const char *name;
		uint64_t value;

		if (!(r->mask >> i & 1))
			continue;
		memcpy(&value, at, sizeof value);
		at += sizeof value;
		name = register_name(cpu, i, number);
		text_pad(t, strlen(name), 5);
		text_str(t, name);
		text_str(t, ":0x");
		text_hex(t, value, 0);
		text_char(t, ' ');
	}
}

/* ---- branches ------------------------------------------------------------------------------- */

/* Bits of perf_branch.flags (struct perf_branch_entry of uapi/linux/perf_event.h). */
enum {
	BRANCH_MISPRED = 1,
	BRANCH_PREDICTED = 2,
	BRANCH_IN_TX = 4,
	BRANCH_ABORT = 8,
	BRANCH_CYCLES_SHIFT = 4,
	BRANCH_TYPE_SHIFT = 20,
	BRANCH_SPEC_SHIFT = 24
};

static void add_branch(struct text *t, const struct perf_branch *b, bool as_6_1)
{
	static const char *const types[] = {"",		"COND", "UNCOND",  "IND",    "CALL",
					    "IND_CALL", "RET",	"SYSCALL", "SYSRET", "COND_CALL",
					    "COND_RET", "ERET", "IRQ",	   "SERROR", "NO_TX"};
	static const char *const specs[] = {"-", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
					    "SPEC_CORRECT_PATH"};
	const unsigned type = b->flags >> BRANCH_TYPE_SHIFT & 15;

	text_str(t, " 0x");
	text_hex(t, b->from, 0);
	text_str(t, "/0x");
	text_hex(t, b->to, 0);
	text_char(t, '/');
	text_char(t, b->flags & BRANCH_MISPRED ? 'M' : b->flags & BRANCH_PREDICTED ? 'P' : '-');
	text_str(t, b->flags & BRANCH_IN_TX ? "/X" : "/-");
	text_str(t, b->flags & BRANCH_ABORT ? "/A/" : "/-/");
	text_dec(t, b->flags >> BRANCH_CYCLES_SHIFT & 0xffff, 0);
	text_char(t, '/');
	text_str(t, type < sizeof types / sizeof *types ? types[type] : "");
	if (!as_6_1) {
		text_char(t, '/');
		text_str(t, specs[b->flags >> BRANCH_SPEC_SHIFT & 3]);
	}
	text_char(t, ' ');
}

static void add_branches(struct text *t, const struct profile_detail *d, bool as_6_1)
{
	struct perf_branch b;

	for (size_t i = 0; i < d->n_branches; i++) {
		memcpy(&b, d->branches + i * sizeof b, sizeof b);
		add_branch(t, &b, as_6_1);
	}
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* "4K", "2M"; what the next unit would have one of is left in this one: "1024M". */
static void add_page_size(struct text *t, uint64_t size)
{
	static const char units[] = "BKMG";
	size_t i = 0;

	text_char(t, ' ');
	if (!size) {
		text_str(t, "N/A");
		return;
	}
	for (; size / 1024 > 1 && i + 2 < sizeof units; i++)
		size /= 1024;
	text_dec(t, size, 0);
	text_char(t, units[i]);
}

/* As perf tests them: all bits of each, so that "H" (3) has those of "K" (1) and "U" (2), too. */
void script_add_misc(struct text *t, uint16_t misc)
{
	static const struct {
		uint16_t bits;
		char letter;
	} modes[] = {{PERF_RECORD_MISC_KERNEL, 'K'},
		     {PERF_RECORD_MISC_USER, 'U'},
		     {PERF_RECORD_MISC_HYPERVISOR, 'H'},
		     {PERF_RECORD_MISC_GUEST_KERNEL, 'G'},
		     {PERF_RECORD_MISC_GUEST_USER, 'g'}};
	const size_t start = t->n;

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		if ((misc & modes[i].bits) == modes[i].bits)
			text_char(t, modes[i].letter);
	text_pad(t, t->n - start, 6);
}

void script_add_details(struct text *t, const struct profile *p, const struct profile_log_entry *e,
			unsigned fields, bool as_6_1)
{
	const struct profile_detail d = profile_detail(p, e);

	if (fields & SCRIPT_IREGS)
		add_registers(t, known_processor(p), &d.intr);
	if (fields & SCRIPT_UREGS)
		add_registers(t, known_processor(p), &d.user);
	if (fields & SCRIPT_BRSTACK)
		add_branches(t, &d, as_6_1);
	if (fields & SCRIPT_PHYS_ADDR)
		text_hex(t, d.phys_addr, 16);
	if (fields & SCRIPT_DATA_PAGE_SIZE)
		add_page_size(t, d.data_page_size);
	if (fields & SCRIPT_CODE_PAGE_SIZE)
		add_page_size(t, d.code_page_size);
}
