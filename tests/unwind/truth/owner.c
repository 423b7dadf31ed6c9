/* owner.c - code without call frame information between C functions of all kinds, for
 * test_truth.py: deep chains of callers that leave the frame pointer alone, tail calls between
 * them, into that code and out of it, signal handlers, aligned frames, frames of unknown size.
 *
 * owner WHERE SIGNALS SECONDS. WHERE: jit (code made at run time), file (assembly in this file,
 * with symbols); SIGNALS: 0, 1. Built with -DTAILS if the compiler makes jumps of tail calls. The
 * entry of code is written by what calls it: before it runs, until after. */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#define SHADOW_HOOKS
#include "shadow.h"

enum { JIT_BYTES = 256, N_CODES = 24, DEPTH = 9 };

typedef unsigned long fn(unsigned long x);
typedef unsigned long code_fn(unsigned long x, fn *next, void *other);

static code_fn *codes[N_CODES];
static unsigned pick;
static int left;
volatile unsigned long sink;

#define OWN __attribute__((noinline, no_instrument_function))
#define AI  static inline __attribute__((always_inline, no_instrument_function))

AI unsigned draw(unsigned n)
{
	pick = pick * 1103515245u + 12345u;
	return (pick >> 16) % n;
}

fn f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12;
static fn *const table[] = {f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12};
static fn *volatile *any = (fn *volatile *)table;

OWN unsigned long f0(unsigned long x)
{
	ENTER(f0);
	for (int i = 0; i < 150; i++)
		sink += x * (unsigned long)i;
	LEAVE();
	return sink;
}

AI void push_code(unsigned k)
{
	shadow_push(shadow, (uint64_t)(uintptr_t)codes[k], k % 4 == 2 ? SHADOW_MAYBE : 0);
}

/* Calls some of the code, which calls the function. Every fourth calls other code, which does. */
AI unsigned long code(unsigned long x, fn *next)
{
	unsigned k = draw(N_CODES), other = draw(N_CODES / 4) * 4 + draw(3);

	push_code(k);
	if (k % 4 == 3)
		push_code(other);
	return codes[k](x, next, (void *)codes[other]);
}

/* Goes on with one of all, by its name or by its address. */
AI unsigned long go(unsigned long x)
{
	struct shadow *s = shadow;
	unsigned long n = s->n, r;

	if (left <= 0)
		return f0(x);
	left--;
	switch (draw(10)) {
	case 0:
		r = f1(x);
		break;
	case 1:
		r = f2(x);
		break;
	case 2:
		r = f3(x);
		break;
	case 3:
		r = f4(x);
		break;
	case 4:
		r = f5(x);
		break;
	case 5:
		r = f6(x);
		break;
	case 6:
		r = any[draw(12)](x);
		break;
	default:
		r = code(x, any[draw(12)]);
		break;
	}
	left++;
	SHADOW_BARRIER();
	s->n = n;
	SHADOW_BARRIER();
	return r;
}

OWN unsigned long f1(unsigned long x)
{
	unsigned long r;

	ENTER(f1);
	r = go(x) + go(x + 1);
	LEAVE();
	return r + 1;
}

/* f2, f3, f4: with an aligned frame, with one of unknown size, with a large one. */
OWN unsigned long f2(unsigned long x)
{
	_Alignas(64) volatile unsigned long room[8];
	unsigned long r;

	ENTER(f2);
	room[x & 7] = x;
	r = go(x) + room[x & 7];
	LEAVE();
	return r;
}

OWN unsigned long f3(unsigned long x)
{
	volatile char *p;
	unsigned long r;

	ENTER(f3);
	p = alloca((x & 127) + 1);
	p[x & 127] = 1;
	r = go(x) + (unsigned long)p[x & 127];
	LEAVE();
	return r;
}

OWN unsigned long f4(unsigned long x)
{
	volatile char room[900];
	unsigned long r;

	ENTER(f4);
	room[x % sizeof room] = 1;
	r = go(x) + (unsigned long)room[x % sizeof room];
	LEAVE();
	return r;
}

/* f5: many values that are needed later; f6: a chain of callers. */
OWN unsigned long f5(unsigned long x)
{
	unsigned long a = sink, b = a * x, c = a ^ b, d = b + c, e = c * d, f = e - a;

	ENTER(f5);
	f += go(x);
	LEAVE();
	return a + b + c + d + e + f;
}

OWN static unsigned long f60(unsigned long x, int n)
{
	unsigned long r;

	ENTER(f60);
	r = n ? f60(x + 1, n - 1) : go(x);
	LEAVE();
	return r + sink;
}

OWN unsigned long f6(unsigned long x)
{
	unsigned long r;

	ENTER(f6);
	r = f60(x, (int)draw(30));
	LEAVE();
	return r + sink;
}

/* f7, f8: go on in another function; f9: in some of the code, which takes their entry over. */
#ifdef TAILS
#define GO_ON(call)                 \
	do {                        \
		shadow_pop(shadow); \
		SHADOW_BARRIER();   \
		return call;        \
	} while (0)
#else
#define GO_ON(call)           \
	do {                  \
		x = call;     \
		LEAVE();      \
		return x + 1; \
	} while (0)
#endif

OWN unsigned long f7(unsigned long x)
{
	ENTER(f7);
	sink += x;
	GO_ON(f5(x + 1));
}

OWN unsigned long f8(unsigned long x)
{
	fn *next = any[draw(6)];

	ENTER(f8);
	sink += x;
	GO_ON(next(x + 1));
}

OWN unsigned long f9(unsigned long x)
{
	unsigned k = draw(N_CODES / 4) * 4 + draw(3);
	fn *next = any[draw(6)];
#ifdef TAILS
	push_code(k);
	return codes[k](x, next, NULL);
#else
	ENTER(f9);
	push_code(k);
	x = codes[k](x, next, NULL);
	shadow_pop(shadow);
	LEAVE();
	return x + 1;
#endif
}

/* f10: calls two functions, which leave return addresses of all kinds, before it goes on; f11 saves
 * registers, and uses them only after the call; f12: with arguments on the stack. */
OWN unsigned long f10(unsigned long x)
{
	unsigned long r;

	ENTER(f10);
	r = f0(x) + any[9 + draw(2)](x);
	r += go(x);
	LEAVE();
	return r;
}

OWN unsigned long f11(unsigned long x)
{
	unsigned long a, b, c, d, e;

	ENTER(f11);
	a = go(x);
	b = a * x, c = a ^ b, d = b + c, e = c * d;
	sink += a;
	a = go(x + e);
	LEAVE();
	return a + b + c + d + e;
}

OWN static unsigned long f120(long a, long b, long c, long d, long e, long f, long g, long h)
{
	unsigned long r;

	ENTER(f120);
	r = go((unsigned long)(a + b + c + d + e + f + g + h));
	LEAVE();
	return r + (unsigned long)g;
}

OWN unsigned long f12(unsigned long x)
{
	unsigned long r;

	ENTER(f12);
	r = f120((long)x, 1, 2, 3, 4, 5, 6, (long)x) + 1;
	LEAVE();
	return r;
}

/* ---- the code ---- */

static uint8_t *put(uint8_t *p, const char *bytes, size_t n)
{
	memcpy(p, bytes, n);
	return p + n;
}

static uint8_t *put_size(uint8_t *p, const char *bytes, unsigned size)
{
	p = put(p, bytes, 3);
	memcpy(p, &size, 4);
	return p + 4;
}

/* How code % 4 goes on: 0, 1: calls `next`; 2: jumps to it; 3: calls `other`. How code / 4 % 3
 * begins: 0: without a frame pointer; 1: with one; 2: saves it only. */
static void make(uint8_t *start, unsigned k)
{
	static const char loop[] =
		"\xb9\x28\x00\x00\x00\xff\xc9\x75\xfc"; /* mov $40,%ecx; dec; jne */
	unsigned begins = k / 4 % 3, size = 16 * (k / 2) + (begins ? 0 : 8);
	uint8_t *p = start;

	if (begins)
		p = put(p, "\x55\x48\x89\xe5", begins == 1 ? 4 : 1); /* push %rbp; mov %rsp,%rbp */
	p = put_size(p, "\x48\x81\xec", size);			     /* sub $size,%rsp */
	p = put(p, loop, 9);
	if (k % 4 != 2)
		p = put(p, k % 4 == 3 ? "\xff\xd2" : "\xff\xd6", 2); /* call *%rdx, *%rsi */
	p = put(p, loop, 9);
	p = put_size(p, "\x48\x81\xc4", size); /* add $size,%rsp */
	if (begins)
		p = put(p, "\x5d", 1);
	put(p, k % 4 == 2 ? "\xff\xe6" : "\xc3", 2); /* jmp *%rsi; ret */
}

/* The same in this file, with symbols. */
#define TEXT_OF(k, begin, size, call, end, leave)                                           \
	__asm__(".text\n.balign 16\n.globl f10" #k "\n.type f10" #k ",@function\nf10" #k    \
		":\n" begin "sub $" #size ",%rsp\nmov $40,%ecx\n1: dec %ecx\njne 1b\n" call \
		"mov $40,%ecx\n1: dec %ecx\njne 1b\nadd $" #size ",%rsp\n" end leave        \
		"\n.size f10" #k ",.-f10" #k);                                              \
	extern code_fn f10##k;
#define NO_FP ""
#define FP    "push %rbp\nmov %rsp,%rbp\n"
#define SAVES "push %rbp\n"
#define NEXT  "call *%rsi\n"
#define OTHER "call *%rdx\n"
#define POP   "pop %rbp\n"
TEXT_OF(00, NO_FP, 8, NEXT, "", "ret")
TEXT_OF(01, NO_FP, 24, NEXT, "", "ret")
TEXT_OF(02, NO_FP, 40, "", "", "jmp *%rsi")
TEXT_OF(03, NO_FP, 56, OTHER, "", "ret")
TEXT_OF(04, FP, 16, NEXT, POP, "ret")
TEXT_OF(05, FP, 64, NEXT, POP, "ret")
TEXT_OF(06, FP, 32, "", POP, "jmp *%rsi")
TEXT_OF(07, FP, 96, OTHER, POP, "ret")
TEXT_OF(08, SAVES, 16, NEXT, POP, "ret")
TEXT_OF(09, SAVES, 64, NEXT, POP, "ret")
TEXT_OF(10, SAVES, 32, "", POP, "jmp *%rsi")
TEXT_OF(11, SAVES, 96, OTHER, POP, "ret")
static code_fn *const in_file[] = {f1000, f1001, f1002, f1003, f1004, f1005,
				   f1006, f1007, f1008, f1009, f1010, f1011};

/* ---- signals ---- */

OWN void f14(int sig)
{
	struct shadow *s = shadow;
	/* what it has interrupted may be writing there */
	__typeof__(s->path[0]) own = s->path[s->n];
	unsigned long n = s->n;
	int depth = left;

	(void)sig;
	ENTER(f14);
	left = 2;
	sink += go(sink);
	left = depth;
	SHADOW_BARRIER();
	s->n = n;
	SHADOW_BARRIER();
	s->path[n] = own;
}

OWN static void signals_begin(void)
{
	struct sigaction sa = {.sa_handler = f14, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 1000}, {0, 1000}};

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &t, NULL);
}

OWN int main(int argc, char **argv)
{
	double seconds = argc > 3 ? atof(argv[3]) : 1;
	struct shadow block;
	struct timespec t;
	uint8_t *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 0xcc, 1 << 16);
	for (unsigned k = 0; k < N_CODES; k++) {
		make(p + k * JIT_BYTES, k);
		codes[k] = argc > 1 && !strcmp(argv[1], "file") ? in_file[k % 12]
								: (code_fn *)(p + k * JIT_BYTES);
	}
	shadow_begin(&block);
	if (argc > 2 && argv[2][0] == '1')
		signals_begin();
	do {
		left = DEPTH;
		sink += f1(sink);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	_exit(0);
}
