"""gen.py - programs in C and C++ whose functions have frames of all kinds and record themselves (shadow.h).

Function i calls functions with higher numbers only, or itself with a lower depth, so that every run ends."""
import random

# What a function does before it calls others; {i}: its number, {r}: a random one.
BODIES = [
    "for (int k = 0; k < {r} % 400; k++) sink += k * x;",
    "volatile char big[{r} % 3000 + 16]; for (unsigned k = 0; k < sizeof big; k += 64) big[k] = (char)x; sink += big[{r} % 16];",
    "char *p = alloca((unsigned)(x & 255) + 16); memset(p, x, (unsigned)(x & 255) + 16); sink += p[{r} % 16];",
    "char vla[(x & 127) + 9]; memset(vla, x, sizeof vla); sink += vla[x & 7];",
    "switch (x & 7) {{ case 0: sink += 3; break; case 1: sink *= 5; break; case 2: sink ^= 7; break; case 3: sink -= 1; break; "
    "case 4: sink += x; break; case 5: sink ^= 99; break; default: sink++; }}",
    "double d = x; for (int k = 0; k < {r} % 60; k++) d = sqrt(d + k); sink += (unsigned long)d;",
    "_Alignas(64) volatile long al[16]; for (int k = 0; k < 16; k++) al[k] = x + k; sink += al[x & 15];",
    "struct big bs = {{{{x, 1, 2}}}}; sink += by_value(bs, x);",
    "sink += sum(5, x, 1L, 2L, 3L, {r}L);",
    "unsigned long a = sink, b = x, c = {r}, d = a ^ b, e = b * c, f = a + c, g = d * e, h = f - g; for (int k = 0; k < {r} % 200; k++) "
    "{{ a += b ^ h; b += c; c ^= d; d += e * a; e -= f; f ^= g; g += h; h ^= a; }} sink += a + b + c + d + e + f + g + h;",
    "if (x == -12345) never(x); sink += 2;",
    "char s1[64], s2[64]; snprintf(s1, sizeof s1, \"%d-%lu\", x, sink); memcpy(s2, s1, sizeof s2); sink += strlen(s2);",
]
# How it calls the next one.
CALLS = [
    "r += f{t}(x + 1, d);",
    "r += (*table[{t}])(x ^ 3, d);",
    "{{ int v[6] = {{5, 2, x, 9, 1, 4}}; depth = d; qsort(v, 6, sizeof *v, compare{t}); r += v[2]; }}",
    "r += many{t}(x, 1, 2, 3, 4, 5, 6, 7, d, 9.5);",
    "{{ jmp_buf jb, *old = jump; struct shadow *sh = shadow; unsigned long n = sh->n; jump = &jb; if (!setjmp(jb)) r += thrower{t}(x, d); sh->n = n; jump = old; }}",
    "r += tail{t}(x, d);",
    "if (x & 1) r += f{t}(x, d); else r -= f{t}(x + 7, d);",
]
CALLS_CXX = [
    "{{ struct shadow *sh = shadow; unsigned long n = sh->n; try {{ r += thrower{t}(x, d); }} catch (int e) {{ sh->n = n; r += e; }} }}",
    "{{ Guard g(r); r += f{t}(x, d); }}",
    "r += std::accumulate(std::begin(numbers), std::end(numbers), 0, [&](int a, int b) NO_HOOKS {{ return a + b; }}) + f{t}(x, d);",
]
HEAD = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "shadow.h"
#ifdef __cplusplus
#include <numeric>
#include <iterator>
extern "C" {
#define _Alignas(n) alignas(n)
#endif
#ifdef LIGHT /* the functions keep the record themselves, all else is as the compiler likes it */
#define IN(f) ENTER(f)
#define OUT() LEAVE()
#else
#define IN(f)
#define OUT()
#endif
#define SHAPE __attribute__((noinline, noclone))
#ifdef __clang__
#undef SHAPE
#define SHAPE __attribute__((noinline))
#endif
typedef int fn(int, int);
struct big { long v[12]; };
NO_HOOKS extern unsigned long sum(int n, ...);
NO_HOOKS extern unsigned long by_value(struct big b, int x);
NO_HOOKS extern void never(int x) __attribute__((noreturn, cold));
extern volatile unsigned long sink;
extern int depth;
extern __thread jmp_buf *jump;
extern fn *const table[];
extern int numbers[3];
"""
COMMON = """
volatile unsigned long sink;
int depth, numbers[3] = {1, 2, 3};
__thread jmp_buf *jump;
NO_HOOKS unsigned long sum(int n, ...) { va_list l; unsigned long r = 0; va_start(l, n); while (n--) r += va_arg(l, long); va_end(l); return r; }
NO_HOOKS unsigned long by_value(struct big b, int x) { return (unsigned long)b.v[x & 7]; }
NO_HOOKS void never(int x) { printf("%d\\n", x); abort(); }
"""


def function(rng, i, n, cxx, light):
    """The text of function i of n, with what is called by qsort, with many arguments, and with longjmp or throw."""
    body = rng.sample(BODIES, rng.randint(1, 3))
    if cxx:
        body = [b for b in body if "vla" not in b and "alloca" not in b] or BODIES[:1]
    calls = []
    for _ in range(rng.randint(1, 3)):
        t = rng.randint(i + 1, n) if i < n else None
        if t:
            kinds = CALLS + CALLS_CXX if cxx else CALLS
            if cxx:
                kinds = [k for k in kinds if "setjmp" not in k]
            calls.append(rng.choice(kinds).format(t=t))
    # those with frames of unknown size at the function's level, the others in blocks of their own
    texts = [b.format(i=i, r=rng.randint(1, 5000)) for b in body]
    texts = [t if "alloca" in t or "vla" in t else "{ " + t + " }" for t in texts]
    leave = "if (d <= 0) { OUT(); return r + x; } d--;"
    out = f"SHAPE int f{i}(int x, int d) {{ IN(f{i}); int r = x; {' '.join(texts)} {leave} {' '.join(calls)} sink += r; OUT(); return r; }}\n"
    out += f"SHAPE int compare{i}(const void *a, const void *b) {{ IN(compare{i}); int r = f{i}(*(const int *)a, depth > 2 ? 1 : 0); OUT(); " \
           f"return *(const int *)a - *(const int *)b + (r == 123456); }}\n"
    out += f"SHAPE int many{i}(int a, long b, int c, long d, int e, long f, int g, long h, int dd, double z) {{ IN(many{i}); " \
           f"int r = f{i}((int)(a + b + c + d + e + f + g + h) + (int)z, dd); OUT(); return r; }}\n"
    jump = "throw r;" if cxx else "longjmp(*jump, 1);"
    out += f"SHAPE int thrower{i}(int x, int d) {{ IN(thrower{i}); int r = f{i}(x, d > 1 ? 1 : d); sink += r; if ((r & 15) == 1) {{ " \
           f"shadow_push(shadow, SHADOW_BETWEEN, 0); {jump} }} OUT(); return r; }}\n"
    # all compilers make a jump of this call where they optimize
    out += f"SHAPE int tail{i}(int x, int d) {{ IN(tail{i}); sink += x; OUT(); return f{i}(x + 1, d); }}\n"
    return out


def declarations(n):
    out = ""
    for i in range(n + 1):
        out += f"fn f{i}, thrower{i}, tail{i}; int compare{i}(const void *, const void *); int many{i}(int, long, int, long, int, long, int, long, int, double);\n"
    return out


def parts(seed, n, cxx=False, light=False, files=1):
    """[text of a file]: functions 0 .. n, in turns in each file; without main()."""
    rng = random.Random(seed)
    texts = [HEAD + declarations(n) for _ in range(files)]
    guard = "}\nstruct Guard { int &r; NO_HOOKS Guard(int &r) : r(r) {} NO_HOOKS ~Guard() { r++; } };\nextern \"C\" {\n" if cxx else ""
    for k in range(files):
        texts[k] += guard
    for i in range(n + 1):
        texts[i % files] += function(rng, i, n, cxx, light)
    texts[0] += COMMON + "fn *const table[] = {" + ", ".join(f"f{i}" for i in range(n + 1)) + "};\n"
    return [t + ("\n}\n" if cxx else "") for t in texts]


def main_of(n, threads=0):
    """main(): calls the functions for argv[1] seconds of CPU time."""
    return HEAD + """
#ifdef __cplusplus
}
#endif
static double seconds;
#ifdef __cplusplus
extern "C"
#endif
fn f0;
NO_HOOKS static void *run(void *arg)
{
	struct shadow block, *old = shadow_begin(&block);
	struct timespec t;
	int i = 0;

	(void)arg;
	do {
		for (int k = 0; k < 2; k++)
			sink += (unsigned long)f0(i++, 7);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	shadow_end(&block, old);
	return NULL;
}

NO_HOOKS int main(int argc, char **argv)
{
	pthread_t t[8];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	for (int i = 0; i < %d; i++)
		pthread_create(&t[i], NULL, run, NULL);
	run(NULL);
	for (int i = 0; i < %d; i++)
		pthread_join(t[i], NULL);
	return 0;
}
""" % (threads, threads)
