/* calls.c - plain C: a known chain, recursion, and a callback through qsort of libc.
 * Usage: calls SECONDS (of CPU time). The names below are what test_programs.py looks for. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;
static clock_t end_time;

static __attribute__((noinline)) void spin(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		sink += i * i;
}

static __attribute__((noinline)) void chain_leaf(void)
{
	spin(20000);
	sink++;
}

static __attribute__((noinline)) void chain_middle(void)
{
	chain_leaf();
	sink++;
}

static __attribute__((noinline)) void chain_top(void)
{
	chain_middle();
	sink++;
}

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
	/* A large frame makes rsp-relative CFI work for its living. */
	volatile char room[200];

	room[depth % sizeof room] = (char)depth;
	if (!depth) {
		spin(20000);
		return 1;
	}
	return recurse(depth - 1) + (unsigned)room[depth % sizeof room];
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	spin(20);
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sorting(void)
{
	static int v[300];
	int i;

	for (i = 0; i < 300; i++)
		v[i] = i * 7919 % 300;
	qsort(v, 300, sizeof *v, compare);
}

/* The canonical case for frame-pointer based unwinding to lose: variable frame size. */
static __attribute__((noinline)) void dynamic_frame(unsigned n)
{
	char *room = __builtin_alloca(n % 512 + 16);

	room[0] = 1;
	spin(20000);
	sink += (unsigned long)room[0];
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	end_time = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	while (clock() < end_time) {
		chain_top();
		recurse(40);
		sorting();
		dynamic_frame((unsigned)sink);
	}
	return 0;
}
