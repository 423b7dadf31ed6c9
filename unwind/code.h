/* code.h - frames by the machine code of their function, for code without call frame information.
 * Private to unwind/.
 *
 * All paths through a function are followed from its start, with the effect of each instruction on
 * the stack pointer, the frame pointer and the return address. Compilers emit code in which every
 * place has one frame, whichever path led there. Nothing is known of a place whose paths disagree,
 * or that follows code that is not understood. */
#ifndef UNWIND_CODE_H
#define UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only the first bytes of larger functions are analyzed. */
#define CODE_BYTES_MAX (256u << 10)

/* What the frame pointer register holds. */
enum code_fp { CODE_FP_CALLER, CODE_FP_FRAME, CODE_FP_OTHER };

/* What the code after a place shows about the frame there: nothing; nothing, because it comes to an
 * indirect jump, which may leave the function or stay in it; everything. */
enum code_ahead { CODE_AHEAD_UNKNOWN, CODE_AHEAD_SWITCH, CODE_AHEAD_KNOWN };

/* The stack pointer would be above its value on entry: this code cannot be part of this
 * function. */
#define CODE_SP_WRONG -2

/* The frame before an instruction. Stack addresses are given as distances below the CFA, in
 * bytes. */
struct code_frame {
	int32_t sp;	  /* the stack pointer; < 0: not known */
	int32_t fp;	  /* CODE_FP_FRAME: the frame pointer */
	int32_t saved_fp; /* where the caller's frame pointer is saved; 0: not saved */
	int32_t saved_ra; /* where the return address is saved; 0: in a register */
	uint8_t fp_holds; /* enum code_fp */
	uint8_t ra_reg;	  /* DWARF number of that register, plus 1; 0: link register */
	uint8_t ra_lost;  /* the link register was overwritten and the return address is not
			   * saved */
	/* While the stack pointer is aligned for a call, a copy of it is kept: `copy` is the
	 * distance of the copied value, which is in a register or in the word copy_off above the
	 * stack pointer. */
	int32_t copy; /* 0: no copy */
	int32_t copy_off;
	uint8_t copy_reg; /* register number of the instruction set, plus 1; 0: at copy_off */
	uint8_t ra_copy;  /* the same for a register with a copy of the return address; 0: none */
	/* The stack pointer was realigned and the return address copied below it: distances are
	 * measured from just above that copy, which is not where the caller's frame begins. The
	 * real CFA is in a register (cfa_reg: number of the instruction set, plus 1; 0: none) or in
	 * the word at saved_cfa (0: none). */
	uint8_t is_realigned, cfa_reg;
	int32_t saved_cfa;
	/* For code_ahead.c: a register that holds a stack pointer (DWARF number, plus 1; 0: none),
	 * and how far below the CFA that points. */
	int32_t kept;
	uint8_t kept_reg;
	/* The stack pointer is not known, but it is below the frame record (caller's frame pointer
	 * and return address), which is still in place. */
	uint8_t record;
};

/* True if both frames lead to the same caller. */
bool code_same_caller(const struct code_frame *a, const struct code_frame *b);

static inline void code_fp_set_other(struct code_frame *f)
{
	f->fp_holds = CODE_FP_OTHER;
	f->fp = 0;
}

/* The frame pointer points `fp` bytes below the CFA. */
static inline void code_fp_set_frame(struct code_frame *f, int64_t fp)
{
	code_fp_set_other(f);
	if (fp < 0 || fp > INT32_MAX)
		return;
	f->fp_holds = CODE_FP_FRAME;
	f->fp = (int32_t)fp;
}

enum code_way {
	CODE_ON,
	CODE_CALL,   /* then the next instruction */
	CODE_BRANCH, /* to the target or the next instruction */
	CODE_JUMP,   /* to the target */
	CODE_SWITCH, /* to an unknown target */
	CODE_RETURN,
	CODE_END, /* does not continue */
};

/* The longest instruction of any processor (Intel SDM volume 2, 2.3.11). */
#define INSN_BYTES_MAX 15

struct code_insn {
	uint8_t bytes;
	uint8_t way;	      /* enum code_way */
	bool is_filler;	      /* padding between blocks or functions */
	bool uses_callers_fp; /* dereferences the caller's frame pointer */
	bool is_by_word; /* CODE_SWITCH through one word at a fixed address: not a jump table */
	uint8_t sp_from; /* the register that the stack pointer was set from: DWARF number, plus 1;
			  * 0: none */
	int64_t target;	 /* relative to the instruction's start */
};

/* Decodes the instruction at `code` (`n` bytes are readable) and applies it to *frame. Returns
 * false if it is not understood. */
typedef bool code_step_fn(const uint8_t *code, size_t n, struct code_frame *frame,
			  struct code_insn *ret);

struct code_row {
	uint32_t start; /* offset from the function's start; ends at the next row */
	struct code_frame frame;
	bool is_known; /* false: the frame is not known here */
};

struct code_rows {
	size_t n;
	struct code_row *v; /* ascending; the first starts at 0 */
	/* Offset at which the next function seems to begin: everything before it, except padding,
	 * belongs to this function. 0: not known. */
	uint32_t next;
};

/* Maximum number of instructions analyzed per byte of a function. libc, libLLVM and python need
 * 0.30 to 0.35. */
#define CODE_STEPS_PER_BYTE 16

/* Code of JIT compilers may have other entries than its start. So code that only an indirect jump
 * reaches is not followed. Where the code dereferences the frame pointer without having set it,
 * other code has made the frame, and nothing is known of it. */
enum code_origin { CODE_OF_FILE, CODE_OF_JIT };

struct code_starts;

/* The code of a function, from its start on. */
struct code_of {
	const uint8_t *code;
	size_t n;
	enum code_origin origin;
	/* If not NULL: where functions seem to start in its module; `vaddr`: of `code`. */
	const struct code_starts *starts;
	uint64_t vaddr;
};

/* Analyzes a function. `entry`: the frame at its start. *ret is empty if the bytes seem not to be a
 * function, or if more than *steps steps would be needed; the steps used are subtracted from
 * *steps. Returns 0 or -ERR_NOMEM. */
int code_rows_find(code_step_fn *step, const struct code_of *of, const struct code_frame *entry,
		   uint64_t *steps, struct code_rows *ret);
void code_rows_done(struct code_rows *rows);

/* The row at an offset from the function's start; NULL: the frame is not known there. Valid as long
 * as *rows. */
const struct code_row *code_row_at(const struct code_rows *rows, uint64_t off);
/* The frame of that row, likewise. */
const struct code_frame *code_rows_at(const struct code_rows *rows, uint64_t off);

/* True if a function may start at `at`: it is aligned, or follows padding or an instruction that
 * does not continue. `n` bytes before it are readable. */
typedef bool code_may_start_fn(const uint8_t *at, size_t n, uint64_t vaddr);

/* True if a function starts at `at`, which is aligned. `n` bytes before it are readable. */
typedef bool code_begins_fn(const uint8_t *at, size_t n);

/* One per processor. */
code_step_fn code_step_x86_64, code_step_aarch64;
code_may_start_fn code_may_start_x86_64;
code_begins_fn code_begins_x86_64;

#endif
