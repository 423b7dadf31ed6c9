/* code.h - what the instructions of a function say about where probes can be. Private to probe/. */
#ifndef PROBE_CODE_H
#define PROBE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/processor.h"
#include "base/vec.h"

struct function_code {
	enum insn_set set;
	const uint8_t *bytes;
	size_t n;
	uint64_t vaddr;
};

/* Where a function is left. */
struct code_exits {
	VEC(uint64_t) vaddrs; /* of its return instructions and jumps to other functions */
	VEC(bool) is_jump;    /* to another function, which returns in its place */
	size_t n_conditional; /* jumps to other functions that may not be taken: no probe tells */
};

/* Is a jump to this address, outside of the function's bytes, still in it (its cold half)? */
typedef bool code_is_inside(void *arg, uint64_t vaddr);

/* Reads all instructions, one after the other. Returns 1; 0 if some are not understood, or a jump
 * shows that they begin elsewhere: then nothing is known; or -1 when out of memory. *ret must be
 * given to code_exits_done() in any case. */
int code_exits_find(const struct function_code *f, code_is_inside *is_inside, void *arg,
		    struct code_exits *ret);
void code_exits_done(struct code_exits *x);

enum code_place { CODE_PLACE_UNKNOWN, CODE_PLACE_INSN, CODE_PLACE_INSIDE };
/* Does an instruction begin `off` bytes behind the function's start, or is that within one? */
enum code_place code_place_at(const struct function_code *f, uint64_t off);

/* Does a jump within the function lead to its first instruction? A loop begins there, or the
 * function calls itself last: a probe there is hit in each round. */
bool code_loops_at_start(const struct function_code *f);

struct code_addresses {
	VEC(uint64_t) vaddrs;
};
/* Which addresses a function computes from constants, as of functions that it returns (LEA of RIP,
 * MOV of a constant; ADR, ADRP with ADD). What is not understood ends the list. Returns 0, or -1
 * when out of memory; the caller frees ret->vaddrs. */
int code_addresses_find(const struct function_code *f, struct code_addresses *ret);

/* Go's functions begin with a check of the stack's size, and begin again once it has grown: how
 * long that check is. 0: there is none that is known. */
size_t code_go_stack_check(const struct function_code *f);

#endif
