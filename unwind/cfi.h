/* cfi.h - DWARF call frame information: sections, entries (CIE, FDE), rows. Private to unwind/.
 *
 * Sources of truth: DWARF5 6.4 (call frame information, .debug_frame), the Linux Standard Base's
 * "Exception Frames" (.eh_frame, .eh_frame_hdr, DW_EH_PE encodings). All addresses here are those
 * of the ELF file (vaddr). Nothing is copied: entries and rows point into the section's bytes.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "unwind/arch.h"

/* ---- sections and entries (cfi_entry.c) -------------------------------------------------- */

struct cfi_section {
	const uint8_t *data;
	uint64_t size;
	uint64_t vaddr;	       /* of data[0], for pc-relative pointers */
	uint64_t base_off;     /* file offset, for messages */
	bool is_eh;	       /* .eh_frame, else .debug_frame */
	bool swap;	       /* other byte order than this machine */
	uint8_t address_bytes; /* 4 or 8 */
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg; /* return address column */
	uint8_t version;
	uint8_t address_bytes;
	uint8_t pointer_encoding; /* DW_EH_PE_* of the FDE's addresses */
	bool has_augmentation_data;
	bool is_signal_frame; /* 'S': the frame it describes was interrupted, not called from */
	struct buf insns;     /* initial instructions */
};

struct cfi_fde {
	const struct cfi_section *sec;
	struct cfi_cie cie;
	uint64_t start, end;
	struct buf insns;
};

enum cfi_entry_kind { CFI_ENTRY_BAD, CFI_ENTRY_END, CFI_ENTRY_CIE, CFI_ENTRY_FDE };

/* Kind of the entry at `off`. *next is where the following entry starts, always > off, also for an
 * entry whose contents are bad; section size when the length itself lies. CFI_ENTRY_END is the zero
 * terminator, after which there may be more (of another object file), or the end of the section. */
enum cfi_entry_kind cfi_entry_at(const struct cfi_section *sec, uint64_t off, uint64_t *next);

/* False: the entry there is damaged, or uses what no toolchain emits (pointers that need run-time
 * memory, segments). */
bool cfi_fde_read(const struct cfi_section *sec, uint64_t off, struct cfi_fde *ret);

/* Reads a pointer in a DW_EH_PE encoding. `data_base`: what DW_EH_PE_datarel is relative to, 0 when
 * that is not known. Refuses DW_EH_PE_indirect. */
bool cfi_pointer_read(const struct cfi_section *sec, struct buf *b, uint8_t encoding,
		      uint64_t data_base, uint64_t *ret);

/* ---- rows (cfi.c) ------------------------------------------------------------------------ */

/* How the caller's value of a register is found. */
enum cfi_how {
	CFI_UNSPECIFIED, /* nothing was said; unwinding takes it as SAME_VALUE */
	CFI_UNDEFINED,
	CFI_SAME_VALUE,
	CFI_OFFSET,	    /* memory at CFA + off */
	CFI_VAL_OFFSET,	    /* CFA + off */
	CFI_REGISTER,	    /* the value of register `off` in this frame */
	CFI_EXPRESSION,	    /* memory at the address that the expression gives, CFA pushed first */
	CFI_VAL_EXPRESSION, /* what the expression gives, CFA pushed first */
};

struct cfi_reg_rule {
	uint8_t how;	   /* enum cfi_how */
	uint32_t expr_len; /* *_EXPRESSION */
	union {
		int64_t off;
		const uint8_t *expr;
	};
};

enum cfi_cfa_how { CFI_CFA_UNDEFINED, CFI_CFA_REG, CFI_CFA_EXPRESSION };

/* One row of the table that an FDE encodes, valid in [start, end). */
struct cfi_row {
	uint64_t start, end;
	uint8_t cfa_how; /* enum cfi_cfa_how */
	uint8_t ra_reg;	 /* < n_regs */
	bool is_signal_frame;
	bool ra_signed; /* aarch64: the saved return address carries an authentication code */
	uint8_t n_regs;
	uint32_t cfa_reg;
	uint32_t cfa_expr_len;
	int64_t cfa_off; /* the last one that was given, where the CFA is an expression */
	const uint8_t *cfa_expr;
	struct cfi_reg_rule regs[ARCH_REGS_MAX];
};

/* The row for vaddr, which must lie in the FDE. False: the instructions are damaged, the return
 * address column is not a register of this processor, or it takes more than *steps, from which it
 * takes what it took: about the number of instructions. NULL: as many as there are. */
bool cfi_row_find(const struct cfi_fde *fde, const struct arch *arch, uint64_t vaddr,
		  uint64_t *steps, struct cfi_row *ret);

#endif
