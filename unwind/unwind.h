/* unwind.h - registers + stack copy + maps -> frames.
 *
 * Leaf first. Kernel frames (from the recorded chain) come before user frames. Every stack says why
 * it stopped; every frame says how it was found. Sources of truth: DWARF5 6.4, the LSB's .eh_frame
 * and .eh_frame_hdr, the psABI of each CPU.
 *
 * Threads: one unwinder per thread; they share the modules.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/prefetch.h"
#include "base/scratch.h"
#include "functions/functions.h"
#include "modules/modules.h"
#include "reader/reader.h"

/* X(name, one-letter mark, text) */
#define FRAME_HOWS(X)                                                                   \
	X(SAMPLE, ' ', "the sample's own address")                                      \
	X(KERNEL_CHAIN, ' ', "kernel call chain")                                       \
	X(USER_CHAIN, ' ', "user call chain from the recorder")                         \
	X(BRANCH_STACK, ' ', "last branch records")                                     \
	X(CFI, ' ', "call frame information")                                           \
	X(FRAME_POINTER, '?', "frame pointer, without call frame information")          \
	X(STACK_TOP, '?', "return address at the stack pointer")                        \
	X(GO_TABLE, ' ', "Go's pc table")                                               \
	X(LINK_REGISTER, '?', "link register, without call frame information")          \
	X(CODE, '?', "machine code of the function, without call frame information")    \
	X(NEAR_ROOT, '?', "return address to a root, few words above code without any") \
	X(FP_OWNER, '?', "return address to the owner of the frame pointer")            \
	X(SAVED_SP, '?', "caller's stack pointer, found among the frame's words")       \
	X(STITCHED, '+', "taken from another sample of the thread")                     \
	X(SIGNAL_FRAME, ' ', "registers saved for a signal handler")

#define X(name, mark, text) FRAME_##name,
enum frame_how { FRAME_HOWS(X) FRAME_HOW_N };
#undef X
const char *frame_how_text(enum frame_how how);
/* Whether the n bytes before `end` end in a call: in all that a return address has before it, as
 * far as that many are there. True for processors that are not known. */
enum { UNWIND_CALL_BYTES_MAX = 7 };
bool unwind_ends_in_call(uint16_t e_machine, bool is_64, const uint8_t *end, size_t n);
/* Found by a heuristic: those that are marked '?' above. */
bool frame_how_is_guess(enum frame_how how);

/* Why a user stack ended. X(name, text) */
#define UNWIND_STOPS(X)                                                       \
	X(NONE, "no user stack was recorded")                                 \
	X(END, "root reached")                                                \
	X(TRUNCATED_STACK, "stack copy too small")                            \
	X(NO_CFI, "no call frame information")                                \
	X(NO_MAP, "address not in any mapping")                               \
	X(NO_BINARY, "binary not found")                                      \
	X(BAD_CFI, "call frame information damaged or not evaluable")         \
	X(BAD_MEMORY, "needed memory was not recorded")                       \
	X(NO_REGISTER, "needed register is not known")                        \
	X(LOOP, "stack pointer did not advance")                              \
	X(DEPTH, "frame limit reached")                                       \
	X(NO_REGS, "registers were not recorded")                             \
	X(UNSUPPORTED, "processor not supported")                             \
	X(MISSING_PAGE, "stack copy ends at a page that nothing had touched") \
	X(SWITCHED, "goes on on another stack, which was not copied")

#define X(name, text) UNWIND_STOP_##name,
enum unwind_stop { UNWIND_STOPS(X) UNWIND_STOP_N };
#undef X
const char *unwind_stop_text(enum unwind_stop stop);
/* "NO_CFI" .., as formats for programs name it. */
const char *unwind_stop_name(enum unwind_stop stop);
/* Did the copy of the stack end before the stack did? */
static inline bool unwind_stop_is_cut(enum unwind_stop stop)
{
	return stop == UNWIND_STOP_TRUNCATED_STACK || stop == UNWIND_STOP_MISSING_PAGE;
}

struct frame {
	uint64_t ip;	       /* runtime address: of the sample, or the return address */
	const struct map *map; /* NULL: in no known mapping. Lives as long as the sample's batch */
	bool is_return_address;
	bool is_kernel;
	uint8_t how; /* enum frame_how */
	/* A hint for tables of what is known about places in code: frames at the same place of a
	 * file mostly have the same small number, others of that file never. 0: none, as where
	 * there is no file. */
	uint32_t place_id;
};

/* THE place of "return address minus one": the address to look up for symbols, lines and CFI. A
 * return address may be the first byte of the next function when the call was the last instruction.
 */
static inline uint64_t frame_lookup_ip(const struct frame *f)
{
	return f->ip - f->is_return_address;
}

/* Where a user frame lies on the stack. With its ip it names one activation of a function. */
struct frame_place {
	uint64_t sp; /* stack pointer in the frame */
	uint64_t fp; /* frame pointer, 0 when not known */
};

/* A call takes a word of stack: not more fit into the largest copy, which has 65528 bytes. */
#define UNWIND_FRAMES_MAX 8192

/* Frames that several stacks have in common, one by one outwards. */
struct stack_base {
	struct frame frame;
	struct stack_base *up; /* NULL: this frame is the outermost */
	uint32_t depth;	       /* frames from here on outwards */
	uint32_t tag; /* 0; whose stacks they are may keep a number here (profile: of a node) */
};

struct stack_trace {
	struct frame *frames; /* storage of the unwinder, valid until its next call */
	size_t n;
	struct stack_base *base; /* what other samples show of the callers beyond; NULL: nothing */
	size_t n_kernel;	 /* the first n_kernel frames are kernel frames */
	/* Of the frames from n_kernel on; NULL when not asked for, or not known by the method. */
	const struct frame_place *places;
	enum unwind_stop stop; /* of the user part */
	/* On the stack: END: where the root's frame ends; TRUNCATED_STACK: where the copy begins.
	 * 0: not known, and with other stops. */
	uint64_t edge;
	const struct module *stop_module; /* where NO_CFI / BAD_CFI happened; else NULL */
};

enum unwind_method {
	UNWIND_AUTO,  /* our tables; what --unwinder=cfi names */
	UNWIND_LIBDW, /* plain libdwfl: the oracle */
	UNWIND_FP,    /* frame pointers in the stack copy only */
	UNWIND_FULL,  /* our tables without their short cuts: what AUTO must be equal to */
};

struct unwind_options {
	enum unwind_method method;
	unsigned max_frames; /* user frames; 0: UNWIND_FRAMES_MAX */
	bool no_guess;	     /* no steps that frame_how_is_guess() */
	bool places;	     /* fill stack_trace.places, which stitching needs */
	const char *arch;    /* of the recording ("x86_64", "aarch64"); NULL: this machine's */
	/* Call frame information and bytes of code without a file. NULL: nothing is known of any.
	 * Must outlive the unwinder. UNWIND_LIBDW and UNWIND_FP do not ask. */
	struct jit_codes *jit;
};

struct unwinder; /* opaque */

/* For samples of one thread at a time; modules must outlive it. 0 or negative with *err. */
int unwinder_new(struct unwinder **ret, struct modules *modules, const struct unwind_options *opt,
		 struct err *err);
void unwinder_free(struct unwinder *u); /* NULL is allowed */

/* Never fails: what could not be unwound is said in trace->stop. Uses the stack copy when the
 * sample has registers and stack; else the recorded user call chain; else only the sample's ip. */
void unwind_sample(struct unwinder *u, const struct perf_sample *s, struct stack_trace *trace);

#define UNWIND_EXPECT_BYTES 1024
/* Says that the sample will be unwound soon: fetches the part of its stack that most walks read. */
PREFETCHING void unwind_expect(const struct perf_sample *s)
{
	const uint8_t *line = s->user_stack;

	for (size_t i = 0; line && i < UNWIND_EXPECT_BYTES; i += 64)
		__builtin_prefetch(line + i);
}

/* The same for up to UNWIND_BATCH samples. Faster than one by one, because their accesses to memory
 * overlap. The traces live until the next call. */
#define UNWIND_BATCH 16
void unwind_samples(struct unwinder *u, const struct perf_sample *const *samples, size_t n,
		    struct stack_trace *traces);

/* Moves what the traces point to into `room`, where it lives as long as all that is allocated there
 * (base/scratch.h). 0 or -ERR_NOMEM, after which the traces must not be used. */
int stack_traces_keep(struct stack_trace *traces, size_t n, struct scratch *room);

/* ---- references in machine code ------------------------------------------------------------
 *
 * For comparing the code of two builds: what differs only by where things lie is the same.
 * Source of truth: Intel SDM volume 2. */

struct code_reference {
	uint8_t bytes;	     /* of the instruction */
	uint8_t first, last; /* its bytes [first, last) hold the distance; first == last: none */
	int64_t distance;    /* from the instruction's first byte to what it names */
	uint8_t loads; /* bytes that are read or written there; 0: only its address is taken */
	bool is_jump;  /* or a call: what is named is code */
};
/* Reads the instruction of x86-64 at `code`, of which n bytes are left. False: it is not known. */
bool code_reference_read(const uint8_t *code, size_t n, struct code_reference *ret);

struct unwind_stats {
	uint64_t stops[UNWIND_STOP_N]; /* user stacks by end, from dumps */
	uint64_t frames, frames_by_how[FRAME_HOW_N];
	uint64_t user_stacks;	/* samples that had registers and a dump */
	uint64_t all_registers; /* of these, such as took all registers to follow (AUTO, FULL) */
};
/* Of all samples so far; lives with the unwinder. */
const struct unwind_stats *unwinder_stats(const struct unwinder *u);
void unwind_stats_add(struct unwind_stats *to, const struct unwind_stats *from);

#endif
