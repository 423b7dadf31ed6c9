/* arch.h - what differs between processors, as data. Private to unwind/.
 *
 * One const struct per CPU (arch_x86_64.c ...), one row in arch.c, chosen at run time from the
 * recording's architecture; names and other numbers: base/processor.h. Sources of truth:
 * arch/<cpu>/include/uapi/asm/perf_regs.h for the register numbers in samples, the psABI of the CPU
 * for DWARF register numbers.
 */
#ifndef UNWIND_ARCH_H
#define UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"
#include "unwind/code.h"

#define ARCH_REGS_MAX 40

/* Code that returns from a signal handler, for libraries that have no call frame information for
 * it: when `code` is at the pc, the interrupted registers are at sp + save[i].off. */
struct arch_trampoline {
	const uint8_t *code;
	uint8_t code_bytes;
	uint8_t n_saved;
	uint8_t popped_bytes; /* by how much its first instruction raises sp */
	const struct arch_saved_reg {
		uint8_t reg; /* DWARF number */
		uint16_t off;
	} * saved;
	/* Where the code is in a vDSO, which may not be at hand: what distinguishes such a frame
	 * from other contents of the stack, one of `marks` in the 4 bytes at sp + mark_off. 0:
	 * nothing. */
	uint16_t mark_off;
	uint32_t marks[2];
};

enum { ARCH_STUB_BYTES = 9 };

/* Instructions that end a thread with what the call before them has returned, or where to the first
 * function of a context returns though it was not called. */
struct arch_exit {
	const uint8_t *code;
	uint8_t code_bytes;
	uint8_t before;	  /* how many of them are before the address that is returned to */
	bool is_function; /* that begins so, and is an outermost frame whatever its call frame
			   * information says */
};

/* Where a system call returns twice: to the caller, and in a new thread or process, which has 0 in
 * the register of DWARF number 0, a stack of its own, and no caller. -1 in `code`: any byte. The pc
 * is `first` to `last` bytes behind its start. */
struct arch_clone {
	const int16_t *code;
	uint8_t code_bytes, first, last;
};

struct arch_code {
	const uint8_t *end;
	size_t n;	 /* bytes that may be read before end */
	uint64_t vaddr;	 /* of end */
	bool from_start; /* they begin with a function */
};

struct arch_return {
	enum { ARCH_RETURN_ANYWHERE, ARCH_RETURN_IN_REGISTER, ARCH_RETURN_IN_FRAME } at;
	int64_t pushed_bytes; /* by how much sp is lower than on entry, if not IN_FRAME */
};

struct arch {
	uint16_t e_machine; /* of base/processor.h, as is word_bytes */
	uint8_t word_bytes;
	uint8_t n_regs; /* DWARF registers that unwinding tracks; <= ARCH_REGS_MAX */
	/* DWARF numbers of the special registers. `ra` holds the return address on entry to a
	 * function (the same as `pc` where calls push it to the stack). */
	uint8_t sp, fp, ra, pc;
	/* Saved return addresses may hold an authentication code above the bits of an address. */
	bool signs_addresses;
	/* Calls leave sp at a multiple of 16 (psABI). */
	bool aligns_calls;
	/* Where HotSpot's interpreter keeps its caller's sp, from its frame record; 0: not known.
	 */
	int8_t interpreter_sp_off;
	/* Where Go functions that have a frame save the caller's frame pointer, from the CFA; 0:
	 * they do not. */
	int8_t go_fp_off;
	/* What the PLT pushes before it jumps to glibc's resolver, whose call frame information
	 * forgets it. */
	uint8_t untold_plt_bytes;
	/* perf register bit -> DWARF register, -1: not tracked. perf's IP maps to `pc`. */
	int8_t perf_to_dwarf[64];
	int8_t dwarf_to_perf[ARCH_REGS_MAX]; /* the inverse */
	/* Can a call instruction end where `end` points? `n` bytes before it may be read. */
	bool (*ends_in_call)(const uint8_t *end, size_t n);
	/* The function that it goes to; `ip`: the address of `end`. 0: the instruction does not
	 * say. */
	uint64_t (*call_target)(const uint8_t *end, size_t n, uint64_t ip);
	/* Does code at `ip` jump to `target`, at any of these `n` bytes? And is it a return? NULL
	 * where nothing is kept below the stack pointer, and calls push nothing. */
	bool (*jumps_to)(const uint8_t *code, size_t n, uint64_t ip, uint64_t target);
	bool (*is_return)(const uint8_t *code, size_t n);
	/* Where link registers are, else NULL: what the code before a place says of the return
	 * address there, for functions without call frame information. */
	struct arch_return (*return_before)(const struct arch_code *code);
	/* And how far above sp the frame record is that the kernel makes for a signal handler. */
	uint16_t signal_record_off;
	/* Words that functions push without call frame information for it, at most. */
	uint8_t untold_pushes;
	/* Words that a stub of a lazy .plt has pushed when it is at `at`, of which ARCH_STUB_BYTES
	 * before and behind can be read (0 where there is no code); 0 also for other code. May be
	 * NULL. */
	unsigned (*stub_pushes)(const uint8_t *at);
	/* By how much sp is lower than on entry, at code + at, where `n` bytes of code known by its
	 * bytes can be read; -1: other code. May be NULL. */
	int (*known_frame)(const uint8_t *code, size_t n, size_t at);
	/* What instructions do to a frame; NULL: not known. */
	code_step_fn *code_step;
	code_may_start_fn *code_may_start; /* NULL: anywhere */
	/* The bytes of the stubs that CPython makes for its functions (Python/asm_trampoline.S),
	 * which lower the stack pointer by a word; NULL: not known. */
	const uint8_t *stub;
	uint8_t stub_bytes;
	const struct arch_trampoline *trampolines; /* ends with code == NULL; may be NULL */
	const struct arch_exit *exits;		   /* likewise */
	const struct arch_clone *clones;	   /* likewise */
};

/* NULL: not supported. `name` as in the recording (HEADER_ARCH); NULL: this machine's. `abi` is
 * PERF_SAMPLE_REGS_ABI_*: 32-bit tasks of a 64-bit kernel get the 32-bit row. */
const struct arch *arch_find(const char *name, uint64_t abi);

/* By an ELF header; NULL: not supported. */
const struct arch *arch_find_elf(uint16_t e_machine, bool is_64);

extern const struct arch arch_x86_64, arch_i386, arch_aarch64;

/* The frame at a function's start. */
static inline struct code_frame arch_entry_frame(const struct arch *arch)
{
	int32_t pushed = arch->ra == arch->pc ? arch->word_bytes : 0;

	return (struct code_frame){.sp = pushed, .saved_ra = pushed};
}

/* What is left of an address in a saved return address, as a mask. */
uint64_t arch_code_mask(const struct arch *arch, const struct address_space *space);

/* Registers of a frame by DWARF number. */
struct regs {
	uint64_t v[ARCH_REGS_MAX];
	uint64_t known; /* bit i: v[i] is known */
};

#endif
