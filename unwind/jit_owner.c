/* jit_owner.c - which frame does the frame record belong to, for code without a file or a
 * description?
 *
 * Compiled Java code uses rbp freely, and mostly leaves it to its caller. The record is then that
 * of an interpreter frame, and the record's return address is not in the caller of the compiled
 * code. HotSpot's interpreter saves its stack pointer when it calls (frame_x86.hpp:
 * interpreter_frame_last_sp_offset, interpreter_frame_sender_sp_offset): the return address is in
 * the word below. In code of any compiler, a function has no record before its first instructions
 * and after its last ones. */
#include <sys/mman.h>

#include "reader/reader.h"
#include "unwind/jit_ahead.h"
#include "unwind/return_check.h"

/* Words of an interpreter frame, as offsets from its record. JDK 8 has LOCALS and MONITORS one word
 * higher. */
enum { SENDER_SP = -1, LAST_SP = -2, LOCALS = -7, MONITORS = -9 };

/* Size of the frame below the record of the stub through which such code is entered
 * (stubGenerator_x86_64.cpp: generate_call_stub()). */
#define ENTRY_BYTES (12 * 8)

/* V8: the DWARF number of rcx, the alignment of its code, and the maximum number of bytes of it
 * before the frame pointer is set: a check of 14 bytes, push, mov. */
enum { RCX = 2, V8_CODE_ALIGN = 32, V8_ENTRY_BYTES = 18 };

/* The low two bits of V8's pointers to objects. */
enum { V8_TAG = 1 };

/* Maximum distance of the places that these words point to. Arguments and locals take at most
 * 65,535 words (JVMS 4.11), but rarely this much. */
#define FRAME_BYTES_MAX (64u << 10)

static bool is_jit_code(struct walk *w, uint64_t ra)
{
	const struct map *map;

	if (ra < 65536)
		return false;
	map = address_space_find(w->s->space, ra - 1);
	return map && map->prot & PROT_EXEC && map->dso->kind == DSO_ANON;
}

struct interpreter {
	uint64_t sender_sp; /* the stack pointer in its caller */
	uint64_t last_sp;   /* its own stack pointer when it called; 0: it has not called */
};

/* Reads word `at` of the frame with the record at fp, which holds a stack address. Since JDK 21
 * some are stored as an offset from the record, in words. */
static bool place(struct walk *w, uint64_t fp, int at, uint64_t *ret)
{
	const int word = w->arch->word_bytes;
	int64_t value;

	if (!walk_word(w, fp + (uint64_t)(at * word), (unsigned)word, ret))
		return false;
	value = (int64_t)*ret;
	if (value && value > -(int64_t)FRAME_BYTES_MAX && value < (int64_t)FRAME_BYTES_MAX)
		*ret = fp + (uint64_t)(value * word);
	return *ret % (unsigned)word == 0;
}

static bool is_above(uint64_t at, uint64_t fp)
{
	return at - fp >= 16 && at - fp <= FRAME_BYTES_MAX;
}

/* True if the record at fp is that of an interpreter frame. */
static bool is_interpreter(struct walk *w, uint64_t fp, struct interpreter *ret)
{
	uint64_t locals, monitors;
	int jdk8;

	if (!place(w, fp, SENDER_SP, &ret->sender_sp) || !is_above(ret->sender_sp, fp) ||
	    !place(w, fp, LAST_SP, &ret->last_sp) ||
	    (ret->last_sp && !(fp - ret->last_sp > 16 && fp - ret->last_sp < FRAME_BYTES_MAX)))
		return false;
	for (jdk8 = 0; jdk8 <= 1; jdk8++)
		if (place(w, fp, LOCALS + jdk8, &locals) && is_above(locals + 8, fp) &&
		    place(w, fp, MONITORS + jdk8, &monitors) &&
		    fp + (uint64_t)(8 * (MONITORS + jdk8)) - monitors < FRAME_BYTES_MAX)
			return true;
	return false;
}

uint64_t jit_sender_sp(struct walk *w, uint64_t fp)
{
	struct interpreter in;

	return w->arch->interpreter_sp_off && runs_hotspot(w) && is_interpreter(w, fp, &in)
		       ? in.sender_sp
		       : fp + 2 * (uint64_t)w->arch->word_bytes;
}

static enum fp_owner called_by(struct cursor *caller, const struct cursor *c, uint64_t ra,
			       uint64_t sp)
{
	*caller = *c;
	caller->ip = ra;
	caller->sp = sp;
	caller->how = FRAME_FP_OWNER;
	return FP_OWNER_CALLER;
}

/* The interpreter made a call at last_sp. If no other word down to c->sp may be a return address,
 * it called this code. */
static enum fp_owner called_by_interpreter(struct walk *w, const struct cursor *c, uint64_t last_sp,
					   struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at, ra, other;

	/* Then *c is the interpreter's own frame. */
	if (last_sp <= c->sp || !walk_word(w, last_sp - word, word, &ra) || ra == c->ip)
		return FP_OWNER_SELF;
	if (!is_jit_code(w, ra))
		return FP_OWNER_UNKNOWN;
	for (at = c->sp; at < last_sp - word; at += word)
		if (!walk_word(w, at, word, &other) || (other != ra && is_jit_code(w, other)))
			return FP_OWNER_UNKNOWN;
	return called_by(caller, c, ra, last_sp);
}

/* True if a word below the record, at least `above` bytes, may be a return address into JIT code:
 * that code would be skipped, if the record is its own. Code may call itself, by way of a function
 * that goes on there by a jump; `but`: an address that does not count, 0: none. */
static bool is_past_jit(struct walk *w, const struct cursor *c, uint64_t above, uint64_t but)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at, value;

	for (at = c->sp; at + above < c->fp && walk_word(w, at, word, &value); at += word)
		if (is_jit_code(w, value) && value != but)
			return true;
	return false;
}

static bool leads_to_jit(struct walk *w, uint64_t fp)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t ra;

	return !walk_word(w, fp + word, word, &ra) || is_jit_code(w, ra);
}

/* V8's C++ calls compiled code by its builtins, which are in the same file. */
static bool leads_to_v8(struct walk *w, uint64_t fp)
{
	const unsigned word = w->arch->word_bytes;
	const struct map *map;
	uint64_t ra;

	if (!walk_word(w, fp + word, word, &ra) || return_check(w, ra) != RETURN_CALL)
		return false;
	map = address_space_find(w->s->space, ra - 1);
	return map && has_v8(w, map);
}

/* True if the record is that of a JavaScript function in V8 (frame-constants.h: the words below are
 * the context and the function, both pointers with a tag, and, since 2021, the number of
 * arguments). */
static bool is_javascript(struct walk *w, uint64_t fp)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t context, function;

	return walk_word(w, fp - word, word, &context) &&
	       walk_word(w, fp - 2 * word, word, &function) && context % 4 == V8_TAG &&
	       function % 4 == V8_TAG && context >> 16 && function >> 16;
}

/* True if all code of the compiler keeps frame pointers, as V8's does: then a return address below
 * the record is one that is over. */
static bool keeps_fp(struct walk *w, const struct cursor *c)
{
	return runs_v8(w) || is_javascript(w, c->fp);
}

/* V8 calls compiled code through rcx (register-x64.h: kJavaScriptCallCodeStartRegister). That code
 * first checks that it is still valid and then makes its frame; until then the record is its
 * caller's. FP_OWNER_UNKNOWN: it may be the caller's, but the register does not show it. */
static enum fp_owner entered_by_v8(struct walk *w, const struct cursor *c, struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t start, ra, sp = c->sp;

	if (c->is_return_address || !walk_word(w, sp, word, &ra) ||
	    (ra == c->fp && !walk_word(w, sp += word, word, &ra)))
		return FP_OWNER_SELF;
	if (arch_reg(w->arch, &w->s->user_regs, RCX, &start) && start % V8_CODE_ALIGN == 0 &&
	    c->ip - start <= V8_ENTRY_BYTES && return_check(w, ra) != RETURN_NONE)
		return called_by(caller, c, ra, sp + word);
	return is_jit_code(w, ra) || (runs_v8(w) && v8_has_no_frame(w, c)) ? FP_OWNER_UNKNOWN
									   : FP_OWNER_SELF;
}

enum fp_owner jit_owner_find(struct walk *w, const struct cursor *c, bool is_hotspot,
			     struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	struct interpreter in;
	uint64_t top, next;

	if (!w->arch->interpreter_sp_off)
		return FP_OWNER_SELF;
	if (is_hotspot && is_interpreter(w, c->fp, &in))
		return in.last_sp ? called_by_interpreter(w, c, in.last_sp, caller) : FP_OWNER_SELF;
	if (!is_hotspot) {
		enum fp_owner owner = entered_by_v8(w, c, caller);

		/* Code of other compilers, such as Mono's, may leave the frame pointer alone. */
		return owner == FP_OWNER_SELF && is_past_jit(w, c, 0, 0) &&
				       !(runs_v8(w) && leads_to_v8(w, c->fp)) &&
				       (!leads_to_jit(w, c->fp) || !keeps_fp(w, c))
			       ? FP_OWNER_UNKNOWN
			       : owner;
	}
	/* call_stub, the outermost JIT code, owns the record, which is 12 words above the arguments
	 * that it passes; all other such code has a return address into it below these. */
	if (!leads_to_jit(w, c->fp) && is_past_jit(w, c, ENTRY_BYTES, c->ip))
		return FP_OWNER_UNKNOWN;
	if (c->is_return_address || !walk_word(w, c->sp, word, &top))
		return FP_OWNER_SELF;
	/* Between the push and the mov of its prologue. Before the push, or after the pop of its
	 * epilogue, the return address is on top: only a call leaves a stack like this, with sp one
	 * word off alignment. */
	if (top == c->fp && walk_word(w, c->sp + word, word, &next) && is_jit_code(w, next))
		return called_by(caller, c, next, c->sp + 2 * word);
	return is_jit_code(w, top) && c->sp % 16 ? called_by(caller, c, top, c->sp + word)
						 : FP_OWNER_SELF;
}
