/* arch.h - what differs between processors, as data. Private to unwind/.
 *
 * One const struct per CPU (arch_x86_64.c ...), one row in arch.c, chosen at run time from the
 * recording's architecture. Names and other constants are in base/processor.h. Sources of truth:
 * arch/<cpu>/include/uapi/asm/perf_regs.h for the register numbers in samples, the psABI of the CPU
 * for DWARF register numbers. */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"
#include "unwind/code.h"

/* As many as are handed out: UNWIND_REGISTERS_MAX. */
#define ARCH_REGS_MAX 40

/* Code that returns from a signal handler, for libraries that have no call frame information for
 * it. When the pc is at `code`, the interrupted registers are saved at sp + saved[i].off. */
struct arch_trampoline {
	const uint8_t *code;
	uint8_t code_bytes;
	uint8_t n_saved;
	uint8_t popped_bytes; /* bytes by which its first instruction raises sp */
	const struct arch_saved_reg {
		uint8_t reg; /* DWARF number */
		uint16_t off;
	} * saved;
	/* For code in a vDSO, which may not be available: one of `marks` in the 4 bytes at sp +
	 * mark_off distinguishes such a frame from other stack contents. 0: no mark. */
	uint16_t mark_off;
	uint32_t marks[2];
};

enum { ARCH_STUB_BYTES = 9 };

/* Code that has no caller: it ends the thread with the result of the call before it, or the first
 * function of a context returns to it although it was not called from there. */
struct arch_exit {
	const uint8_t *code;
	uint8_t code_bytes;
	uint8_t before;	  /* how many bytes of `code` precede the address returned to */
	bool is_function; /* `code` begins a function, which is an outermost frame whatever its call
			   * frame information says */
};

/* Where a system call returns twice: to the caller, and in a new thread or process, which has 0 in
 * the register with DWARF number 0, a stack of its own, and no caller. -1 in `code` matches any
 * byte. The pc is `first` to `last` bytes after the start of `code`. */
struct arch_clone {
	const int16_t *code;
	uint8_t code_bytes, first, last;
};

struct arch_code {
	const uint8_t *end;
	size_t n;	 /* bytes that can be read before `end` */
	uint64_t vaddr;	 /* of `end` */
	bool from_start; /* the first byte is the start of a function */
};

struct arch_return {
	enum { ARCH_RETURN_ANYWHERE, ARCH_RETURN_IN_REGISTER, ARCH_RETURN_IN_FRAME } at;
	int64_t pushed_bytes; /* bytes by which sp is lower than on entry, if not IN_FRAME */
};

struct arch {
	uint16_t e_machine; /* like word_bytes, as in base/processor.h */
	uint8_t word_bytes;
	uint8_t n_regs; /* DWARF registers that unwinding tracks; <= ARCH_REGS_MAX */
	/* DWARF numbers of the special registers. `ra` holds the return address on entry to a
	 * function (the same as `pc` where calls push it to the stack). */
	uint8_t sp, fp, ra, pc;
	/* Saved return addresses may carry an authentication code in the bits above the address. */
	bool signs_addresses;
	/* sp is a multiple of 16 at each call (psABI). */
	bool aligns_calls;
	/* Where HotSpot's interpreter saves its caller's sp, as an offset from its frame record; 0:
	 * not known. */
	int8_t interpreter_sp_off;
	/* Where Go functions with a frame save the caller's frame pointer, as an offset from the
	 * CFA; 0: they do not save it. */
	int8_t go_fp_off;
	/* Bytes that the PLT pushes before it jumps to glibc's resolver, whose call frame
	 * information does not count them. */
	uint8_t untold_plt_bytes;
	/* The first two registers in which a landing pad gets its arguments; equal: not supported.
	 * Only functions that end with __builtin_eh_return() save them (gcc's
	 * EH_RETURN_DATA_REGNO). */
	uint8_t throw_regs[2];
	/* perf register bit -> DWARF register; -1: not tracked. perf's IP maps to `pc`. */
	int8_t perf_to_dwarf[64];
	int8_t dwarf_to_perf[ARCH_REGS_MAX]; /* the inverse */
	/* True if a call instruction may end at `end`. `n` bytes before it can be read. */
	bool (*ends_in_call)(const uint8_t *end, size_t n);
	/* The target of the call that ends at `end`, whose runtime address is `ip`. 0: not known
	 * from the instruction. */
	uint64_t (*call_target)(const uint8_t *end, size_t n, uint64_t ip);
	/* jumps_to: true if any of the `n` bytes of code at `ip` starts a direct jump to `target`.
	 * is_return: true if the instruction at `code` is a return. Both may be NULL. */
	bool (*jumps_to)(const uint8_t *code, size_t n, uint64_t ip, uint64_t target);
	bool (*is_return)(const uint8_t *code, size_t n);
	/* Only for processors with a link register, else NULL: what the code before a place says
	 * about where the return address is there. For functions without call frame information. */
	struct arch_return (*return_before)(const struct arch_code *code);
	/* How far above sp the frame record lies that the kernel makes for a signal handler, in
	 * bytes. */
	uint16_t signal_record_off;
	/* Maximum number of words that a function may have pushed without call frame information
	 * for it. */
	uint8_t untold_pushes;
	/* Number of words that a stub of a lazy .plt has pushed when the pc is at `at`; 0 for other
	 * code. ARCH_STUB_BYTES before and after `at` must be readable (filled with 0 where there
	 * is no code). May be NULL. */
	unsigned (*stub_pushes)(const uint8_t *at);
	/* For functions recognized by their bytes: how many bytes sp is lower at code + at than on
	 * entry; -1: other code. `n` bytes can be read at `code`. May be NULL. */
	int (*known_frame)(const uint8_t *code, size_t n, size_t at);
	/* The effect of an instruction on a frame; NULL: not supported. */
	code_step_fn *code_step;
	code_may_start_fn *code_may_start; /* NULL: anywhere */
	/* Recognizes the start of a function by the bytes before it; NULL: not supported. */
	code_begins_fn *code_begins;
	/* The bytes of the stubs that CPython generates for its functions
	 * (Python/asm_trampoline.S), which lower the stack pointer by one word; NULL: not known.
	 * stub_prefix: what may stand before them. */
	const uint8_t *stub, *stub_prefix;
	uint8_t stub_bytes, stub_prefix_bytes;
	const struct arch_trampoline *trampolines; /* ends with code == NULL; may be NULL */
	const struct arch_exit *exits;		   /* likewise */
	const struct arch_clone *clones;	   /* likewise */
};

/* NULL: not supported. `name` as in the recording (HEADER_ARCH); NULL: this machine's. `abi` is
 * PERF_SAMPLE_REGS_ABI_*: 32-bit tasks of a 64-bit kernel get the 32-bit row. */
const struct arch *arch_find(const char *name, uint64_t abi);

/* By the fields of an ELF header; NULL: not supported. */
const struct arch *arch_find_elf(uint16_t e_machine, bool is_64);

extern const struct arch arch_x86_64, arch_i386, arch_aarch64;

/* The frame at a function's start. */
static inline struct code_frame arch_entry_frame(const struct arch *arch)
{
	int32_t pushed = arch->ra == arch->pc ? arch->word_bytes : 0;

	return (struct code_frame){.sp = pushed, .saved_ra = pushed};
}

/* The mask of the address bits in a saved return address. */
uint64_t arch_code_mask(const struct arch *arch, const struct address_space *space);

/* Registers of a frame by DWARF number. */
struct regs {
	uint64_t v[ARCH_REGS_MAX];
	uint64_t known; /* bit i: v[i] is known */
};

#endif
