/* other.c - the second unit of chain.c. */
#include "mark.h"
#include "shared.h"

void fatal(int x) __attribute__((cold, noreturn));
void fatal(int x)
{
	for (;;)
		sink = x;
}

NOINLINE int other(int x)
{
	shared(x); //@other-shared
	return sink + 1; /* not the same as uses_shared, which compilers would see */
}
