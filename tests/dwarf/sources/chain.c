/* chain.c - plain C: chains of inlined functions, a cold part, recursion, a nested function. */
#include "mark.h"
#include "shared.h"

volatile int sink;

//= 1: one @= <- two @two-one <- three @three-two <- four @four-three <- five @five-four <- deep @deep-five
INLINE void one(int x)
{
	sink = x;
	MARK(1);
	sink++;
}
INLINE void two(int x)
{
	one(x + 1); //@two-one
}
INLINE void three(int x)
{
	two(x * 3); //@three-two
}
INLINE void four(int x)
{
	three(x - 7); //@four-three
}
INLINE void five(int x)
{
	four(x ^ 5); //@five-four
}

NOINLINE void deep(int x)
{
	five(x); //@deep-five
	sink = x;
	MARK(2); //= 2: deep @=
	sink++;
}

/* The unlikely part moves to another section: gcc calls it function.cold. */
extern void fatal(int x) __attribute__((cold, noreturn));
NOINLINE int hot(int x)
{
	if (__builtin_expect(x < 0, 0)) {
		sink = 1;
		MARK(3); //= 3: hot @=
		fatal(x);
	}
	sink = x;
	MARK(4); //= 4: hot @=
	return sink;
}

/* Inlined twice into one function: the same function, two call sites. */
//= 5: twice @= <- uses_twice @first
//= 5: twice @= <- uses_twice @second
INLINE void twice(int x)
{
	sink = x;
	MARK(5);
	sink++;
}
NOINLINE int uses_twice(int x)
{
	twice(x); //@first
	if (x & 1)
		return sink;
	twice(x + 1); //@second
	return sink;
}

NOINLINE int recursive(int x)
{
	if (x <= 0)
		return 0;
	sink = x;
	MARK(6); //= 6: recursive @=
	return recursive(x - 1) + sink;
}

/* It is never called: --gc-sections drops it, and its DIE stays behind with a dead address. */
void unused(int x)
{
	deep(x);
	MARK(7); //= 7: unused @=
	deep(x);
}

NOINLINE int uses_shared(int x)
{
	shared(x); //@chain-shared
	return sink;
}

/* Equal bodies: a linker may fold them. */
NOINLINE void same_a(int x)
{
	sink = x * 5;
}
NOINLINE void same_b(int x)
{
	sink = x * 5;
}

int other(int x);

#ifndef ENTRY
#define ENTRY main
#endif
int ENTRY(int argc, char **argv)
{
	(void)argv;
	deep(argc);
	hot(argc);
	uses_twice(argc);
	recursive(argc);
	uses_shared(argc);
	same_a(argc);
	same_b(argc);
	return other(argc) & 1;
}
