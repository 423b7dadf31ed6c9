/* Calls a function all of whose code has the row of its frame as it is in the middle, as LuaJIT's
 * interpreter has: lone_row CPU-SECONDS. main() calls outer(), that calls inner(), that calls
 * lone(), which does little else than to make and leave its frame. */
#include <stdlib.h>
#include <time.h>

void lone(void);
__asm__(".text\n"
	".globl lone\n"
	".type lone, @function\n"
	"lone:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 80\n"
	"	.cfi_offset rbp, -16\n"
	"	.cfi_offset rbx, -24\n"
	"	.cfi_offset r15, -32\n"
	"	.cfi_offset r14, -40\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r15\n"
	"	push %r14\n"
	"	sub $0x28, %rsp\n"
	"	xor %eax, %eax\n"
	"	xor %ebx, %ebx\n"
	"	xor %ebp, %ebp\n"
	"	add $0x28, %rsp\n"
	"	pop %r14\n"
	"	pop %r15\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size lone, . - lone\n");

__attribute__((noipa)) static void inner(int n)
{
	while (n--)
		lone();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noipa)) static void outer(int n)
{
	inner(n);
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);

	while (clock() < end)
		outer(100000);
	return 0;
}
