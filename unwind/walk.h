/* walk.h - walking the stack of one sample by rules. Private to unwind/.
 *
 * walk_fast() tracks only sp, fp, the pc and the link register. When a rule needs another register
 * in a frame where its value is not known, walk_full(), which tracks all registers, walks the
 * sample again. */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <string.h>

#include "unwind/cfi_module.h"
#include "unwind/memory.h"
#include "unwind/method.h"
#include "unwind/rule_cache.h"

/* The state of a frame without full registers. */
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
	/* The current frame. Its rule is in *entry if the key there equals `key`; otherwise it has
	 * not been looked up yet. At the root, c.sp is above everything that was read. */
	struct cursor c;
	uint64_t key;
	struct rule_entry *entry;
	/* Where to store the next frame and its place (next_place may be NULL). */
	struct frame *next;
	struct frame_place *next_place;
	const struct frame *frames_end;
	uint16_t usual_kinds; /* set of kinds, see walk_fast.c */
	/* For the hot loop: words can be read at memory.sp + 0 .. n_word_starts - 1. copy_bias:
	 * address of the copy of a word minus the word's runtime address. */
	const uint8_t *stack;
	uint64_t n_word_starts, copy_bias;
	struct memory memory;
	uint64_t space_key; /* of the sample's address space, see rule_cache_space() */
	uint64_t code_mask; /* see arch_code_mask() */
	bool is_described;  /* the process has a jitdump */

	struct cfi_worker *worker;
	const struct perf_sample *s;
	const struct arch *arch;
	struct frame_sink *sink;
	const struct frame *frames; /* the first frame of this walk */
	enum unwind_stop stop;
	/* The last look-up of a JIT compiler's description. */
	struct jit_answer {
		bool is_known, is_described;
		uint64_t ip;
		struct jit_unwind_info info;
	} jit;
};

/* Per worker: the JIT-compiled functions whose machine code was analyzed. A zeroed struct is
 * empty. */
struct jit_code {
	struct hash_table by_code; /* address of the bytes -> index in rows */
	VEC(struct code_rows) rows;
	size_t n_rows; /* total */
};

/* Per worker: frames of code of which only the bytes are known. A zeroed struct is empty. */
struct jit_ahead_frame {
	struct code_frame frame;
	bool is_known, passes, is_entry; /* see jit_ahead.c */
};
struct jit_ahead {
	struct hash_table by_code; /* address of the bytes -> index in frames */
	VEC(struct jit_ahead_frame) frames;
};
void jit_ahead_done(struct jit_ahead *a); /* jit_ahead.c */

#define MAPS_KNOWN     256
#define V8_FILES_KNOWN 16

#define CODES_KNOWN 256

#define FRAMES_KNOWN 256

#define REACHES_KNOWN 512

/* Maximum number of words between the stack pointer and a frame record: as many as the largest copy
 * of a stack has. */
#define LINKS_MAX 8192

#define CODE_FILTER_BITS 12

/* Per worker: the state that is kept between samples. */
struct cfi_worker {
	struct modules *modules;
	bool no_guess;
	bool full_only;	      /* never use walk_fast() */
	unsigned guess_share; /* share of guesses in recent frames, see walk_fast.c */
	struct jit_cursor jitdumps;
	/* By PERF_REGS_ABI_*: the processor (NULL: not supported), and where the registers that
	 * every walk starts with are in samples with the register mask `mask` (the last one
	 * seen). */
	struct cfi_registers {
		const struct arch *arch;
		uint64_t mask;
		int8_t pc, sp, fp, lr; /* index in perf_regs.regs; -1: not recorded */
	} registers[3];
	struct rule_cache cache;
	/* Direct-mapped by map id: modules of maps that were looked up recently. */
	struct known_module {
		uint32_t map; /* id; 0: empty */
		const struct module *mod;
		struct cfi_module *cm;
	} modules_of[MAPS_KNOWN];
	/* Direct-mapped by dso id: large files that were looked into for V8. */
	struct known_v8 {
		const struct dso *dso; /* NULL: empty */
		bool is_v8;
	} v8_files[V8_FILES_KNOWN];
	/* Direct-mapped by address: recent results for code without call frame information. */
	struct known_code {
		uint32_t map;	   /* id; 0: empty */
		uint64_t ip, bias; /* address - vaddr */
		struct code_function fn;
		struct code_frame frame;
		bool is_known;
		uint8_t ahead; /* enum code_ahead */
	} codes[CODES_KNOWN];
	struct jit_code jit_code;
	struct jit_ahead jit_ahead;
	/* The last answer of php_leaves_to(). */
	struct known_php {
		uint64_t layout, n_maps, leaves_to;
	} php;
	/* Direct-mapped by return address: frames by machine code, for fp_owner.c. */
	struct known_frame {
		uint32_t map; /* id; 0: empty */
		bool is_known;
		uint64_t ra;
		struct code_frame frame;
	} frames[FRAMES_KNOWN];
	/* Direct-mapped: recent results of call_may_reach(). */
	struct known_reach {
		uint32_t map; /* id, of the target; 0: empty */
		bool may;
		uint64_t target, ip;
	} reaches[REACHES_KNOWN];
	/* For fp_owner.c: what is known of the words up to the record, see there. */
	uint8_t links[LINKS_MAX];
	/* For fp_owner.c: the parts of the address space that contain code of files. is_hotspot:
	 * libjvm.so is mapped; HotSpot's own code calls compiled code only through a function with
	 * a frame record. */
	struct code_filter {
		uint64_t layout, n_maps;
		bool is_hotspot, is_v8, is_erlang;
		uint64_t bits[(1u << CODE_FILTER_BITS) / 64];
	} code_filter;
	struct walk walks[UNWIND_BATCH];
};

/* Not an enum unwind_stop: walk_fast() cannot continue. */
#define WALK_NEEDS_ALL ((enum unwind_stop)UNWIND_STOP_N)
/* Not an enum unwind_stop: continue with the next frame. */
#define WALK_ON ((enum unwind_stop)(UNWIND_STOP_N + 1))

/* Walks several samples of the same processor, taking one frame of each in turn, so that their
 * cache misses overlap. Each walk starts at its `c`; its `stop` is set at the end. Overwrites the
 * array `walks`. */
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

/* The map of a rule entry; NULL: none. */
static inline const struct map *walk_map(const struct walk *w, const struct rule_entry *e)
{
	return w->worker->cache.maps.v[e->map];
}

/* True if the current frame is on another stack than the copied one. */
bool walk_is_elsewhere(const struct walk *w);

/* The reason why reading `addr` failed. */
static inline enum unwind_stop walk_read_stop(const struct walk *w, uint64_t addr)
{
	if (walk_is_elsewhere(w))
		return UNWIND_STOP_SWITCHED;
	return memory_is_cut_before(&w->memory, addr) ? UNWIND_STOP_TRUNCATED_STACK
						      : UNWIND_STOP_BAD_MEMORY;
}

/* Appends the frame *c, whose rule is *e. Returns false when there is no room. */
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

/* Removes the last frame. */
static inline void walk_pop(struct walk *w)
{
	w->next--;
	if (w->next_place)
		w->next_place--;
}

/* The rule of an address that is not in its home slot of the cache. Stored in the cache if
 * possible, otherwise in *own. */
struct rule_entry *walk_rule_miss(struct walk *w, uint64_t lookup_ip, struct rule_entry *own);

/* The rule of an address. Valid until the next call. */
static inline struct rule_entry *walk_rule(struct walk *w, uint64_t lookup_ip,
					   struct rule_entry *own)
{
	uint64_t key = w->space_key | lookup_ip;
	struct rule_entry *e = rule_cache_at(&w->worker->cache, key);

	if (__builtin_expect((e->key ^ key) | lookup_ip >> RULE_CACHE_IP_BITS, 0))
		return walk_rule_miss(w, lookup_ip, own);
	return e;
}

/* The complete rule of an address in `map`, if its packed rule is neither RULE_END nor missing.
 * `bias`: runtime address minus vaddr there. NULL when out of memory. */
const struct full_rule *walk_full_rule(struct walk *w, const struct map *map, uint64_t lookup_ip,
				       uint64_t *bias);

/* The unwinding state of the module of a map, and the vaddr of `ip`. NULL: no image, another
 * processor, or `ip` is in none of its segments. */
struct cfi_module *walk_module(struct walk *w, const struct map *map, uint64_t ip, uint64_t *vaddr);

/* jit_info.c: a JIT compiler's description of the code at `ip`; false: none. */
bool jit_info_find(struct walk *w, uint64_t ip, struct jit_unwind_info *ret);
/* Finds the caller of the frame *c by a JIT compiler's description of its code. Returns WALK_ON and
 * the caller in *c (except is_return_address), WALK_NEEDS_ALL, or why the stack ends;
 * UNWIND_STOP_NO_CFI: there is no description. */
enum unwind_stop jit_step(struct walk *w, struct cursor *c);
/* jit_info.c: the bytecode of the method at this address, in the memory of HotSpot; false: not
 * known. */
bool jit_bytecode_find(struct walk *w, uint64_t method, uint64_t *start, uint64_t *end);
/* jit_info.c: true if what is at the address then is known. */
bool jit_is_named(struct walk *w, uint64_t ip);
/* hotspot_step.c: jit_step() for code of HotSpot, of which *info says what its frame is. */
enum unwind_stop hotspot_step(struct walk *w, struct cursor *c, const struct jit_unwind_info *info);
/* hotspot_step.c: true where HotSpot's own code returns to though no call is before it: it pushes
 * addresses in the interpreter, and replaces return addresses into frames that it will rebuild. */
bool hotspot_returns_without_call(const struct jit_unwind_info *info, uint64_t ra);
/* jit_code.c: the step of jit_code_step() for code of which all is known. */
enum unwind_stop jit_rows_step(struct walk *w, struct cursor *c,
			       const struct jit_unwind_info *info);
/* The complete rule; NULL: no description, or it says that this is the outermost frame. `bias` as
 * in walk_full_rule(). */
const struct full_rule *jit_full_rule(struct walk *w, uint64_t ip, struct arena *arena,
				      uint64_t *bias);

/* red_zone.c: finds the CFA of the sample's own frame *c in `map` when the rule reads it from below
 * the stack pointer, where nothing was copied. Returns false if it is not found. */
bool red_zone_find(struct walk *w, const struct cursor *c, const struct map *map, uint64_t *cfa);

/* code_step.c: applies the instruction at vaddr to *frame. Returns false if there is none or it is
 * not understood. Only for processors with a code_step(). */
bool code_insn_at(const struct cfi_module *cm, uint64_t vaddr, struct code_frame *frame,
		  struct code_insn *ret);

/* code_step.c: true if the code from `ip` on, in a file, restores the caller's frame pointer as a
 * function does whose own frame record is at the frame pointer. Follows only the path that takes no
 * branch, unless that path ends in a trap. */
bool leaves_by_fp(struct walk *w, const struct map *map, uint64_t ip);

/* code_step.c: finds the caller of the frame *c in `map`, which is of a file, by the machine code
 * of its function. Returns WALK_ON and the caller in *c (except is_return_address);
 * UNWIND_STOP_TRUNCATED_STACK: the return address was not copied; UNWIND_STOP_NO_CFI: not known. */
enum unwind_stop code_step(struct walk *w, struct cursor *c, const struct map *map);

/* code_step.c: true if the sample's own code, in `map` of a file, comes to an indirect jump before
 * any return: then it may have a frame of which nothing is known. */
bool leaves_by_switch(struct walk *w, const struct map *map, const struct cursor *c);

/* code_step.c: true if the machine code of *c, in `map` of a file, shows that the frame pointer is
 * its caller's, but not where the return address is. V8 has such code where it adds arguments that
 * were not given. */
bool has_callers_fp(struct walk *w, const struct map *map, const struct cursor *c);

/* code_ahead.c: the frame at vaddr, found on the path from there to the return, for code whose
 * function is not known. `is_called`: vaddr is a return address. */
enum code_ahead code_ahead(const struct cfi_module *cm, uint64_t vaddr, bool is_called,
			   struct code_frame *ret);
/* True if the code at vaddr comes to its return without a write to the register (DWARF number,
 * plus 1) and without a call. */
bool code_keeps(const struct cfi_module *cm, uint64_t vaddr, uint8_t reg);

/* Computes the caller of *c from the frame *f. Returns WALK_ON and the caller in *ret (except
 * is_return_address), or why it is not known. */
enum unwind_stop code_caller(struct walk *w, const struct cursor *c, const struct code_frame *f,
			     struct cursor *ret);

/* jit_code.c: code_step() for code without a file, if a JIT compiler has recorded its bytes.
 * *has_fp: false if the machine code shows that this frame has no frame pointer. */
enum unwind_stop jit_code_step(struct walk *w, struct cursor *c, bool *has_fp);
/* The stack pointer in the caller of *c, for JIT-compiled code with a frame pointer. `ra`: its
 * return address. */
uint64_t jit_caller_sp(struct walk *w, const struct cursor *c, uint64_t ra);
/* True if the frame of the JIT-compiled code at `ip` can only be found by its frame pointer. */
bool jit_goes_by_fp(struct walk *w, uint64_t ip);
void jit_code_done(struct jit_code *j);

/* fp_owner.c: which frame the frame record at the frame pointer of *c belongs to. *c is a frame in
 * `map` whose code may not set up a record. */
enum fp_owner {
	FP_OWNER_SELF,	  /* nothing shows that it is not the frame's own */
	FP_OWNER_CALLER,  /* a caller's; the frame's own caller is in *caller (except
			   * is_return_address) */
	FP_OWNER_UNKNOWN, /* it may be a caller's */
};
enum fp_owner fp_owner_find(struct walk *w, const struct cursor *c, const struct map *map,
			    struct cursor *caller);
/* fp_owner.c: the frame pointer in a function that `ra` returns to and that keeps one, by its
 * machine code: `sp` is the stack pointer after the return. Returns false if that is not known. */
bool fp_by_code(struct walk *w, uint64_t ra, uint64_t sp, uint64_t *ret);
/* jit_owner.c: fp_owner_find() for code without a file. After FP_OWNER_SELF return addresses into
 * files may still show more. */
enum fp_owner jit_owner_find(struct walk *w, const struct cursor *c, bool is_hotspot,
			     struct cursor *caller);
/* fp_owner.c: true if libjvm.so, or a file that is known to contain V8, is mapped. */
bool runs_hotspot(struct walk *w);
bool runs_v8(struct walk *w);
/* v8_file.c: true for files that contain V8; true if the name alone says so. */
bool has_v8(struct walk *w, const struct map *map);
bool is_named_as_v8(const struct map *map);
bool runs_erlang(struct walk *w);
/* v8_names.c: gives the frames of a finished walk that V8's interpreter runs, and whose functions
 * are known, the places in their bytecode. */
void v8_name_frames(struct walk *w, struct frame *frames, const struct frame_place *places,
		    size_t n);
/* The stack pointer in the caller of the JIT-compiled code whose frame record is at `fp`. */
uint64_t jit_sender_sp(struct walk *w, uint64_t fp);
/* go_step.c: finds the caller for functions of Go's runtime that switch stacks. `kind`:
 * RULE_STACK_SWITCH, RULE_GO_THREAD or RULE_GO_CALLBACK. */
enum unwind_stop go_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			 const struct map *map);

/* throw.c: corrects the caller *c of the current frame, whose function ends with
 * __builtin_eh_return(): see RULE_THROWS. by_fp: its CFA was found by the frame pointer. Registers
 * that may have been overwritten are marked as not known. Returns WALK_ON, or why the caller is not
 * known. */
enum unwind_stop throw_step(struct walk *w, struct cursor *c, bool by_fp);

/* ---- fallback.c: frames without call frame information -------------------------------------- */

/* Tries to find the caller of the frame *c in `map` (may be NULL), for which there is no rule:
 * `kind` is RULE_NO_CFI or a later value of the enum. Returns WALK_ON and the caller in *c, or why
 * the stack ends here. */
enum unwind_stop fallback_step(struct walk *w, struct cursor *c, enum rule_kind kind,
			       const struct map *map);

/* The sample's own frame *c seems to be the outermost, because its rule gave 0 for the return
 * address. Checks whether the rule is wrong, as it is at the return of OpenSSL's x25519_fe64_mul.
 * Returns WALK_ON and the caller in *c, UNWIND_STOP_END, or (without guesses)
 * UNWIND_STOP_BAD_CFI. */
enum unwind_stop fallback_first_end(struct walk *w, struct cursor *c);

/* ---- copied_stub.c: stubs that CPython copies from its file to anonymous memory */

/* Steps from such a stub, in `map`, to its caller. Returns false if it is none. */
bool copied_stub_step(struct walk *w, struct cursor *c, const struct map *map);

/* ---- fallback_cached.c: the short way for frames at an address that the fallback has met */

/* A fast form of fallback_step() for the current frame of the walk, whose rule is *r. Returns false
 * if that does not apply; then nothing has changed. */
bool fallback_cached(struct walk *w, const struct rule *r);

/* Notes in the cached rule that the address is in code without a file. */
void fallback_note_jit(struct walk *w, uint64_t lookup_ip);
/* Notes in the cached rule that the address is in a named function, with frame *f. */
void fallback_note_code(struct walk *w, uint64_t lookup_ip, const struct code_frame *f);

/* jit_info.c: the rule of an address in the function. Returns false if its call frame information
 * is damaged, describes more than one function or a signal frame, or does not cover `ip`. */
bool jit_rule(const struct jit_unwind_info *info, const struct arch *arch, uint64_t ip,
	      struct rule *ret);

#endif
