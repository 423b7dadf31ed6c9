/* code.c - follows all paths through a function. */
#include "unwind/code.h"

#include "base/err.h"
#include "base/vec.h"
#include "unwind/code_starts.h"

/* Maximum number of restarts because a call turned out not to return. */
#define RESTARTS_MAX 64

/* Amounts of other work that count as one step, like the analysis of one instruction. */
#define COMPARES_PER_STEP 8
#define CLEARED_PER_STEP  64

/* Maximum number of different frames in a function. Real functions have dozens. */
#define FRAMES_MAX 1024

/* Flags of an offset in the code. */
enum {
	AFTER_CALL = 1,	  /* reached only by the return of the call before it */
	NO_RETURN = 2,	  /* the call before it does not return */
	AFTER_FILLER = 4, /* AFTER_CALL, with filler between the call and this */
	NO_CASE = 8,	  /* no indirect jump of this function leads here: the next one begins */
};

struct flow {
	code_step_fn *step;
	const uint8_t *code;
	size_t n;
	const struct code_frame *entry;
	const struct code_starts *starts; /* see code_rows_find() */
	uint64_t vaddr;
	/* By offset: 1 + index in `frames` (0: not reached); flags; length of the instruction. */
	uint16_t *frame_at;
	uint8_t *flags, *bytes_at;
	size_t reached; /* end of the part of these arrays that was ever written */
	VEC(struct code_frame) frames;
	VEC(uint32_t) todo;
	bool has_frames;		/* there are other frames than the entry's */
	struct code_frame switch_frame; /* the frame before indirect jumps */
	enum { SWITCH_NONE, SWITCH_ENTRY, SWITCH_FRAME, SWITCH_SEVERAL } switches;
	size_t case_at; /* where one is assumed to lead, which is followed now; 0: none */
	uint64_t steps; /* steps left */
	bool is_jit, restart, bad, nomem;
};

bool code_same_caller(const struct code_frame *a, const struct code_frame *b)
{
	return a->sp == b->sp && a->fp == b->fp && a->saved_fp == b->saved_fp &&
	       a->saved_ra == b->saved_ra && a->fp_holds == b->fp_holds && a->ra_reg == b->ra_reg &&
	       a->ra_lost == b->ra_lost && a->record == b->record &&
	       a->is_realigned == b->is_realigned && a->saved_cfa == b->saved_cfa;
}

static bool same_frame(const struct code_frame *a, const struct code_frame *b)
{
	return code_same_caller(a, b) && a->copy == b->copy && a->copy_off == b->copy_off &&
	       a->copy_reg == b->copy_reg && a->ra_copy == b->ra_copy && a->cfa_reg == b->cfa_reg;
}

static void spend(struct flow *f, uint64_t steps)
{
	f->steps -= steps < f->steps ? steps : f->steps;
}

/* 1 + the index of `frame` in `frames`; 0: too many frames, or out of memory. */
static uint16_t frame_number(struct flow *f, const struct code_frame *frame)
{
	size_t i = f->frames.n;

	while (i && !same_frame(&f->frames.v[i - 1], frame))
		i--;
	spend(f, (f->frames.n - i) / COMPARES_PER_STEP);
	if (i)
		return (uint16_t)i;
	if (f->frames.n == FRAMES_MAX)
		f->bad = true;
	else if (vec_push(&f->frames, *frame))
		f->nomem = true;
	else {
		f->has_frames |= !code_same_caller(f->entry, frame);
		return (uint16_t)f->frames.n;
	}
	return 0;
}

/* The parts of the frame on which two paths to a place agree. */
static struct code_frame common(const struct code_frame *a, const struct code_frame *b)
{
	struct code_frame r = *a;

	if (a->sp != b->sp)
		r.sp = -1;
	if (a->fp_holds != b->fp_holds || a->fp != b->fp) {
		r.fp_holds = CODE_FP_OTHER;
		r.fp = 0;
	}
	if (a->saved_fp != b->saved_fp)
		r.saved_fp = 0;
	if (a->copy != b->copy || a->copy_off != b->copy_off || a->copy_reg != b->copy_reg)
		r.copy = r.copy_off = r.copy_reg = 0;
	if (a->ra_copy != b->ra_copy)
		r.ra_copy = 0;
	if (a->cfa_reg != b->cfa_reg)
		r.cfa_reg = 0;
	if (a->saved_cfa != b->saved_cfa)
		r.saved_cfa = 0;
	r.ra_lost |= a->is_realigned != b->is_realigned;
	r.record &= b->record;
	r.ra_lost |= b->ra_lost || a->saved_ra != b->saved_ra || a->ra_reg != b->ra_reg;
	return r;
}

static bool seems_start(const struct flow *f, uint64_t off)
{
	return f->starts && code_starts_has(f->starts, f->vaddr + off);
}

/* True if a function seems to start at `off`, which only the return of a call leads to, with the
 * frame of another function: the call does not return. With stack protectors and without padding
 * this is how many functions end. */
static bool is_next_function(const struct flow *f, uint64_t off, const struct code_frame *frame)
{
	return !code_same_caller(f->entry, frame) && seems_start(f, off);
}

/* Notes that a path comes to `off` with `frame`. Paths that differ only in copies do not contradict
 * each other. */
static void arrive(struct flow *f, uint64_t off, const struct code_frame *frame, uint8_t after)
{
	bool after_call = after & AFTER_CALL;
	uint16_t number;
	struct code_frame both;

	if (off >= f->n || (after_call && f->flags[off] & NO_RETURN))
		return;
	f->reached = off < f->reached ? f->reached : off + 1;
	number = f->frame_at[off];
	both = *frame;
	if (!number && after == AFTER_CALL && is_next_function(f, off, frame)) {
		f->flags[off] |= NO_RETURN;
		return;
	}
	if (!number) {
		f->flags[off] |= after;
	} else if (code_same_caller(&f->frames.v[number - 1], frame)) {
		f->flags[off] &= after_call ? 0xff : (uint8_t)~AFTER_CALL;
		both = common(&f->frames.v[number - 1], frame);
	} else if (after_call && !(f->flags[off] & AFTER_CALL)) {
		f->flags[off] |= NO_RETURN;
		return;
	} else if (!after_call && f->flags[off] & AFTER_CALL) {
		f->flags[off] |= NO_RETURN;
		f->restart = true;
		return;
	} else {
		both = common(&f->frames.v[number - 1], frame);
	}
	if (number && same_frame(&f->frames.v[number - 1], &both))
		return;
	f->frame_at[off] = frame_number(f, &both);
	if (f->frame_at[off] && vec_push(&f->todo, (uint32_t)off))
		f->nomem = true;
}

static void note_switch(struct flow *f, const struct code_frame *frame)
{
	if (frame->sp == f->entry->sp) { /* perhaps a tail call */
		if (f->switches == SWITCH_NONE) {
			f->switches = SWITCH_ENTRY;
			f->switch_frame = *frame;
		}
	} else if (f->switches < SWITCH_FRAME) {
		f->switches = SWITCH_FRAME;
		f->switch_frame = *frame;
	} else if (!code_same_caller(&f->switch_frame, frame)) {
		f->switches = SWITCH_SEVERAL;
	} else {
		f->switch_frame = common(&f->switch_frame, frame);
	}
}

/* The function cannot come to this instruction, so one of the calls before it does not return, or
 * no indirect jump leads to the code before it. The last one is taken first; if that is wrong, the
 * next attempt takes the one before it. */
static void rule_out(struct flow *f, uint32_t off)
{
	while (off && off != f->case_at && !(f->flags[off] & AFTER_CALL))
		off--;
	f->flags[off] |= off && off == f->case_at ? NO_CASE : NO_RETURN;
	if (off)
		f->restart = true;
	else
		f->bad = true;
}

/* False if the function returns with something left on the stack: then it is not a function, or was
 * not understood. */
static bool is_clean(const struct flow *f, const struct code_frame *frame)
{
	return !frame->ra_reg &&
	       (frame->sp < 0 || (frame->sp == f->entry->sp && frame->fp_holds == CODE_FP_CALLER &&
				  frame->saved_ra == f->entry->saved_ra && !frame->ra_lost));
}

/* True if the function calls or jumps to another one while its return address is in a register:
 * real functions do not. */
static bool leaves_with_return(const struct flow *f, uint32_t off, const struct code_frame *frame,
			       const struct code_insn *insn)
{
	bool jumps = insn->way == CODE_BRANCH || insn->way == CODE_JUMP;

	return frame->ra_reg && (insn->way == CODE_CALL || insn->way == CODE_SWITCH ||
				 (jumps && off + (uint64_t)insn->target >= f->n));
}

/* True if the function sets its frame pointer a second time: the code is another function's, which
 * a call that does not return seems to lead to. */
static bool makes_frame_again(const struct code_frame *before, const struct code_frame *after)
{
	return before->fp_holds == CODE_FP_FRAME && before->fp == before->saved_fp &&
	       after->fp_holds == CODE_FP_FRAME && after->fp == after->sp &&
	       after->fp != before->fp;
}

/* How the next instruction is reached. Code that HotSpot compiled for a loop that is already
 * running (on-stack replacement) starts with a call that nothing leads to and filler; its entry
 * follows, with the frame of a function's entry. */
static uint8_t flags_after(const struct flow *f, uint32_t off, const struct code_insn *insn)
{
	if (insn->way == CODE_CALL)
		return f->is_jit && !off ? 0 : AFTER_CALL;
	return f->flags[off] & AFTER_CALL && insn->is_filler ? AFTER_CALL | AFTER_FILLER : 0;
}

/* Analyzes the instruction at `off` and the places it leads to. */
static void follow(struct flow *f, uint32_t off)
{
	const struct code_frame before = f->frames.v[f->frame_at[off] - 1];
	struct code_frame frame = before;
	struct code_insn insn;

	if (!f->steps) {
		f->bad = true;
		return;
	}
	f->steps--;
	f->bytes_at[off] = 1;
	if (!f->step(f->code + off, f->n - off, &frame, &insn)) {
		if (f->n - off >= INSN_BYTES_MAX) /* not only cut off by the end */
			rule_out(f, off);
		return;
	}
	if (frame.sp == CODE_SP_WRONG || (f->is_jit && insn.uses_callers_fp) ||
	    makes_frame_again(&before, &frame)) {
		rule_out(f, off);
		return;
	}
	f->bytes_at[off] = insn.bytes;
	if (insn.way == CODE_BRANCH || insn.way == CODE_JUMP)
		arrive(f, off + (uint64_t)insn.target, &frame, 0);
	if (insn.way == CODE_SWITCH)
		note_switch(f, &frame);
	if ((insn.way == CODE_RETURN && !is_clean(f, &frame)) ||
	    leaves_with_return(f, off, &frame, &insn)) {
		rule_out(f, off);
		return;
	}
	if (insn.way <= CODE_BRANCH)
		arrive(f, off + insn.bytes, &frame, flags_after(f, off, &insn));
}

static void follow_all(struct flow *f)
{
	while (f->todo.n && !f->bad && !f->nomem && !f->restart)
		follow(f, f->todo.v[--f->todo.n]);
}

/* The next instruction that is reached only by an indirect jump, it seems. */
static size_t unreached(struct flow *f, size_t off)
{
	struct code_frame frame;
	struct code_insn insn;

	while (off < f->n) {
		spend(f, 1);
		frame = *f->entry;
		if (f->frame_at[off])
			off += f->bytes_at[off];
		else if (f->step(f->code + off, f->n - off, &frame, &insn) && insn.is_filler)
			off += insn.bytes;
		else
			break;
	}
	return off;
}

static void follow_switches(struct flow *f)
{
	size_t off = 0;

	while (!f->is_jit && !f->bad && !f->nomem && !f->restart &&
	       (f->switches == SWITCH_FRAME || (f->switches == SWITCH_ENTRY && !f->has_frames))) {
		off = unreached(f, off);
		if (off >= f->n || seems_start(f, off) || f->flags[off] & NO_CASE)
			break;
		f->case_at = off;
		arrive(f, off, &f->switch_frame, 0);
		follow_all(f);
	}
	f->case_at = 0;
}

/* Filler after a call aligns a loop, to which a jump leads back, or the code after a call that does
 * not return. If no jump came there, the call does not return. */
static void drop_after_filler(struct flow *f)
{
	size_t off;

	for (off = 0; off < f->reached && !f->bad && !f->nomem; off++)
		if (f->frame_at[off] && f->flags[off] & AFTER_CALL &&
		    f->flags[off] & AFTER_FILLER) {
			f->flags[off] |= NO_RETURN;
			f->restart = true;
		}
}

static void forget(struct flow *f)
{
	size_t i;

	spend(f, f->n / CLEARED_PER_STEP);
	memset(f->frame_at, 0, f->reached * sizeof *f->frame_at);
	for (i = 0; i < f->reached; i++)
		f->flags[i] &= NO_RETURN | NO_CASE;
	f->todo.n = 0;
	f->switches = SWITCH_NONE;
	f->restart = false;
}

/* See struct code_rows. */
static uint32_t next_function(struct flow *f)
{
	size_t off = unreached(f, 0), i;

	for (i = off; i < f->reached; i++)
		if (f->frame_at[i])
			return 0;
	return off < f->n ? (uint32_t)off : 0;
}

/* The last row covers what is after the function, or was not analyzed. */
static int rows_make(struct flow *f, struct code_rows *ret)
{
	VEC(struct code_row) rows = {0};
	struct code_row row = {0}, *last;
	size_t off, end = f->reached + INSN_BYTES_MAX;

	end = end < f->n ? end : f->n;
	for (off = 0; off < end; off += row.is_known ? f->bytes_at[off] : 1) {
		row = (struct code_row){.start = (uint32_t)off, .is_known = f->frame_at[off]};
		if (row.is_known)
			row.frame = f->frames.v[f->frame_at[off] - 1];
		last = rows.n ? &rows.v[rows.n - 1] : NULL;
		if (last && last->is_known == row.is_known &&
		    (!row.is_known || code_same_caller(&last->frame, &row.frame)))
			continue;
		if (vec_push(&rows, row)) {
			vec_done(&rows);
			return -ERR_NOMEM;
		}
	}
	row = (struct code_row){.start = (uint32_t)f->n};
	if (vec_push(&rows, row)) {
		vec_done(&rows);
		return -ERR_NOMEM;
	}
	vec_shrink(&rows);
	*ret = (struct code_rows){rows.n, rows.v, next_function(f)};
	return 0;
}

static void flow_run(struct flow *f)
{
	unsigned i;

	for (i = 0; i < RESTARTS_MAX; i++) {
		forget(f);
		arrive(f, 0, f->entry, 0);
		follow_all(f);
		follow_switches(f);
		if (!f->restart)
			drop_after_filler(f);
		if (!f->restart)
			return;
	}
	f->bad = true;
}

int code_rows_find(code_step_fn *step, const struct code_of *of, const struct code_frame *entry,
		   uint64_t *steps, struct code_rows *ret)
{
	struct flow f = {.step = step,
			 .code = of->code,
			 .entry = entry,
			 .starts = of->starts,
			 .vaddr = of->vaddr,
			 .is_jit = of->origin == CODE_OF_JIT};
	uint64_t allowed;
	int rc = 0;

	f.n = of->n < CODE_BYTES_MAX ? of->n : CODE_BYTES_MAX;
	allowed = (uint64_t)f.n * CODE_STEPS_PER_BYTE;
	allowed = allowed < *steps ? allowed : *steps;
	f.steps = allowed;
	f.frame_at = calloc(f.n + 1, sizeof *f.frame_at);
	f.flags = calloc(f.n + 1, 2);
	f.bytes_at = f.flags ? f.flags + f.n : NULL;
	f.nomem = !f.frame_at || !f.flags;
	*ret = (struct code_rows){0};
	if (!f.nomem)
		flow_run(&f);
	*steps -= allowed - f.steps;
	if (f.nomem)
		rc = -ERR_NOMEM;
	else if (!f.bad)
		rc = rows_make(&f, ret);
	free(f.frame_at);
	free(f.flags);
	vec_done(&f.frames);
	vec_done(&f.todo);
	return rc;
}

void code_rows_done(struct code_rows *rows)
{
	free(rows->v);
	*rows = (struct code_rows){0};
}

const struct code_row *code_row_at(const struct code_rows *rows, uint64_t off)
{
	size_t low = 0, high = rows->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (rows->v[mid].start <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low && rows->v[low - 1].is_known ? &rows->v[low - 1] : NULL;
}

const struct code_frame *code_rows_at(const struct code_rows *rows, uint64_t off)
{
	const struct code_row *row = code_row_at(rows, off);

	return row ? &row->frame : NULL;
}
