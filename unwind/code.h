/* code.h - frames by the machine code of their function, for code without call frame information.
 * Private to unwind/.
 *
 * All ways through a function are followed from its start, with what each instruction does to the
 * stack pointer, the frame pointer and the return address. Compilers emit code in which every place
 * has one frame, whichever way led there. What says otherwise, or is not understood, has none.
 */
#ifndef UNWIND_CODE_H
#define UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of larger functions only so much is looked at. */
#define CODE_BYTES_MAX (256u << 10)

/* What a frame pointer holds. */
enum code_fp { CODE_FP_CALLER, CODE_FP_FRAME, CODE_FP_OTHER };

/* What the way ahead of a place tells of its frame: nothing; nothing, as it comes to a jump by a
 * register or a table, which may lead to another function or to the rest of this one; all. */
enum code_ahead { CODE_AHEAD_UNKNOWN, CODE_AHEAD_SWITCH, CODE_AHEAD_KNOWN };

/* For the stack pointer: above what the function was entered with, so that it is not this one. */
#define CODE_SP_WRONG -2

/* The frame before an instruction. Places are given as distances below the CFA. */
struct code_frame {
	int32_t sp;	  /* the stack pointer; < 0: not known */
	int32_t fp;	  /* CODE_FP_FRAME: the frame pointer */
	int32_t saved_fp; /* where the caller's is; 0: not saved */
	int32_t saved_ra; /* where the return address is; 0: in a register */
	uint8_t fp_holds; /* enum code_fp */
	uint8_t ra_reg;	  /* its DWARF number, plus 1; 0: the link register */
	uint8_t ra_lost;  /* the link register holds something else, and it is not saved */
	/* A copy of the stack pointer, while that is aligned for a call: of which place, and where:
	 * in a register or a word so far above the stack pointer. */
	int32_t copy; /* 0: none */
	int32_t copy_off;
	uint8_t copy_reg; /* the code's number, plus 1; 0: at copy_off */
	uint8_t ra_copy;  /* the same of a register with a copy of the return address; 0: none */
	/* The stack pointer was aligned, and the return address copied below it: places are told
	 * from above that copy, which is not where the caller's frame begins. The CFA is in a
	 * register (the code's number, plus 1), or so far below; 0: not. */
	uint8_t is_realigned, cfa_reg;
	int32_t saved_cfa;
	/* The stack pointer is not known, but below the caller's frame pointer and the return
	 * address, which are where they were. */
	uint8_t record;
};

static inline void code_fp_set_other(struct code_frame *f)
{
	f->fp_holds = CODE_FP_OTHER;
	f->fp = 0;
}

/* It points that far below the CFA. */
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
	CODE_CALL,   /* and on */
	CODE_BRANCH, /* to the target, or on */
	CODE_JUMP,   /* to the target */
	CODE_SWITCH, /* to where is not known */
	CODE_RETURN,
	CODE_END, /* nowhere */
};

/* The longest instruction of any processor (Intel SDM volume 2, 2.3.11). */
#define INSN_BYTES_MAX 15

struct code_insn {
	uint8_t bytes;
	uint8_t way;	      /* enum code_way */
	bool is_filler;	      /* does nothing: between blocks, or functions */
	bool uses_callers_fp; /* as an address */
	bool is_by_word; /* CODE_SWITCH to what a word says that has a place of its own: no table */
	int64_t target;	 /* relative to the instruction's start */
};

/* Reads an instruction and does to *frame what it does. `off`: how far behind the function's start.
 * False: it is not understood. */
typedef bool code_step_fn(const uint8_t *code, size_t n, struct code_frame *frame,
			  struct code_insn *ret);

struct code_row {
	uint32_t start; /* behind the function's start; up to the next row */
	struct code_frame frame;
	bool is_known; /* else nothing is known of these instructions */
};

struct code_rows {
	size_t n;
	struct code_row *v; /* ascending; the first at 0 */
	/* Where, behind the start, the next function seems to begin: all that is before it, but for
	 * padding, belongs to this one. 0: not known. */
	uint32_t next;
};

/* Instructions that are looked at for one of a function's bytes, at most. libc, libLLVM and
 * python take 0.30 to 0.35. */
#define CODE_STEPS_PER_BYTE 16

/* Code of JIT compilers may have other entries than its start. So what only an indirect jump can
 * lead to is not followed; and where it goes through a frame pointer that it has not set, something
 * that was called before has made the frame, and nothing is known. */
enum code_origin { CODE_OF_FILE, CODE_OF_JIT };

/* The function that begins at `code` and has `n` bytes. Nothing is known of a function that seems
 * to be none, nor if it takes more than *steps, from which it takes what it took. 0 or -ERR_NOMEM.
 * `entry`: the frame at its start. */
int code_rows_find(code_step_fn *step, const uint8_t *code, size_t n,
		   const struct code_frame *entry, enum code_origin origin, uint64_t *steps,
		   struct code_rows *ret);
void code_rows_done(struct code_rows *rows);

/* The frame there; NULL: not known. */
const struct code_frame *code_rows_at(const struct code_rows *rows, uint64_t off);

/* May a function begin at `at`, of whose code `n` bytes before it can be read: is it aligned, or
 * behind padding or something that does not go on? */
typedef bool code_may_start_fn(const uint8_t *at, size_t n, uint64_t vaddr);

/* The processors'. */
code_step_fn code_step_x86_64, code_step_aarch64;
code_may_start_fn code_may_start_x86_64;

#endif
