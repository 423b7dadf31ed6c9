/* i386.c - a 32-bit program without any library: recursion over a frame of variable size.
 * Runs for 0.3 s of CPU time. Built with -m32 -nostdlib -static -fno-pie. */
#include "i386.h"

static volatile unsigned sink;

static __attribute__((noinline)) void spin(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		sink += i * i;
}

static __attribute__((noinline)) void leaf(unsigned n)
{
	spin(n);
	sink++;
}

static __attribute__((noinline)) void variable_frame(unsigned n)
{
	volatile char *p = __builtin_alloca(n % 64 + 16);

	p[0] = 1;
	leaf(n);
	sink += (unsigned)p[0];
}

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
	unsigned r = 0;

	if (depth)
		r = recurse(depth - 1);
	else
		variable_frame(20000);
	sink++;
	return r + 1;
}

__attribute__((used)) static void run(void)
{
	unsigned end = cpu_ms() + 300;

	while (cpu_ms() < end)
		recurse(sink % 7 + 2);
	system_call(1, 0, 0);
}

__asm__(".globl _start\n_start:\n.cfi_startproc\n.cfi_undefined eip\n"
	"xor %ebp, %ebp\nand $-16, %esp\ncall run\nhlt\n.cfi_endproc\n");
