/* jit_ahead.h - frames of code without a file by its bytes alone. Private to unwind/. */
#ifndef UNWIND_JIT_AHEAD_H
#define UNWIND_JIT_AHEAD_H

#include "unwind/walk.h"

/* The memory around `ip` that the recording holds. Returns false if there is none. */
bool jit_memory_find(struct walk *w, uint64_t ip, struct jit_memory *ret);

/* What the code from `ip` on shows of the frame there. `w` NULL: jumps out of the memory show
 * nothing. Returns false if that is nothing; ret->passes is set then, too. */
bool jit_ahead_find(struct walk *w, const struct arch *arch, const struct jit_memory *m,
		    uint64_t ip, struct jit_ahead_frame *ret);

/* Finds the caller of the frame *c by the bytes of its code, as code_step() does. *has_fp: false if
 * the record at the frame pointer is certainly not its own. */
enum unwind_stop jit_ahead_step(struct walk *w, struct cursor *c, bool *has_fp);

/* v8.c: the same for the first and the last instructions of V8's functions, in which these have no
 * frame. Elsewhere they keep frame pointers. */
enum unwind_stop v8_edge_step(struct walk *w, struct cursor *c);
/* True if the code shows that the function has no frame: the record is not its own. */
bool v8_has_no_frame(struct walk *w, const struct cursor *c);

/* v8_builtins.c: the caller of the sample's own function, a builtin in V8's file. BAD_CFI: its code
 * shows where the return address is, but none is there. NO_CFI: it does not show that. */
enum unwind_stop v8_builtin_step(struct walk *w, struct cursor *c, const struct map *map);
/* The caller of a function whose frame that builtin makes, before it has done so. NO_CFI: it has
 * its frame. BAD_CFI: it has none, and what is to be its return address is none. */
enum unwind_stop v8_unmade_step(struct walk *w, struct cursor *c);

/* sljit.c: the caller of a function that has its return address in the frame of its caller. */
bool sljit_fast_caller(struct walk *w, const struct cursor *c, struct cursor *caller);

/* php.c: an address in the function in whose frame the compiled code of PHP runs, and to whose code
 * it leaves by JMP through what r15 leads to. 0: there is none. */
uint64_t php_leaves_to(struct walk *w);

/* luajit.c: how many bytes more compiled code of LuaJIT has on the stack than the rule of the code
 * at `target` counts, to which it jumps; 0 for other files. */
unsigned luajit_untold_bytes(struct walk *w, uint64_t target);
/* The same in LuaJIT's interpreter: its rule has led the sample's own frame to the wrong caller *c,
 * which is replaced by the right one. Returns false if that is none either. */
bool luajit_first_again(struct walk *w, struct cursor *c);

#endif
