/* unwind.h - registers + stack copy + maps -> frames.
 *
 * Leaf first. Kernel frames (from the recorded chain) come before user frames. Every stack says why
 * it stopped; every frame says how it was found. Sources of truth: DWARF5 6.4, the LSB's .eh_frame
 * and .eh_frame_hdr, the psABI of each CPU.
 *
 *	rc = unwinder_new(&u, modules, &(struct unwind_options){0}, &err);
 *	for each sample: {
 *		unwind_sample(u, sample, &trace);
 *		use(trace.frames, trace.n), say(unwind_stop_text(trace.stop));
 *	}
 *	unwinder_free(u);
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
#define FRAME_HOWS(X)                                                                      \
	X(SAMPLE, ' ', "the sample's own address")                                         \
	X(KERNEL_CHAIN, ' ', "kernel call chain")                                          \
	X(USER_CHAIN, ' ', "user call chain from the recorder")                            \
	X(BRANCH_STACK, ' ', "last branch records")                                        \
	X(CFI, ' ', "call frame information")                                              \
	X(FRAME_POINTER, '?', "frame pointer, without call frame information")             \
	X(STACK_TOP, '?', "return address at the stack pointer")                           \
	X(RUNTIME_TABLE, ' ', "frame size in the runtime's table (Go, native-image)")      \
	X(LINK_REGISTER, '?', "link register, without call frame information")             \
	X(CODE, '?', "machine code of the function, without call frame information")       \
	X(NEAR_ROOT, '?', "return address to a root, a few words above the stack pointer") \
	X(FP_OWNER, '?', "return address to the function that owns the frame pointer")     \
	X(SAVED_SP, '?', "caller's stack pointer, found on the stack")                     \
	X(STITCHED, '+', "taken from another sample of the thread")                        \
	X(SIGNAL_FRAME, ' ', "registers saved for a signal handler")                       \
	X(OTHER_STACK, ' ', "callers on another stack, which was not copied")

#define X(name, mark, text) FRAME_##name,
enum frame_how { FRAME_HOWS(X) FRAME_HOW_N };
#undef X
const char *frame_how_text(enum frame_how how);
/* True if the `n` bytes before `end` end in a call instruction, as the code before a return address
 * does. Pass UNWIND_CALL_BYTES_MAX bytes, or fewer if fewer are readable. Always true for
 * processors that are not supported. */
enum { UNWIND_CALL_BYTES_MAX = 7 };
bool unwind_ends_in_call(uint16_t e_machine, bool is_64, const uint8_t *end, size_t n);
/* True for frames that a heuristic found: those marked '?' above. */
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
	X(SWITCHED, "continues on another stack, which was not copied")

#define X(name, text) UNWIND_STOP_##name,
enum unwind_stop { UNWIND_STOPS(X) UNWIND_STOP_N };
#undef X
const char *unwind_stop_text(enum unwind_stop stop);
/* The name for machine-readable output: "NO_CFI" ... */
const char *unwind_stop_name(enum unwind_stop stop);
/* True if the stack copy ended before the stack did. */
static inline bool unwind_stop_is_cut(enum unwind_stop stop)
{
	return stop == UNWIND_STOP_TRUNCATED_STACK || stop == UNWIND_STOP_MISSING_PAGE;
}

/* A frame of FRAME_OTHER_STACK stands for any number of callers of which nothing is known, between
 * frames that are: its address is 0. */
struct frame {
	uint64_t ip;	       /* runtime address: of the sample, or the return address */
	const struct map *map; /* NULL: no known mapping. Valid as long as the sample's batch */
	bool is_return_address;
	bool is_kernel;
	uint8_t how; /* enum frame_how */
	/* A hint for tables that are indexed by code address: usually the same small number for
	 * frames at the same address of a file, never the same for different addresses of that
	 * file. 0: none, for example where there is no file. */
	uint32_t place_id;
};

/* The only place that computes "return address minus one": the address to look up for symbols,
 * lines and CFI. A return address may be the first byte of the next function when the call was the
 * last instruction. */
static inline uint64_t frame_lookup_ip(const struct frame *f)
{
	return f->ip - f->is_return_address;
}

/* Where a user frame lies on the stack. Together with its ip this identifies one activation of a
 * function. */
struct frame_place {
	uint64_t sp; /* stack pointer in the frame */
	uint64_t fp; /* frame pointer, 0 when not known */
};

/* The registers of a frame by DWARF number, as its function had them when it called the next one:
 * those that calls preserve by the rules that were found. All others have the value that they had
 * in the called function, which means something only to who knows that it kept them. */
#define UNWIND_REGISTERS_MAX 40
struct frame_registers {
	uint64_t v[UNWIND_REGISTERS_MAX];
	uint64_t known; /* bit i: v[i] is known */
};

/* Each call uses at least one word of stack: the largest copy (65528 bytes) cannot hold more. */
#define UNWIND_FRAMES_MAX 8192

/* Frames that several stacks share, as a linked list from callee to caller. */
struct stack_base {
	struct frame frame;
	struct stack_base *up; /* NULL: this frame is the outermost */
	uint32_t depth;	       /* number of frames from this one to the outermost */
	uint32_t tag; /* initially 0; free for use by the owner of the stacks (profile: a node) */
};

struct stack_trace {
	struct frame *frames; /* storage of the unwinder, valid until its next call */
	size_t n;
	struct stack_base *base; /* outer callers, known from other samples; NULL: none */
	size_t n_kernel;	 /* the first n_kernel frames are kernel frames */
	/* Places of the frames from n_kernel on; NULL when not requested, or when the method does
	 * not know them. */
	const struct frame_place *places;
	/* Registers of the first n_registers frames from n_kernel on; NULL when not requested, or
	 * when the method does not know them. Valid until the unwinder's next call. */
	const struct frame_registers *registers;
	size_t n_registers;
	/* For values/: texts about the frames, allocated by its caller; NULL: none. */
	const char *values, *labels;
	uint32_t values_len, labels_len;
	bool is_left_out;      /* by a condition on values: not a sample of the profile */
	bool is_undecided;     /* likewise, because the value is not known */
	uint32_t names_seen;   /* bit i: condition i names a parameter that is there */
	enum unwind_stop stop; /* of the user part */
	/* A stack address. For END: where the root's frame ends; for TRUNCATED_STACK: where the
	 * copy begins. 0 for other stops, and when not known. */
	uint64_t edge;
	const struct module *stop_module; /* where NO_CFI / BAD_CFI happened; else NULL */
};

enum unwind_method {
	UNWIND_AUTO,  /* our own tables (--unwinder=cfi) */
	UNWIND_LIBDW, /* plain libdwfl: the oracle */
	UNWIND_FP,    /* frame pointers in the stack copy only */
	UNWIND_FULL,  /* our own tables without the fast path; must give the same result as AUTO */
};

struct unwind_options {
	enum unwind_method method;
	unsigned max_frames; /* user frames; 0: UNWIND_FRAMES_MAX */
	bool no_guess;	     /* take no steps for which frame_how_is_guess() is true */
	bool places;	     /* fill stack_trace.places, which stitching needs */
	bool registers;	     /* fill stack_trace.registers: by the full walk, which is slower */
	const char *arch;    /* of the recording ("x86_64", "aarch64"); NULL: this machine's */
	/* Call frame information and machine code of JIT compilers, for code without a file. NULL:
	 * none is known. Must outlive the unwinder. Not used by UNWIND_LIBDW and UNWIND_FP. */
	struct jit_codes *jit;
};

struct unwinder; /* opaque */

/* An unwinder may be used by one thread at a time. `modules` must outlive it. Returns 0, or a
 * negative error code with *err. */
int unwinder_new(struct unwinder **ret, struct modules *modules, const struct unwind_options *opt,
		 struct err *err);
void unwinder_free(struct unwinder *u); /* NULL is allowed */

/* Never fails: trace->stop says why the stack ends. Uses the stack copy when the sample has
 * registers and a copy; otherwise the recorded user call chain; otherwise only the sample's ip. */
void unwind_sample(struct unwinder *u, const struct perf_sample *s, struct stack_trace *trace);

#define UNWIND_EXPECT_BYTES 1024
/* Prefetches the part of the sample's stack copy that most walks read. Call it a little before the
 * sample is unwound. */
PREFETCHING void unwind_expect(const struct perf_sample *s)
{
	const uint8_t *line = s->user_stack;

	for (size_t i = 0; line && i < UNWIND_EXPECT_BYTES; i += 64)
		__builtin_prefetch(line + i);
}

/* unwind_sample() for up to UNWIND_BATCH samples. Faster than one by one, because their cache
 * misses overlap. The traces are valid until the next call. */
#define UNWIND_BATCH 16
void unwind_samples(struct unwinder *u, const struct perf_sample *const *samples, size_t n,
		    struct stack_trace *traces);

/* The n bytes at an address as they were at the sample: of its stack copy, or of a mapped file
 * whose memory cannot have been written to. They live as long as the sample's batch. NULL: not
 * known. */
const uint8_t *unwind_memory(const struct unwinder *u, const struct perf_sample *s, uint64_t addr,
			     unsigned n);

/* Copies what the traces point to into `room`, where it stays valid as long as other allocations of
 * `room` (base/scratch.h). Returns 0, or -ERR_NOMEM, after which the traces must not be used. */
int stack_traces_keep(struct stack_trace *traces, size_t n, struct scratch *room);

/* ---- references in machine code ------------------------------------------------------------
 *
 * For comparing the code of two builds: code that differs only by the addresses it refers to counts
 * as equal. Source of truth: Intel SDM volume 2. */

struct code_reference {
	uint8_t bytes;	     /* length of the instruction */
	uint8_t first, last; /* bytes [first, last) of it hold the distance; equal: no reference */
	int64_t distance;    /* in bytes, from the start of the instruction to its target */
	uint8_t loads;	     /* bytes read or written at the target; 0: only its address is taken */
	bool is_jump;	     /* a jump or call: the target is code */
};
/* Decodes the x86-64 instruction at `code`, where `n` bytes can be read. Returns false if the
 * instruction is not known. */
bool code_reference_read(const uint8_t *code, size_t n, struct code_reference *ret);

struct unwind_stats {
	uint64_t stops[UNWIND_STOP_N]; /* user stacks from stack copies, by why they ended */
	uint64_t frames, frames_by_how[FRAME_HOW_N];
	uint64_t user_stacks;	/* samples with registers and a stack copy */
	uint64_t all_registers; /* those of them that needed the full walk (AUTO, FULL) */
};
/* Totals of all samples so far. Valid as long as the unwinder. */
const struct unwind_stats *unwinder_stats(const struct unwinder *u);
void unwind_stats_add(struct unwind_stats *to, const struct unwind_stats *from);

/* ---- our frames beside libdw's ---------------------------------------------------------------
 *
 * Every Nth sample with a stack copy is also unwound by libdw, from the same bytes, and the two
 * lists of frames are compared and sorted into a few classes. Each thread has its own struct
 * verify; they are added up. */

/* X(name, text) */
#define VERIFY_CLASSES(X)                                                                \
	X(EQUAL, "the same frames")                                                      \
	X(ACTIVATION, "the same functions; an address off by one around a signal frame") \
	X(LIBDW_EARLIER, "libdw stops earlier, equal until there")                       \
	X(LIBDW_FURTHER, "libdw goes on, equal until our end")                           \
	X(DIFFERENT, "different frames")

#define X(name, text) VERIFY_##name,
enum verify_class { VERIFY_CLASSES(X) VERIFY_N };
#undef X

/* The first sample of a class, for the report. */
struct verify_example {
	uint64_t time_ns, ours_ip, libdw_ip;
	uint32_t tid;
	size_t frame; /* index of the first difference */
	enum unwind_stop ours_stop, libdw_stop;
};

struct verify {
	uint64_t every; /* 0: off */
	struct unwinder *libdw;
	uint64_t counts[VERIFY_N];
	struct verify_example examples[VERIFY_N]; /* valid where counts[] is not 0 */
};

/* With every == 0 all other functions do nothing. Returns 0 or negative. */
int verify_init(struct verify *v, uint64_t every, struct modules *modules,
		const struct unwind_options *opt, struct err *err);
void verify_done(struct verify *v);
/* Compares a sample that was unwound into `ours`. */
void verify_sample(struct verify *v, const struct perf_sample *s, const struct stack_trace *ours);
void verify_add(struct verify *to, const struct verify *from);

#endif
