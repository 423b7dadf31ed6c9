/* jit.c - code made at run time, without a file, for test_truth.py: functions with and without
 * frame pointers, of frames of any size that nothing initialises, which call C functions and each
 * other.
 *
 * SHAPE says how many functions of which kind. The entry of such a function is written by what
 * calls it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#define SHADOW_HOOKS
#include "shadow.h"

enum { JIT_BYTES = 256, N_JIT = 24 };

typedef unsigned long code_fn(unsigned long x, unsigned long (*next)(unsigned long));

static uint8_t *code;
static unsigned pick;
volatile unsigned long sink;

#define OWN __attribute__((noinline, no_instrument_function))

static unsigned draw(unsigned n)
{
	pick = pick * 1103515245u + 12345u;
	return (pick >> 16) % n;
}

OWN unsigned long f0(unsigned long x)
{
	ENTER(f0);
	for (int i = 0; i < 400; i++)
		sink += x * (unsigned long)i;
	LEAVE();
	return sink;
}

/* Leaves return addresses of all kinds below its caller's frame. */
OWN unsigned long f1(unsigned long (*a)(unsigned long), unsigned long x)
{
	unsigned long r;

	ENTER(f1);
	r = a(x) + a(x + 1);
	LEAVE();
	return r + 1;
}

OWN unsigned long f2(unsigned long (*a)(unsigned long), unsigned long x)
{
	unsigned long r;

	ENTER(f2);
	r = f1(a, x) + f1(a, x + 2);
	LEAVE();
	return r + 1;
}

static unsigned long call(unsigned which, unsigned long x, int depth);
static __thread int depth_left;

/* What code calls: C again, which may call code. */
OWN unsigned long f3(unsigned long x)
{
	unsigned long r;

	ENTER(f3);
	r = f0(x);
	if (depth_left-- > 0)
		r += call(draw(N_JIT), x + r, 0);
	depth_left++;
	LEAVE();
	return r;
}

/* One that calls code as its last act but one. */
OWN unsigned long f4(unsigned which, unsigned long x)
{
	unsigned long r;

	ENTER(f4);
	r = call(which, x, 1);
	LEAVE();
	return r + 3;
}

OWN unsigned long f5(unsigned which, unsigned long x)
{
	volatile char room[200];
	unsigned long r;

	ENTER(f5);
	room[x % sizeof room] = 1;
	sink += f2(f0, x);
	r = f4(which, x) + (unsigned long)room[0];
	LEAVE();
	return r;
}

static inline __attribute__((always_inline, no_instrument_function)) unsigned long
call(unsigned which, unsigned long x, int depth)
{
	code_fn *f = (code_fn *)(code + which * JIT_BYTES);
	unsigned long r;

	(void)depth;
	shadow_push(shadow, (uint64_t)(uintptr_t)f, 0);
	r = f(x, f3);
	shadow_pop(shadow);
	return r;
}

static uint8_t *put(uint8_t *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

/* next(x) and back: with push %rbp; mov %rsp,%rbp or without, with `size` bytes of a frame, and a
 * loop of its own. */
static void make(unsigned which, int has_fp, unsigned size)
{
	uint8_t *p = code + which * JIT_BYTES;
	uint32_t bytes = size;

	memset(p, 0xcc, JIT_BYTES);
	if (has_fp)
		p = put(p, "\x55\x48\x89\xe5", 4);
	p = put(p, "\x48\x81\xec", 3); /* sub $size,%rsp */
	memcpy(p, &bytes, 4);
	p += 4;
	p = put(p, "\xb9\x64\x00\x00\x00\xff\xc9\x75\xfc", 9); /* mov $100,%ecx; dec %ecx; jne */
	p = put(p, "\xff\xd6", 2);			       /* call *%rsi */
	p = put(p, "\xb9\x64\x00\x00\x00\xff\xc9\x75\xfc", 9);
	p = put(p, "\x48\x81\xc4", 3); /* add $size,%rsp */
	memcpy(p, &bytes, 4);
	p += 4;
	if (has_fp)
		p = put(p, "\x5d", 1);
	put(p, "\xc3", 1);
}

OWN int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	const char *kind = argc > 1 ? argv[1] : "both";
	struct shadow block, *old = shadow_begin(&block);
	struct timespec t;

	code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	for (unsigned i = 0; i < N_JIT; i++) {
		int has_fp = !strcmp(kind, "fp") || (!strcmp(kind, "both") && i % 2);

		make(i, has_fp, 16 * (i / 2) + (has_fp ? 0 : 8));
	}
	do {
		depth_left = 3;
		sink += f5(draw(N_JIT), sink);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	shadow_end(&block, old);
	return 0;
}
