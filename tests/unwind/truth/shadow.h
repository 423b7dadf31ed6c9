/* shadow.h - a program's own record of which functions are active, for test_truth.py.
 *
 * Each stack has a block in its outermost frame, so that it is in the copy of a sample. An entry is
 * the function's address and what it returns to; it is written before it counts, so that a sample
 * at any instruction holds a whole path. tool_truth.c reads it. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdint.h>

#define SHADOW_MAGIC_0 0x7368616430775f30ull
#define SHADOW_MAGIC_1 0x9e3779b97f4a7c15ull
#define SHADOW_MAX     200
/* The function of an entry on top: the program is in between two states of its stack, as in
 * longjmp(). */
#define SHADOW_BETWEEN 1

/* An exception is on its way: any of the functions below may be over, except the outermost. */
#define SHADOW_THROWING 2

/* The site of an entry that may be over: of code that goes on by a jump. */
#define SHADOW_MAYBE 2

struct shadow {
	uint64_t magic[2];
	uint64_t n;
	struct {
		uint64_t function;
		uint64_t site; /* what it returns to; 0, 1, SHADOW_MAYBE: not known */
	} path[SHADOW_MAX];
};

extern __thread struct shadow *shadow __attribute__((tls_model("initial-exec")));

#define NO_HOOKS	 __attribute__((no_instrument_function))
#define SHADOW_BARRIER() __asm__ volatile("" ::: "memory")

NO_HOOKS static inline __attribute__((always_inline)) void
shadow_push(struct shadow *s, uint64_t function, uint64_t site)
{
	s->path[s->n].function = function;
	s->path[s->n].site = site;
	SHADOW_BARRIER();
	s->n++;
	SHADOW_BARRIER();
}

NO_HOOKS static inline __attribute__((always_inline)) void shadow_pop(struct shadow *s)
{
	SHADOW_BARRIER();
	s->n--;
	SHADOW_BARRIER();
}

NO_HOOKS static inline __attribute__((always_inline)) struct shadow *shadow_begin(struct shadow *s)
{
	struct shadow *old = shadow;

	s->n = 0;
	SHADOW_BARRIER();
	s->magic[1] = SHADOW_MAGIC_1;
	s->magic[0] = SHADOW_MAGIC_0;
	shadow = s;
	return old;
}

/* The block must not be found in what is left of the frame. */
NO_HOOKS static inline __attribute__((always_inline)) void shadow_end(struct shadow *s,
								      struct shadow *old)
{
	SHADOW_BARRIER();
	*(volatile uint64_t *)&s->magic[0] = 0;
	shadow = old;
}

/* In functions that keep the record themselves. */
#define ENTER(f)                                      \
	shadow_push(shadow, (uint64_t)(uintptr_t)(f), \
		    (uint64_t)(uintptr_t)__builtin_return_address(0))
#define LEAVE() shadow_pop(shadow)

/* One file of each program, and of each of its libraries, has these. */
#ifdef SHADOW_HOOKS
__thread struct shadow *shadow __attribute__((tls_model("initial-exec")));
#endif
#if defined SHADOW_HOOKS || defined SHADOW_LIBRARY
#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif
NO_HOOKS void __cyg_profile_func_enter(void *function, void *site)
{
	if (shadow)
		shadow_push(shadow, (uint64_t)(uintptr_t)function, (uint64_t)(uintptr_t)site);
}

NO_HOOKS void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function, (void)site;
	if (shadow && shadow->path[shadow->n - 1].function != SHADOW_BETWEEN)
		shadow_pop(shadow);
}
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
#endif
