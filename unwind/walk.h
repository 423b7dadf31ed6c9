/* walk.h - walking the stack of one sample by rules. Private to unwind/.
 *
 * walk_fast() carries sp, fp, the pc and the link register only. When a rule needs another register
 * in a frame where it is not known, the sample is walked again by walk_full(), which carries all.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <string.h>

#include "unwind/cfi_module.h"
#include "unwind/memory.h"
#include "unwind/method.h"
#include "unwind/rule_cache.h"

/* What is known of a frame without full registers. */
struct cursor {
	uint64_t ip;
	uint64_t lr; /* link register, on processors that have one */
	union {
		struct {
			uint64_t sp, fp;
		};
		uint64_t bases[2]; /* by RULE_SP, RULE_FP */
	};
	bool sp_known, fp_known, lr_known;
	bool is_return_address;
	uint8_t how;
};

/* The walk of one sample. */
struct walk {
	/* The present frame: its rule is in *entry if that has this key, else nowhere yet. At the
	 * root, sp is behind all that was read. */
	struct cursor c;
	uint64_t key;
	struct rule_entry *entry;
	/* Where the next frame goes, and its place, unless NULL. */
	struct frame *next;
	struct frame_place *next_place;
	const struct frame *frames_end;
	uint16_t usual_kinds; /* see walk_fast.c */
	/* For the hot loop: words can be read at memory.sp + 0 .. n_word_starts - 1; where the copy
	 * of a word is, minus where the word was. */
	const uint8_t *stack;
	uint64_t n_word_starts, copy_bias;
	struct memory memory;
	uint64_t space_key; /* of the sample's address space in the cache */
	uint64_t code_mask; /* see arch_code_mask() */
	bool is_described;  /* a JIT compiler described its code */

	struct cfi_worker *worker;
	const struct perf_sample *s;
	const struct arch *arch;
	struct frame_sink *sink;
	const struct frame *frames; /* the walk's first */
	enum unwind_stop stop;
	/* What was asked of a JIT compiler last. */
	struct jit_answer {
		bool is_known, is_described;
		uint64_t ip;
		struct jit_unwind_info info;
	} jit;
};

/* Functions of JIT compilers whose machine code was followed; of one worker. A zeroed one is empty.
 */
struct jit_code {
	struct hash_table by_code; /* address of the bytes -> index in rows */
	VEC(struct code_rows) rows;
	size_t n_rows; /* in all of them */
};

#define MAPS_KNOWN 256

#define CODES_KNOWN 256

#define FRAMES_KNOWN 256

#define CODE_FILTER_BITS 12

/* One worker: what stays between samples. */
struct cfi_worker {
	struct modules *modules;
	bool no_guess;
	bool full_only;	      /* no fast walks */
	unsigned guess_share; /* of the frames of late, see walk_fast.c */
	struct jit_cursor jitdumps;
	/* By PERF_REGS_ABI_*: the processor (NULL: unsupported), and where the registers that every
	 * walk begins with are in samples of the last mask. */
	struct cfi_registers {
		const struct arch *arch;
		uint64_t mask;
		int8_t pc, sp, fp, lr; /* index in perf_regs.regs; -1: not recorded */
	} registers[3];
	struct rule_cache cache;
	/* By map id: the modules of the maps that were asked for last. */
	struct known_module {
		uint32_t map; /* id; 0: empty */
		const struct module *mod;
		struct cfi_module *cm;
	} modules_of[MAPS_KNOWN];
	/* By address: what was asked for last of code without call frame information. */
	struct known_code {
		uint32_t map;	   /* id; 0: empty */
		uint64_t ip, bias; /* address - vaddr */
		struct code_function fn;
		struct code_frame frame;
		bool is_known;
		uint8_t ahead; /* enum code_ahead */
	} codes[CODES_KNOWN];
	struct jit_code jit_code;
	/* By return address: frames by machine code that fp_owner.c has asked for. */
	struct known_frame {
		uint32_t map; /* id; 0: empty */
		bool is_known;
		uint64_t ra;
		struct code_frame frame;
	} frames[FRAMES_KNOWN];
	/* Of fp_owner.c: parts of the address space with code of files. Is there HotSpot? Its own
	 * code calls what it compiles through a function with a frame record only. */
	struct code_filter {
		uint64_t layout, n_maps;
		bool is_hotspot;
		uint64_t bits[(1u << CODE_FILTER_BITS) / 64];
	} code_filter;
	struct walk walks[UNWIND_BATCH];
};

/* Not an enum unwind_stop: the fast walk cannot go on. */
#define WALK_NEEDS_ALL ((enum unwind_stop)UNWIND_STOP_N)
/* Not an enum unwind_stop: go on with the next frame. */
#define WALK_ON ((enum unwind_stop)(UNWIND_STOP_N + 1))

/* Walks several samples of one processor frame by frame in turns, so that their cache misses
 * overlap. Each begins at its `c`; sets each `stop`. The array is used up. */
void walk_fast(struct walk **walks, size_t n);
enum unwind_stop walk_full(struct walk *w, const struct regs *regs);

/* A word of 4 or 8 bytes from the stack copy. */
static inline bool walk_word(const struct walk *w, uint64_t addr, unsigned word_bytes,
			     uint64_t *ret)
{
	uint64_t off = addr - w->memory.sp;
	uint32_t word;

	if (__builtin_expect(off >= w->n_word_starts, 0))
		return false;
	if (word_bytes == 8) {
		memcpy(ret, w->stack + off, sizeof *ret);
	} else {
		memcpy(&word, w->stack + off, sizeof word);
		*ret = word;
	}
	return true;
}

/* NULL: none. */
static inline const struct map *walk_map(const struct walk *w, const struct rule_entry *e)
{
	return w->worker->cache.maps.v[e->map];
}

/* Is the present frame on another stack than the one that was copied? */
bool walk_is_elsewhere(const struct walk *w);

/* Why reading `addr` failed. */
static inline enum unwind_stop walk_read_stop(const struct walk *w, uint64_t addr)
{
	if (walk_is_elsewhere(w))
		return UNWIND_STOP_SWITCHED;
	return memory_is_cut_before(&w->memory, addr) ? UNWIND_STOP_TRUNCATED_STACK
						      : UNWIND_STOP_BAD_MEMORY;
}

/* Appends the frame *c, whose rule is in *e; false when there is no room. */
static inline bool walk_push(struct walk *w, const struct cursor *c, const struct rule_entry *e)
{
	struct frame *f = w->next;

	if (__builtin_expect(f == w->frames_end, 0))
		return false;
	if (w->next_place)
		*w->next_place++ = (struct frame_place){c->sp, c->fp & -(uint64_t)c->fp_known};
	*f = (struct frame){
		.ip = c->ip,
		.map = walk_map(w, e),
		.is_return_address = c->is_return_address,
		.how = c->how,
		.place_id = e->number,
	};
	w->next = f + 1;
	return true;
}

/* Takes back the last frame. */
static inline void walk_pop(struct walk *w)
{
	w->next--;
	if (w->next_place)
		w->next_place--;
}

/* The rule of an address that is not in the cache, put there if it can be, else in *own. */
struct rule_entry *walk_rule_miss(struct walk *w, uint64_t lookup_ip, struct rule_entry *own);

/* The rule of an address. The result is valid until the next call. */
static inline struct rule_entry *walk_rule(struct walk *w, uint64_t lookup_ip,
					   struct rule_entry *own)
{
	uint64_t key = w->space_key | lookup_ip;
	struct rule_entry *e = rule_cache_at(&w->worker->cache, key);

	if (__builtin_expect((e->key ^ key) | lookup_ip >> RULE_CACHE_IP_BITS, 0))
		return walk_rule_miss(w, lookup_ip, own);
	return e;
}

/* The complete rule of an address in `map` whose packed rule is neither an end nor missing. `bias`:
 * runtime address minus vaddr there. NULL when out of memory. */
const struct full_rule *walk_full_rule(struct walk *w, const struct map *map, uint64_t lookup_ip,
				       uint64_t *bias);

/* What is known about the module of a map, and the vaddr of `ip`; NULL: no image, not for this
 * walk's processor, or ip is in none of its segments. */
struct cfi_module *walk_module(struct walk *w, const struct map *map, uint64_t ip, uint64_t *vaddr);

/* jit_info.c: a JIT compiler's description of the code at `ip`; false: nothing. */
bool jit_info_find(struct walk *w, uint64_t ip, struct jit_unwind_info *ret);
/* Finds the caller of the frame *c by a JIT compiler's description of its code. WALK_ON
 * and the caller in *c (but not is_return_address), WALK_NEEDS_ALL, or why it ends here;
 * UNWIND_STOP_NO_CFI: there is none. */
enum unwind_stop jit_step(struct walk *w, struct cursor *c);
/* The complete rule; NULL: there is no description, or that this is the outermost frame. `bias` as
 * in walk_full_rule(). */
const struct full_rule *jit_full_rule(struct walk *w, uint64_t ip, struct arena *arena,
				      uint64_t *bias);

/* red_zone.c: the CFA of the sample's own frame *c in `map`, whose rule reads it from below the
 * stack pointer, where nothing was copied. False: not found. */
bool red_zone_find(struct walk *w, const struct cursor *c, const struct map *map, uint64_t *cfa);

/* code_step.c: does to *frame what the instruction at vaddr does. False: there is none, or it is
 * not understood. Of a processor with a code_step() only. */
bool code_insn_at(const struct cfi_module *cm, uint64_t vaddr, struct code_frame *frame,
		  struct code_insn *ret);

/* code_step.c: does the code from `ip` on, in a file, give the frame pointer back to its caller as
 * a function does whose frame begins there? Only the way that takes no branch is followed, unless
 * it ends in a trap. */
bool leaves_by_fp(struct walk *w, const struct map *map, uint64_t ip);

/* code_step.c: finds the caller of the frame *c in `map`, of a file, by its function's machine
 * code. WALK_ON and the caller in *c (but not is_return_address); UNWIND_STOP_TRUNCATED_STACK: it
 * was not copied; UNWIND_STOP_NO_CFI: not known. */
enum unwind_stop code_step(struct walk *w, struct cursor *c, const struct map *map);

/* code_step.c: does the sample's own code, in `map` of a file, come to a jump before any return, so
 * that it may have a frame of which nothing is known? */
bool leaves_by_switch(struct walk *w, const struct map *map, const struct cursor *c);

/* code_ahead.c: the frame at vaddr by the way from there to the return, for code whose function is
 * not known. `is_called`: it is a return address. */
enum code_ahead code_ahead(const struct cfi_module *cm, uint64_t vaddr, bool is_called,
			   struct code_frame *ret);

/* The caller of *c by a frame, in *ret but is_return_address; WALK_ON, or why it is not known. */
enum unwind_stop code_caller(struct walk *w, const struct cursor *c, const struct code_frame *f,
			     struct cursor *ret);

/* jit_code.c: the same as code_step() for code without a file, where a JIT compiler has told its
 * bytes. *has_fp: does nothing in the code speak against a frame pointer in this frame? */
enum unwind_stop jit_code_step(struct walk *w, struct cursor *c, bool *has_fp);
/* The stack pointer in the caller of *c, code without a file with a frame pointer; `ra`: its return
 * address. */
uint64_t jit_caller_sp(struct walk *w, const struct cursor *c, uint64_t ra);
/* Is the frame of code without a file at ip found by its frame pointer, or not at all? */
bool jit_goes_by_fp(struct walk *w, uint64_t ip);
void jit_code_done(struct jit_code *j);

/* fp_owner.c: whose is the frame record at the frame pointer of *c, a frame in `map` whose code may
 * have none? */
enum fp_owner {
	FP_OWNER_SELF,	  /* nothing says that it is not the frame's own */
	FP_OWNER_CALLER,  /* a caller's, and the frame's caller is in *caller but is_return_address
			   */
	FP_OWNER_UNKNOWN, /* it may be a caller's */
};
enum fp_owner fp_owner_find(struct walk *w, const struct cursor *c, const struct map *map,
			    struct cursor *caller);
/* jit_owner.c: the same for code without a file. FP_OWNER_SELF: return addresses of files may say
 * more. */
enum fp_owner jit_owner_find(struct walk *w, const struct cursor *c, bool is_hotspot,
			     struct cursor *caller);
/* The stack pointer in the caller of what has its frame record at fp, in code without a file. */
uint64_t jit_sender_sp(struct walk *w, uint64_t fp);
/* What the machine code says of the function, with a frame pointer, that may own the record at
 * c->fp and has called what returns to `ra`, the word at `at`. FP_OWNER_SELF: does not own it. */
enum fp_owner fp_owner_by_code(struct walk *w, const struct cursor *c, uint64_t ra, uint64_t at);

/* go_step.c: the same for functions of Go's runtime that change stacks. `kind`: RULE_STACK_SWITCH,
 * RULE_GO_THREAD, RULE_GO_CALLBACK. */
enum unwind_stop go_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			 const struct map *map);

/* ---- fallback.c: frames without call frame information -------------------------------------- */

/* Tries to find the caller of the frame *c in `map` (may be NULL), for which there is no rule:
 * `kind` is RULE_NO_CFI or later in the enum. WALK_ON and the caller in *c, or why it ends here. */
enum unwind_stop fallback_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			       const struct map *map);

/* The sample's own frame *c seems to be the outermost, because its rule found 0 for the return
 * address. Is that so, or is the rule wrong, as at the return of OpenSSL's x25519_fe64_mul? WALK_ON
 * and the caller in *c, UNWIND_STOP_END or (without guesses) UNWIND_STOP_BAD_CFI. */
enum unwind_stop fallback_first_end(struct walk *w, struct cursor *c);

/* ---- fallback_cached.c: the short way for frames at an address that the fallback has met */

/* The same as fallback_step() for the walk's present frame, whose rule this is, of RULE_NO_CFI.
 * False: not found in the short way, nothing has changed. */
bool fallback_cached(struct walk *w, const struct rule *r);

/* The address is in code without a file. */
void fallback_note_jit(struct walk *w, uint64_t lookup_ip);
/* It is in a function with a name, in such a frame. */
void fallback_note_code(struct walk *w, uint64_t lookup_ip, const struct code_frame *f);

/* jit_info.c: the rule of an address in the function. False: its call frame information is damaged,
 * is for more than one function or a signal frame, or does not cover ip. */
bool jit_rule(const struct jit_unwind_info *info, const struct arch *arch, uint64_t ip,
	      struct rule *ret);

#endif
