/* jit_owner.c - whose is the frame record, seen from code without a file or a description?
 *
 * Compiled Java code uses rbp as it likes, and mostly leaves it to its caller: its record is that
 * of an interpreter frame then, and what that returns to is not the caller of the compiled code.
 * HotSpot's interpreter writes down where its stack was when it called (frame_x86.hpp:
 * interpreter_frame_last_sp_offset, interpreter_frame_sender_sp_offset): its return address is the
 * word below. A function of any compiler has no record before its first instructions and behind its
 * last ones. */
#include <sys/mman.h>

#include "unwind/return_check.h"

/* Words of an interpreter's frame, counted from its record. Of the others there are one less in
 * JDK 8. */
enum { SENDER_SP = -1, LAST_SP = -2, LOCALS = -7, MONITORS = -9 };

/* Below the record of what enters such code (stubGenerator_x86_64.cpp: generate_call_stub()). */
#define ENTRY_BYTES (12 * 8)

/* How far away they lead: arguments and locals take 65,535 words at most (JVMS 4.11), but few do.
 */
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
	uint64_t last_sp;   /* where its own was when it called; 0: it has not */
};

/* A word of the frame with the record at fp, which is a place of the stack: since JDK 21 some are
 * told in words from the record. */
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

/* Is the record at fp one of the interpreter? */
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

	return w->arch->interpreter_sp_off && is_interpreter(w, fp, &in)
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

/* The interpreter called at last_sp. If nothing else between may be a return address, it called
 * this. */
static enum fp_owner called_by_interpreter(struct walk *w, const struct cursor *c, uint64_t last_sp,
					   struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at, ra, other;

	/* Its own frame, in which it was called back. */
	if (last_sp <= c->sp || !walk_word(w, last_sp - word, word, &ra) || ra == c->ip)
		return FP_OWNER_SELF;
	if (!is_jit_code(w, ra))
		return FP_OWNER_UNKNOWN;
	for (at = c->sp; at < last_sp - word; at += word)
		if (!walk_word(w, at, word, &other) || (other != ra && is_jit_code(w, other)))
			return FP_OWNER_UNKNOWN;
	return called_by(caller, c, ra, last_sp);
}

/* Does the record lead to code of a file, past frames of HotSpot's? The first of those, call_stub,
 * has its own record there, 12 words above its arguments; any other has a return address to it
 * above its own frame. */
static bool is_past_entry(struct walk *w, const struct cursor *c)
{
	const unsigned word = w->arch->word_bytes;
	uint64_t at, value;

	if (!walk_word(w, c->fp + word, word, &value) || is_jit_code(w, value))
		return false;
	for (at = c->sp; at + ENTRY_BYTES < c->fp && walk_word(w, at, word, &value); at += word)
		if (is_jit_code(w, value) && value != c->ip)
			return true;
	return false;
}

enum fp_owner jit_owner_find(struct walk *w, const struct cursor *c, bool is_hotspot,
			     struct cursor *caller)
{
	const unsigned word = w->arch->word_bytes;
	struct interpreter in;
	uint64_t top, next;

	if (!w->arch->interpreter_sp_off)
		return FP_OWNER_SELF;
	if (is_interpreter(w, c->fp, &in))
		return in.last_sp ? called_by_interpreter(w, c, in.last_sp, caller) : FP_OWNER_SELF;
	if (!is_hotspot)
		return FP_OWNER_SELF;
	if (is_past_entry(w, c))
		return FP_OWNER_UNKNOWN;
	if (c->is_return_address || !walk_word(w, c->sp, word, &top))
		return FP_OWNER_SELF;
	/* Between its push and its move; before that, or behind it, only a call leaves the stack
	 * so. */
	if (top == c->fp && walk_word(w, c->sp + word, word, &next) && is_jit_code(w, next))
		return called_by(caller, c, next, c->sp + 2 * word);
	return is_jit_code(w, top) && c->sp % 16 ? called_by(caller, c, top, c->sp + word)
						 : FP_OWNER_SELF;
}
