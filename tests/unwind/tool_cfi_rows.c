/* tool_cfi_rows.c - compares every row of every FDE of the given files with libdw's.
 *
 * For each FDE, from its first to its last address: the row [start, end) that cfi_row_find() gives
 * must equal dwarf_cfi_addrframe()'s in range, CFA, return address column, signal frame mark and
 * the rules of all tracked registers. The list of entries must equal dwarf_next_cfi()'s. And each
 * FDE must be what its first and its last address are looked up to. One line per section:
 * "FILE SECTION fdes F rows R different D refused N" - N rows have libdw refuse what we read, see
 * tests/unwind/README.md; exit status 1 when D > 0 anywhere.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unwind/cfi.h"
#include "unwind/expr.h"
#include "unwind/cfi.h"

struct compare {
	const char *path, *name;
	const struct arch *arch;
	struct cfi_section sec;
	Dwarf_CFI *oracle;
	uint64_t fdes, rows, bad, refused;
};

static void differ(struct compare *c, uint64_t pc, const char *what)
{
	if (c->bad++ < 5)
		printf("%s %s: 0x%" PRIx64 ": %s differs\n", c->path, c->name, pc, what);
}

/* libdw's initial rules, backends/x86_64_cfi.c and aarch64_cfi.c (0.188), in our words. x86-64's
 * table says register 0 where it means rbx, which is 3: libdw's mistake, part of the oracle. */
static enum cfi_how oracle_default(const struct arch *arch, unsigned reg)
{
	if (arch->e_machine == EM_X86_64) {
		if (reg == 7)
			return CFI_VAL_OFFSET;
		return reg == 0 || reg == 6 || (reg >= 12 && reg <= 16) ? CFI_SAME_VALUE
									: CFI_UNDEFINED;
	}
	if (arch->e_machine == EM_386) {
		if (reg == 4)
			return CFI_VAL_OFFSET;
		return reg == 3 || (reg >= 5 && reg <= 8) ? CFI_SAME_VALUE : CFI_UNDEFINED;
	}
	if (arch->e_machine == EM_AARCH64) {
		if (reg == 31)
			return CFI_VAL_OFFSET;
		if (reg == 34)
			return CFI_VAL_EXPRESSION; /* RA_SIGN_STATE: the oracle has it as a value */
		return reg >= 19 && reg <= 30 ? CFI_SAME_VALUE : CFI_UNDEFINED;
	}
	return CFI_UNSPECIFIED;
}

/* Same operations, the oracle's between `ops` and `ops + n`. */
static bool same_expression(const struct compare *c, const uint8_t *expr, size_t len,
			    const Dwarf_Op *ops, size_t n)
{
	struct buf b = buf_make(expr, len, 0, c->sec.swap);
	struct expr_op op;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!buf_left(&b) || !expr_op_read(&b, c->sec.address_bytes, &op))
			return false;
		if (op.code != ops[i].atom)
			return false;
		/* libdw rewrites the operands of jumps into offsets */
		if (op.code != DW_OP_bra && op.code != DW_OP_skip &&
		    (op.a != ops[i].number || op.b != ops[i].number2))
			return false;
	}
	return !buf_left(&b);
}

static bool same_cfa(const struct compare *c, const struct cfi_row *row, Dwarf_Frame *f)
{
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(f, &ops, &n))
		return false;
	switch ((enum cfi_cfa_how)row->cfa_how) {
	case CFI_CFA_UNDEFINED:
		return n == 0;
	case CFI_CFA_REG:
		return n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == row->cfa_reg &&
		       (int64_t)ops[0].number2 == row->cfa_off;
	case CFI_CFA_EXPRESSION:
		return same_expression(c, row->cfa_expr, row->cfa_expr_len, ops, n);
	}
	return false;
}

static bool same_rule(const struct compare *c, const struct cfi_row *row, unsigned reg,
		      Dwarf_Frame *f)
{
	const struct cfi_reg_rule *r = &row->regs[reg];
	Dwarf_Op mem[3], *ops;
	enum cfi_how how = r->how;
	int64_t off;
	size_t n;

	if (dwarf_frame_register(f, (int)reg, mem, &ops, &n))
		return false;
	if (how == CFI_UNSPECIFIED)
		how = oracle_default(c->arch, reg);
	off = n >= 2 && ops[1].atom == DW_OP_plus_uconst ? (int64_t)ops[1].number : 0;
	switch (how) {
	case CFI_UNDEFINED:
		return n == 0 && ops == mem;
	case CFI_SAME_VALUE:
		return n == 0 && !ops;
	case CFI_OFFSET:
		return n >= 1 && n <= 2 && ops[0].atom == DW_OP_call_frame_cfa && off == r->off &&
		       (n == 1 || ops[1].atom == DW_OP_plus_uconst);
	case CFI_VAL_OFFSET:
		return n >= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		       ops[n - 1].atom == DW_OP_stack_value && off == r->off;
	case CFI_REGISTER:
		return n == 1 && ops[0].atom == DW_OP_regx && ops[0].number == (uint64_t)r->off;
	case CFI_EXPRESSION:
		return n > 1 && ops[0].atom == DW_OP_call_frame_cfa &&
		       same_expression(c, r->expr, r->expr_len, ops + 1, n - 1);
	case CFI_VAL_EXPRESSION:
		if (reg == 34 && c->arch->e_machine == EM_AARCH64)
			return true;
		return n > 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		       ops[n - 1].atom == DW_OP_stack_value &&
		       same_expression(c, r->expr, r->expr_len, ops + 1, n - 2);
	case CFI_UNSPECIFIED:
		return true;
	}
	return false;
}

static void compare_row(struct compare *c, uint64_t pc, const struct cfi_row *row, Dwarf_Frame *f)
{
	Dwarf_Addr start, end;
	bool is_signal;
	unsigned reg;

	if (dwarf_frame_info(f, &start, &end, &is_signal) != row->ra_reg)
		differ(c, pc, "return address column");
	/* After DW_CFA_restore_state libdw says that the row began where the state was remembered,
	 * so its start may be too low. Rows are walked without gaps, so ours must begin at pc. */
	if (start > pc || row->start != pc || end != row->end)
		differ(c, pc, "range");
	if (is_signal != row->is_signal_frame)
		differ(c, pc, "signal frame");
	if (!same_cfa(c, row, f))
		differ(c, pc, "CFA");
	for (reg = 0; reg < row->n_regs; reg++)
		if (!same_rule(c, row, reg, f))
			differ(c, pc, "register rule");
}

static void compare_fde(struct compare *c, const struct cfi_fde *fde)
{
	uint64_t pc = fde->start;
	struct cfi_row row;
	Dwarf_Frame *f;

	c->fdes++;
	while (pc < fde->end) {
		if (!cfi_row_find(fde, c->arch, pc, NULL, &row)) {
			differ(c, pc, "own failure: everything");
			return;
		}
		c->rows++;
		if (dwarf_cfi_addrframe(c->oracle, pc, &f)) {
			c->refused++;
		} else {
			compare_row(c, pc, &row, f);
			free(f);
		}
		pc = row.end;
	}
}

static void compare_section(struct compare *c, Elf *elf, Elf_Data *data)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	uint64_t off = 0, next;
	Dwarf_Off o_off = 0, o_next;
	enum cfi_entry_kind kind;
	Dwarf_CFI_Entry entry;
	struct cfi_fde fde;
	int rc;

	for (; off < c->sec.size; off = next) {
		kind = cfi_entry_at(&c->sec, off, &next);
		if (kind == CFI_ENTRY_END) /* dwarf_next_cfi() reads over zero terminators */
			continue;
		while ((rc = dwarf_next_cfi(ident, data, c->sec.is_eh, o_off, &o_next, &entry)) ==
			       0 &&
		       o_next < next)
			o_off = o_next;
		if (rc != 0 || o_next != next || dwarf_cfi_cie_p(&entry) != (kind == CFI_ENTRY_CIE))
			differ(c, off, "entry");
		o_off = o_next;
		if (kind != CFI_ENTRY_FDE)
			continue;
		if (cfi_fde_read(&c->sec, off, &fde))
			compare_fde(c, &fde);
		else
			differ(c, off, "FDE");
	}
}

static int compare_named(struct compare *c, Elf *elf, const char *name)
{
	size_t strndx;
	Elf_Scn *scn = NULL;

	c->name = name;
	c->fdes = c->rows = c->bad = c->refused = 0;
	if (elf_getshdrstrndx(elf, &strndx))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		const char *s;

		if (!gelf_getshdr(scn, &sh) || !(s = elf_strptr(elf, strndx, sh.sh_name)))
			continue;
		if (strcmp(s, name) || sh.sh_type == SHT_NOBITS || sh.sh_flags & SHF_COMPRESSED)
			continue;
		data = elf_rawdata(scn, NULL);
		if (!data)
			continue;
		c->sec = (struct cfi_section){.data = data->d_buf,
					      .size = data->d_size,
					      .vaddr = sh.sh_addr,
					      .is_eh = name[1] == 'e',
					      .address_bytes = c->arch->word_bytes};
		compare_section(c, elf, data);
		printf("%s %s fdes %" PRIu64 " rows %" PRIu64 " different %" PRIu64
		       " refused %" PRIu64 "\n",
		       c->path, name, c->fdes, c->rows, c->bad, c->refused);
		return c->bad != 0;
	}
	return 0;
}

/* Each FDE is what its first and its last address are looked up to, or another that covers them. */
static int compare_lookups(const char *path, struct elf_image *img)
{
	uint64_t off, next, fdes = 0, bad = 0, ends[2];
	struct cfi_fde fde, got;
	struct cfi_index ix;
	unsigned i;

	cfi_index_open_eh(&ix, img);
	for (off = 0; off < ix.sec.size; off = next) {
		if (cfi_entry_at(&ix.sec, off, &next) != CFI_ENTRY_FDE ||
		    !cfi_fde_read(&ix.sec, off, &fde) || fde.start == fde.end)
			continue;
		fdes++;
		ends[0] = fde.start;
		ends[1] = fde.end - 1;
		for (i = 0; i < 2; i++) {
			if (cfi_index_find(&ix, ends[i], &got) == 1 &&
			    got.insns.data == fde.insns.data)
				continue;
			if (bad++ < 5)
				printf("%s look-up: 0x%" PRIx64 ": not [0x%" PRIx64 ", 0x%" PRIx64
				       ")\n",
				       path, ends[i], fde.start, fde.end);
		}
	}
	printf("%s look-up fdes %" PRIu64 " rows %" PRIu64 " different %" PRIu64 " refused 0\n",
	       path, fdes, 2 * fdes, bad);
	cfi_index_done(&ix);
	return bad != 0;
}

/* Frame sizes by Go's table against the CFA offsets of .debug_frame, row by row. */
static int compare_go(const struct compare *c, struct elf_image *img)
{
	uint64_t off, next, pc, size = 0, rows = 0, bad = 0, fdes = 0;
	struct cfi_index ix;
	struct go_table go;
	struct cfi_fde fde;
	struct cfi_row row;
	enum go_frame got;

	go_table_open(&go, img);
	cfi_index_open_debug(&ix, img);
	for (off = 0; go.data && off < ix.sec.size; off = next) {
		if (cfi_entry_at(&ix.sec, off, &next) != CFI_ENTRY_FDE ||
		    !cfi_fde_read(&ix.sec, off, &fde))
			continue;
		fdes++;
		for (pc = fde.start; pc < fde.end && cfi_row_find(&fde, c->arch, pc, NULL, &row);
		     pc = row.end, rows++) {
			got = go_table_find(&go, pc, NULL, &size);
			/* Roots: undefined return addresses there, functions that switch stacks
			 * only here. */
			if (got == GO_FRAME_ROOT || got == GO_FRAME_SWITCH)
				continue;
			if (got == GO_FRAME_SIZE && row.cfa_off == (int64_t)size + 8)
				continue;
			if (bad++ < 5)
				printf("%s .gopclntab: 0x%" PRIx64 ": %d: %" PRIu64 " and %" PRId64
				       "\n",
				       c->path, pc, got, size, row.cfa_off);
		}
	}
	if (go.data && fdes)
		printf("%s .gopclntab fdes %" PRIu64 " rows %" PRIu64 " different %" PRIu64
		       " refused 0\n",
		       c->path, fdes, rows, bad);
	cfi_index_done(&ix);
	return bad != 0;
}

static int compare_file(const char *path)
{
	int fd = open(path, O_RDONLY), status = 0;
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	struct compare c = {.path = path};
	struct elf_image *img;
	GElf_Ehdr eh;
	Dwarf *dw;

	if (!elf || !gelf_getehdr(elf, &eh)) {
		printf("%s: cannot be read\n", path);
		return 2;
	}
	c.arch = eh.e_machine == EM_AARCH64 ? &arch_aarch64
		 : eh.e_machine == EM_386   ? &arch_i386
					    : &arch_x86_64;
	c.oracle = dwarf_getcfi_elf(elf);
	if (c.oracle) {
		status |= compare_named(&c, elf, ".eh_frame");
		dwarf_cfi_end(c.oracle);
	}
	dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	c.oracle = dw ? dwarf_getcfi(dw) : NULL;
	if (c.oracle)
		status |= compare_named(&c, elf, ".debug_frame");
	dwarf_end(dw);
	if (!elf_image_open(&img, path, NULL)) {
		status |= compare_lookups(path, img);
		status |= compare_go(&c, img);
		elf_image_close(img);
	}
	elf_end(elf);
	close(fd);
	return status;
}

int main(int argc, char **argv)
{
	int i, status = 0;

	elf_version(EV_CURRENT);
	for (i = 1; i < argc; i++)
		status |= compare_file(argv[i]);
	return status;
}
