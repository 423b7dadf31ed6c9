/* jit_ahead.c - the frame of code without a file, of which only the bytes are known: neither where
 * its function begins nor what its compiler does.
 *
 * As in code_ahead.c, on every path from a place to a return the code takes from the stack what the
 * frame has there. Code of JIT compilers also leaves by a jump: into code of a file that has call
 * frame information, whose frame it then has. All paths are followed, within limits, and what they
 * show must agree. Some count for less: behind a call, which may not return, the code may be
 * another function's, and more so behind a jump to an unknown place. */
#include <string.h>

#include "unwind/jit_ahead.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/return_check.h"

/* Limits: instructions that are followed from one place, paths that wait, ends that are compared.
 */
enum { STEPS_MAX = 2048, WAYS_MAX = 64, ENDS_MAX = 12 };

/* A jump that nothing is known of is at most so far behind the entry of its function. */
#define ENTRY_BYTES 3

/* Code that only jumps on has at most so many paths. */
#define THUNK_WAYS_MAX 4

/* The assumed initial place of the stack or frame pointer. No frame is so large. */
#define PLACE (1 << 30)

/* Of places whose result is kept. */
enum { KNOWN_MAX = 1 << 16 };

struct way {
	struct code_frame frame;
	struct jit_memory m; /* where it is */
	uint64_t at;	     /* address of the next instruction */
	int32_t saved_fp;    /* where the caller's frame pointer was loaded from; 0: not loaded */
	bool fp_lost;	     /* it was overwritten in another way since */
	uint8_t rank;	     /* how far it has to be believed: see enum */
	uint8_t pushed;	     /* bytes of constants that were pushed last */
	bool calls_bare;     /* a call was made where nothing more was on the stack */
};

/* What makes a path less certain. They are added up. */
enum {
	RANK_CALLED = 1, /* there was a call */
	RANK_TAIL = 2,	 /* it ends with a jump to an unknown place, after it has left a frame */
	RANK_PUSHED = 4, /* constants were pushed before it jumped to a file */
	RANK_BEHIND = 8	 /* it goes on behind such a jump */
};

/* Where a path has left the code. */
struct end {
	struct code_frame frame; /* as seen from the place that it began at */
	uint8_t rank;
	bool is_entry; /* if that is the first place of a function */
};

struct search {
	struct walk *w; /* NULL: of code that leads to no file */
	const struct arch *arch;
	unsigned steps, n_ways, n_ends;
	bool passes; /* the code jumps on to what is not known, with nothing on the stack */
	struct way ways[WAYS_MAX];
	struct end ends[ENDS_MAX];
	uint64_t seen[2 * STEPS_MAX]; /* open addressing; address + 1 */
};

static bool is_inside(const struct jit_memory *m, uint64_t at)
{
	return at - m->start < m->n;
}

/* Returns false if the place was there before. */
static bool see(struct search *s, uint64_t at)
{
	size_t i = hash_u64(at) % (2 * STEPS_MAX);

	while (s->seen[i] && s->seen[i] != at + 1)
		i = (i + 1) % (2 * STEPS_MAX);
	if (s->seen[i])
		return false;
	s->seen[i] = at + 1;
	return true;
}

/* The contents of the stack are not known. So the place that the frame pointer is loaded from is
 * taken as where the caller's is saved. */
static void follow_fp(struct way *to, const struct way *from, bool by_fp, int32_t word)
{
	if (to->frame.fp_holds != CODE_FP_OTHER ||
	    (from->frame.fp_holds != CODE_FP_CALLER && !by_fp))
		return;
	to->fp_lost = to->frame.sp == from->frame.sp;
	to->saved_fp = to->fp_lost ? 0 : to->frame.sp + word;
	to->frame.fp_holds = CODE_FP_CALLER;
	to->frame.saved_fp = 0;
}

/* The frame at the place where the path began, if `taken` bytes were on the stack below the CFA
 * there. */
static struct code_frame frame_of(const struct way *way, int32_t taken, bool by_fp, int32_t word)
{
	struct code_frame f = {.sp = taken, .saved_ra = word};

	if (by_fp) {
		f.sp = -1;
		f.fp = taken;
		f.fp_holds = CODE_FP_FRAME;
	}
	if (way->saved_fp)
		f.saved_fp = way->saved_fp - way->frame.sp + word;
	if (!by_fp && (way->saved_fp || way->fp_lost))
		code_fp_set_other(&f);
	return f;
}

/* Only ends of the lowest rank are kept. */
static void add_end(struct search *s, unsigned rank, const struct code_frame *f, bool is_entry)
{
	if (s->n_ends && rank > s->ends[0].rank)
		return;
	if (s->n_ends && rank < s->ends[0].rank)
		s->n_ends = 0;
	if (s->n_ends < ENDS_MAX)
		s->ends[s->n_ends++] = (struct end){*f, (uint8_t)rank, is_entry};
}

/* The path returns. If it is not certain, a frame must have been left: else it may have been
 * another function that returned. What has made its own frame before it called, and left it, is a
 * function from its entry on; but behind a call that may have been another one, too. */
static void add_return(struct search *s, const struct way *way, unsigned rank, bool by_fp)
{
	const int32_t word = s->arch->word_bytes, taken = PLACE - way->frame.sp;
	const bool is_entry = !taken && rank;
	struct code_frame f;

	if (way->frame.sp < 0 || way->frame.sp > PLACE ||
	    (is_entry && (rank != RANK_CALLED || way->calls_bare)))
		return;
	f = is_entry ? arch_entry_frame(s->arch) : frame_of(way, taken + word, by_fp, word);
	add_end(s, rank, &f, is_entry);
}

/* The path jumps to code of a file, and goes on with the frame that this has. The rule of LuaJIT's
 * interpreter does not count what its compiled code has on the stack: see luajit.c. */
static void add_jump(struct search *s, const struct way *way, uint64_t target, bool by_fp)
{
	const int32_t word = s->arch->word_bytes;
	const int32_t taken = PLACE - way->frame.sp + way->pushed;
	struct rule_entry own;
	struct code_frame f;
	struct rule r;

	if (way->frame.sp < 0 || !target || by_fp || !s->w)
		return;
	r = walk_rule(s->w, target, &own)->rule;
	if (r.kind != RULE_SP || r.cfa_off <= 0 || taken + r.cfa_off < word)
		return;
	r.cfa_off += (int32_t)luajit_untold_bytes(s->w, target);
	f = frame_of(way, taken + r.cfa_off, false, word);
	if (r.fp_off) {
		f.saved_fp = -r.fp_off;
		code_fp_set_other(&f);
	}
	add_end(s, way->rank + (way->pushed ? RANK_PUSHED : 0u), &f, false);
}

static void add_way(struct search *s, const struct way *way, uint64_t at, bool by_fp)
{
	struct jit_memory m = way->m;

	if (!is_inside(&m, at) && (!s->w || !jit_memory_find(s->w, at, &m))) {
		add_jump(s, way, at, by_fp);
	} else if (s->n_ways < WAYS_MAX) {
		s->ways[s->n_ways] = *way;
		s->ways[s->n_ways].m = m;
		s->ways[s->n_ways++].at = at;
	}
}

/* The constant that the instruction before `code` has loaded into a register; 0: none. Intel SDM:
 * MOV r64, imm64 and MOV r32, imm32. */
static uint64_t loaded(const uint8_t *code, size_t before, unsigned reg)
{
	const uint8_t op = (uint8_t)(0xb8 | (reg & 7)), rex = (uint8_t)(reg >> 3);
	uint64_t v = 0;

	if (before >= 10 && code[-9] == op && code[-10] == (0x48 | rex))
		memcpy(&v, code - 8, 8);
	else if (before >= 5u + rex && code[-5] == op && (!rex || code[-6] == 0x41))
		memcpy(&v, code - 4, 4);
	return v;
}

/* Where a jump or call through a register or a word of this memory leads. 0: not known. `ext`: 4
 * for JMP, 2 for CALL. */
static uint64_t indirect_target(const struct jit_memory *m, uint64_t at, unsigned ext)
{
	const size_t off = (size_t)(at - m->start);
	const uint8_t *code = m->bytes + off;
	const bool rex = code[0] == 0x41;
	uint64_t target = 0, from;
	int32_t disp;

	if (m->n - off < 6 || code[rex] != 0xff)
		return 0;
	if (code[rex + 1] >> 3 == (0x18 | ext))
		return loaded(code, off, (code[rex + 1] & 7u) | (rex ? 8u : 0));
	if (rex || code[1] != (0x05 | ext << 3))
		return 0;
	memcpy(&disp, code + 2, sizeof disp);
	from = at + 6 + (uint64_t)(int64_t)disp;
	if (jit_memory_is_sure(m, from, sizeof target))
		memcpy(&target, m->bytes + (from - m->start), sizeof target);
	return target;
}

/* True for a jump through a word that r15 leads to (Intel SDM: JMP r/m64, with or without an
 * index).
 */
static bool is_by_r15(const uint8_t *code, size_t n)
{
	enum { REX_B = 0x41, REX_XB = 0x43, R15 = 7, SIB = 4 };
	const uint8_t rm = n >= 4 ? code[2] & 7 : 0;

	return n >= 4 && (code[0] == REX_B || code[0] == REX_XB) && code[1] == 0xff &&
	       (code[2] >> 3 & 7) == 4 && code[2] >> 6 != 3 &&
	       (rm == R15 || (rm == SIB && (code[3] & 7) == R15));
}

/* Where a jump leads; 0: not known. */
static uint64_t jump_target(struct search *s, const struct jit_memory *m, uint64_t at)
{
	const size_t off = (size_t)(at - m->start);

	if (s->arch->word_bytes != 8)
		return 0;
	if (s->w && is_by_r15(m->bytes + off, m->n - off))
		return php_leaves_to(s->w);
	return indirect_target(m, at, 4);
}

/* A jump to what may not be known: after a frame was left it is like a return, else the code behind
 * it has the same frame. Returns true if the path goes on there. */
static bool pass_switch(struct search *s, struct way *way, uint64_t at, bool by_fp)
{
	const uint64_t target = jump_target(s, &way->m, at);

	s->passes |= !way->rank && way->frame.sp == PLACE && s->n_ways <= THUNK_WAYS_MAX;
	if (target) {
		add_way(s, way, target, by_fp);
		return false;
	}
	if (way->frame.sp >= 0 && way->frame.sp != PLACE) {
		add_return(s, way, way->rank + RANK_TAIL, by_fp);
		return false;
	}
	way->rank = RANK_BEHIND;
	return true;
}

/* Follows a path until it ends or comes to a place that was seen. */
static void follow(struct search *s, struct way way, bool by_fp)
{
	const struct arch *arch = s->arch;

	while (s->steps < STEPS_MAX && is_inside(&way.m, way.at) && see(s, way.at)) {
		const size_t off = (size_t)(way.at - way.m.start);
		const uint8_t *code = way.m.bytes + off;
		const struct way from = way;
		struct code_insn in = {0};

		s->steps++;
		/* Nothing is there, or not yet: code has no ADD %al, (%rax). */
		if (way.m.n - off >= 2 && !code[0] && !code[1])
			return;
		if (!arch->code_step(code, way.m.n - off, &way.frame, &in) ||
		    !jit_memory_is_sure(&way.m, way.at, in.bytes))
			return;
		follow_fp(&way, &from, by_fp, arch->word_bytes);
		if (code[0] == 0x6a || code[0] == 0x68) /* PUSH imm8, imm32 */
			way.pushed = (uint8_t)(way.pushed + arch->word_bytes);
		else if (way.frame.sp != from.frame.sp)
			way.pushed = 0;
		switch ((enum code_way)in.way) {
		case CODE_RETURN:
			add_return(s, &from, from.rank, by_fp);
			return;
		case CODE_SWITCH:
			if (!pass_switch(s, &way, from.at, by_fp))
				return;
			break;
		case CODE_END:
			return;
		case CODE_JUMP:
			add_way(s, &way, from.at + (uint64_t)in.target, by_fp);
			return;
		case CODE_BRANCH:
			add_way(s, &way, from.at + (uint64_t)in.target, by_fp);
			break;
		case CODE_CALL:
			way.rank |= RANK_CALLED;
			way.calls_bare |= way.frame.sp <= PLACE;
			break;
		case CODE_ON:
			break;
		}
		way.at += in.bytes;
	}
}

/* What the ends agree on. */
static bool agreed(const struct search *s, struct code_frame *ret)
{
	for (unsigned i = 1; i < s->n_ends; i++)
		if (!code_same_caller(&s->ends[0].frame, &s->ends[i].frame))
			return false;
	if (s->n_ends)
		*ret = s->ends[0].frame;
	return s->n_ends;
}

static bool search(struct search *s, const struct jit_memory *m, uint64_t at, bool by_fp,
		   struct code_frame *ret)
{
	struct way first = {.frame.sp = PLACE, .m = *m, .at = at};

	if (by_fp)
		first.frame = (struct code_frame){.sp = -1, .fp = PLACE, .fp_holds = CODE_FP_FRAME};
	memset(s->seen, 0, sizeof s->seen);
	s->steps = s->n_ends = 0;
	s->ways[0] = first;
	s->n_ways = 1;
	/* The oldest first, so that the nearest ends are found. */
	for (unsigned i = 0; i < s->n_ways; i++)
		if (s->n_ends < ENDS_MAX || s->ends[0].rank > s->ways[i].rank)
			follow(s, s->ways[i], by_fp);
	return agreed(s, ret);
}

bool jit_memory_find(struct walk *w, uint64_t ip, struct jit_memory *ret)
{
	const struct jitdump *dump;

	return w->is_described && !jit_cursor_memory(&w->worker->jitdumps, w->s, &dump, NULL) &&
	       dump && jitdump_memory(dump, ip, ret);
}

bool jit_ahead_find(struct walk *w, const struct arch *arch, const struct jit_memory *m,
		    uint64_t ip, struct jit_ahead_frame *ret)
{
	struct search *s = malloc(sizeof *s);

	*ret = (struct jit_ahead_frame){0};
	if (!s)
		return false;
	s->w = w;
	s->arch = arch;
	s->passes = false;
	ret->is_known = search(s, m, ip, false, &ret->frame) || search(s, m, ip, true, &ret->frame);
	ret->passes = !ret->is_known && s->passes;
	for (unsigned i = 0; ret->is_known && i < s->n_ends; i++)
		ret->is_entry |= s->ends[i].is_entry;
	free(s);
	return ret->is_known;
}

/* What the code behind `ip` shows; NULL: nothing, or out of memory. */
static const struct jit_ahead_frame *frame_ahead(struct walk *w, const struct jit_memory *m,
						 uint64_t ip)
{
	struct jit_ahead *a = &w->worker->jit_ahead;
	const uint64_t key = (uintptr_t)(m->bytes + (ip - m->start));
	uint32_t i = hash_get(&a->by_code, key);
	struct jit_ahead_frame f;

	if (i != HASH_NONE)
		return &a->frames.v[i];
	if (a->frames.n >= KNOWN_MAX)
		return NULL;
	(void)jit_ahead_find(w, w->arch, m, ip, &f);
	if (vec_push(&a->frames, f))
		return NULL;
	/* On failure it will be searched again. */
	(void)hash_put(&a->by_code, key, (uint32_t)a->frames.n - 1);
	return &a->frames.v[a->frames.n - 1];
}

void jit_ahead_done(struct jit_ahead *a)
{
	hash_done(&a->by_code);
	vec_done(&a->frames);
}

/* The caller of the sample's own frame at the entry of a function, of which nothing is known, or in
 * a piece of code that only jumps on: the word at the stack pointer returns to a call in such code,
 * of this very place or of one that is not known. */
static bool entered(struct walk *w, const struct cursor *c, bool passes, struct cursor *caller)
{
	struct jit_memory m;
	uint64_t ra, target;

	if (c->is_return_address || !c->sp_known || !walk_word(w, c->sp, 8, &ra) ||
	    !jit_memory_find(w, ra - 1, &m) || ra - m.start < CALL_BYTES_MAX ||
	    !jit_memory_is_sure(&m, ra - CALL_BYTES_MAX, CALL_BYTES_MAX))
		return false;
	target = w->arch->call_target(m.bytes + (ra - m.start), CALL_BYTES_MAX, ra);
	for (unsigned n = 2; !target && n <= 6; n++)
		if (n < 4 || n == 6)
			target = indirect_target(&m, ra - n, 2);
	if (target ? c->ip - target > ENTRY_BYTES
		   : !passes || !w->arch->ends_in_call(m.bytes + (ra - m.start), CALL_BYTES_MAX))
		return false;
	*caller = *c;
	caller->ip = ra;
	caller->sp = c->sp + 8;
	caller->how = FRAME_CODE;
	return true;
}

/* needs_record: a frame counts only if it has its own record at the frame pointer. */
static enum unwind_stop ahead_step(struct walk *w, struct cursor *c, bool needs_record)
{
	const struct jit_ahead_frame *f;
	struct cursor caller;
	struct jit_memory m;
	enum unwind_stop stop;

	if (!jit_memory_find(w, c->ip, &m))
		return UNWIND_STOP_NO_CFI;
	f = frame_ahead(w, &m, c->ip);
	if (!f || !f->is_known) {
		if (!f || needs_record ||
		    (!sljit_fast_caller(w, c, &caller) && !entered(w, c, f->passes, &caller)))
			return UNWIND_STOP_NO_CFI;
		*c = caller;
		return WALK_ON;
	}
	if ((needs_record && f->frame.fp_holds != CODE_FP_FRAME) ||
	    (f->is_entry && c->is_return_address))
		return UNWIND_STOP_NO_CFI;
	stop = code_caller(w, c, &f->frame, &caller);
	if (stop != WALK_ON)
		return stop;
	if (return_check_jit(w, caller.ip) == RETURN_NONE)
		return UNWIND_STOP_NO_CFI;
	*c = caller;
	return WALK_ON;
}

enum unwind_stop jit_ahead_step(struct walk *w, struct cursor *c, bool *has_fp)
{
	enum unwind_stop stop;

	*has_fp = true;
	if (!w->arch->code_step || w->arch->ra != w->arch->pc)
		return UNWIND_STOP_NO_CFI;
	if (!runs_v8(w))
		return ahead_step(w, c, false);
	/* What has called keeps its frame pointer everywhere, once its frame is made. */
	if (c->is_return_address) {
		stop = v8_unmade_step(w, c);
		*has_fp = stop != UNWIND_STOP_BAD_CFI;
		return *has_fp ? stop : UNWIND_STOP_NO_CFI;
	}
	return v8_edge_step(w, c) == WALK_ON ? WALK_ON : ahead_step(w, c, true);
}
