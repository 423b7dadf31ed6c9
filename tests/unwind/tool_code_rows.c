/* tool_code_rows.c - compares frames by machine code with call frame information.
 *
 * For each FDE of .eh_frame that begins like a function, at each of its bytes: what
 * code_rows_find() says must equal the row, or nothing is said. One line per file: "FILE functions
 * F refused R bytes B same S unsaid U different D in N functions, steps
 * that it took"; -v prints the differences. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/code.h"

struct compare {
	const char *path;
	const struct arch *arch;
	struct elf_image *img;
	uint64_t steps, functions, refused, bytes, same, unsaid, different, different_functions,
		parts, other;
	bool verbose, is_open;
};

#define OPEN_BYTES 65536

static bool same_register(const struct cfi_reg_rule *r, int32_t place)
{
	return r->how == CFI_OFFSET && r->off == -place;
}

/* What only one of both tells. */
static const char OTHER[] = "other";

/* NULL or what differs. */
static const char *difference(const struct compare *c, const struct cfi_row *row,
			      const struct code_frame *f)
{
	const struct cfi_reg_rule *fp = &row->regs[c->arch->fp], *ra = &row->regs[row->ra_reg];
	bool pushes = c->arch->ra == c->arch->pc;

	if (f->is_realigned) /* told from another place */
		return OTHER;
	if (row->cfa_how != CFI_CFA_REG)
		return f->fp_holds == CODE_FP_FRAME && f->sp < 0 ? "CFA is an expression"
								 : "expression";
	if (row->cfa_reg == c->arch->sp) {
		if (f->sp >= 0 ? row->cfa_off != f->sp : f->fp_holds == CODE_FP_FRAME)
			return f->sp >= 0 ? "sp" : NULL;
	} else if (row->cfa_reg == c->arch->fp) {
		if (f->fp_holds == CODE_FP_FRAME && row->cfa_off != f->fp)
			return "fp";
		if (f->fp_holds != CODE_FP_FRAME)
			return OTHER;
	} else {
		return OTHER;
	}
	/* What was saved and not changed as yet, or loaded again, is in both places. */
	if (!pushes && f->saved_ra && ra->how == CFI_OFFSET && !same_register(ra, f->saved_ra))
		return "return address";
	if (f->fp_holds != CODE_FP_CALLER && f->saved_fp && fp->how == CFI_OFFSET &&
	    !same_register(fp, f->saved_fp))
		return "saved frame pointer";
	/* Assembly that changes it and does not tell. */
	return f->fp_holds != CODE_FP_CALLER && fp->how != CFI_OFFSET ? OTHER : NULL;
}

static void compare_bytes(struct compare *c, const struct cfi_fde *fde,
			  const struct code_rows *rows)
{
	uint64_t pc, n_diff = 0;
	struct cfi_row row = {0};
	const struct code_frame *f;
	const char *what;

	for (pc = fde->start; pc < fde->end; pc++) {
		c->bytes++;
		if (pc >= row.end && !cfi_row_find(fde, c->arch, pc, NULL, &row))
			return;
		f = code_rows_at(rows, pc - fde->start);
		if (!f || (f->sp < 0 && f->fp_holds != CODE_FP_FRAME) || f->ra_lost) {
			c->unsaid++;
			continue;
		}
		what = difference(c, &row, f);
		if (what && what == OTHER) {
			c->other++;
			continue;
		}
		if (!what) {
			c->same++;
			continue;
		}
		c->different++;
		if (!n_diff++ && c->verbose)
			printf("%s: 0x%" PRIx64 " of 0x%" PRIx64
			       ": %s; sp %d fp %d saved %d ra %d holds %d, CFI reg %u %" PRId64
			       "\n",
			       c->path, pc, fde->start, what, f->sp, f->fp, f->saved_fp,
			       f->saved_ra, f->fp_holds, row.cfa_reg, row.cfa_off);
	}
	c->different_functions += n_diff > 0;
}

static void compare_fde(struct compare *c, const struct cfi_fde *fde)
{
	bool pushes = c->arch->ra == c->arch->pc;
	struct code_frame entry = {.sp = pushes ? c->arch->word_bytes : 0,
				   .saved_ra = pushes ? c->arch->word_bytes : 0};
	struct code_of of = {.origin = CODE_OF_FILE};
	struct code_rows rows;
	struct cfi_row row;
	const uint8_t *code;
	uint64_t steps = UINT64_MAX;
	size_t left;

	code = elf_image_at_vaddr(c->img, fde->start, &left);
	if (!code || left < fde->end - fde->start || fde->start == fde->end ||
	    !cfi_row_find(fde, c->arch, fde->start, NULL, &row))
		return;
	if (row.cfa_how != CFI_CFA_REG || row.cfa_reg != c->arch->sp || row.cfa_off != entry.sp ||
	    row.is_signal_frame) {
		c->parts++;
		return;
	}
	c->functions++;
	of.code = code;
	of.n = c->is_open ? (left < OPEN_BYTES ? left : OPEN_BYTES) : fde->end - fde->start;
	if (code_rows_find(c->arch->code_step, &of, &entry, &steps, &rows))
		exit(2);
	c->steps += UINT64_MAX - steps;
	if (!rows.n) {
		c->refused++;
		if (c->verbose)
			printf("%s: 0x%" PRIx64 ": refused\n", c->path, fde->start);
	}
	compare_bytes(c, fde, &rows);
	code_rows_done(&rows);
}

static void compare_file(const char *path, bool verbose, bool is_open)
{
	struct compare c = {.path = path, .verbose = verbose, .is_open = is_open};
	struct cfi_index ix;
	struct cfi_fde fde;
	uint64_t off, next;

	if (elf_image_open(&c.img, path, NULL))
		return;
	c.arch = arch_find_elf(elf_image_machine(c.img), elf_image_is_64(c.img));
	cfi_index_open_eh(&ix, c.img);
	for (off = 0; off < ix.sec.size; off = next)
		if (cfi_entry_at(&ix.sec, off, &next) == CFI_ENTRY_FDE &&
		    cfi_fde_read(&ix.sec, off, &fde))
			compare_fde(&c, &fde);
	printf("%s functions %" PRIu64 " refused %" PRIu64 " parts %" PRIu64 " bytes %" PRIu64
	       " same %" PRIu64 " unsaid %" PRIu64 " other %" PRIu64 " different %" PRIu64
	       " in %" PRIu64 " functions, steps %" PRIu64 "\n",
	       path, c.functions, c.refused, c.parts, c.bytes, c.same, c.unsaid, c.other,
	       c.different, c.different_functions, c.steps);
	cfi_index_done(&ix);
	elf_image_close(c.img);
}

int main(int argc, char **argv)
{
	bool verbose = false, is_open = false;
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (!strcmp(argv[i], "-o"))
			is_open = true;
		else
			compare_file(argv[i], verbose, is_open);
	}
	return 0;
}
