/* i386_roots.c - a 32-bit program that starts, and starts a child, as musl does: in code without
 * call frame information, where words of calls that are over lie between the stack pointer and the
 * return address. Runs for 0.2 s of CPU time each. Built with -m32 -nostdlib -static -fno-pie. */
#include "i386.h"

static volatile unsigned sink;

static __attribute__((noinline)) void spin(void)
{
	unsigned end = cpu_ms() + 200, i;

	while (cpu_ms() < end)
		for (i = 0; i < 1000000; i++)
			sink += i * i;
}

__attribute__((used)) static int in_child(void)
{
	spin();
	sink++;
	return 0;
}

/* Does as musl's __clone, with CLONE_VM | CLONE_VFORK and a stack of its own. */
void start_child(void *stack);

__attribute__((used)) static int run_main(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	start_child(stack + sizeof stack - 64);
	spin();
	sink++;
	return 0;
}

__asm__(".globl _start\n"
	"_start:	xor %ebp, %ebp; mov %esp, %eax; and $-16, %esp\n"
	"	push %eax; push %eax; push %eax\n"
	"	call start_c\n"
	"start_c: push %ebx; call nothing; sub $0x10, %esp\n"
	"	push $0; push $0; push $0; push $0; push $0; push $0\n"
	"	call start_main\n"
	"	add $0x28, %esp\n"
	"	.skip 64, 0x90\n" /* the others are not at the entry */
	"nothing: ret\n"
	"start_main: push %ebp; push %edi; call nothing; pop %edi; pop %ebp; jmp stage2\n"
	"	.skip 64, 0x90\n"
	"stage2: push %ebp; push %edi; push %esi; push %ebx; sub $0xc, %esp\n"
	"	call nothing\n" /* its return address stays below the arguments of the next call */
	"	sub $4, %esp; push $0; push $0; push $0\n"
	"	mov $run_main, %eax; call *%eax\n"
	"	xor %ebx, %ebx; xor %eax, %eax; inc %eax; int $0x80; hlt\n"
	".globl start_child\n"
	"start_child: push %ebp; mov %esp, %ebp; push %ebx; push %esi; push %edi\n"
	/* CLONE_VM, CLONE_VFORK, SIGCHLD */
	"	mov 8(%ebp), %ecx; mov $0x4111, %ebx; mov $120, %eax; int $0x80\n"
	"	test %eax, %eax; jne 1f\n"
	"	mov $in_child, %eax; xor %ebp, %ebp; call *%eax\n"
	"	mov %eax, %ebx; xor %eax, %eax; inc %eax; int $0x80; hlt\n"
	"1:	pop %edi; pop %esi; pop %ebx; pop %ebp; ret\n");
