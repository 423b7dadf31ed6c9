/* signals.c - handlers on the interrupted stack, and on one of their own, for test_truth.py; and
 * contexts and fibers that each have a stack.
 *
 * signals KIND SECONDS; KIND: same, alt, context, fiber */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#define SHADOW_HOOKS
#include "shadow.h"

enum { STACK_BYTES = 65536 };

volatile unsigned long sink;

#define OWN __attribute__((noinline, no_instrument_function))

OWN unsigned long f0(unsigned long x)
{
	ENTER(f0);
	for (int i = 0; i < 3000; i++)
		sink += x * (unsigned long)i;
	LEAVE();
	return sink;
}

OWN unsigned long f1(unsigned long x, int depth)
{
	volatile char room[100];
	unsigned long r;

	ENTER(f1);
	room[x % sizeof room] = 1;
	r = depth > 0 ? f1(x + 1, depth - 1) : f0(x);
	LEAVE();
	return r + (unsigned long)room[0];
}

OWN unsigned long f2(unsigned long x)
{
	char text[64];

	ENTER(f2);
	snprintf(text, sizeof text, "%lu %g", x, (double)x);
	sink += strlen(text) + f1(x, (int)(x % 5));
	LEAVE();
	return sink;
}

/* A stack with a block behind its end, so that it is in the copy. */
static char *stack_new(struct shadow **block)
{
	char *p = mmap(NULL, STACK_BYTES + sizeof **block + 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	*block = (struct shadow *)(p + STACK_BYTES);
	(*block)->magic[0] = SHADOW_MAGIC_0;
	(*block)->magic[1] = SHADOW_MAGIC_1;
	return p;
}

/* ---- signals ---- */

static struct shadow *handlers_own;

OWN void f3(int sig)
{
	struct shadow *old = shadow;
	/* what it has interrupted may be writing there */
	__typeof__(old->path[0]) own = old->path[old->n];

	if (handlers_own)
		shadow = handlers_own;
	ENTER(f3);
	sink += (unsigned long)sig + f1(sink, 2);
	for (int i = 0; i < 20; i++)
		sink += f0(sink);
	LEAVE();
	shadow = old;
	SHADOW_BARRIER();
	old->path[old->n] = own;
}

OWN static void signals_begin(int alt)
{
	struct sigaction sa = {.sa_handler = f3, .sa_flags = SA_RESTART | (alt ? SA_ONSTACK : 0)};
	struct itimerval t = {{0, 1000}, {0, 1000}};

	if (alt) {
		stack_t ss = {.ss_sp = stack_new(&handlers_own), .ss_size = STACK_BYTES};

		sigaltstack(&ss, NULL);
	}
	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &t, NULL);
}

/* ---- contexts ---- */

static ucontext_t main_context, own_context;
static struct shadow *context_block;

OWN void f4(void)
{
	ENTER(f4);
	for (;;) {
		sink += f2(sink);
		shadow_push(shadow, SHADOW_BETWEEN, 0);
		swapcontext(&own_context, &main_context);
		shadow_pop(shadow);
	}
}

OWN static void context_begin(void)
{
	getcontext(&own_context);
	own_context.uc_stack.ss_sp = stack_new(&context_block);
	own_context.uc_stack.ss_size = STACK_BYTES;
	own_context.uc_link = &main_context;
	makecontext(&own_context, f4, 0);
}

OWN static void context_run(struct shadow *block)
{
	shadow_push(block, SHADOW_BETWEEN, 0);
	shadow = context_block;
	swapcontext(&main_context, &own_context);
	shadow = block;
	shadow_pop(block);
}

/* ---- fibers, with what Boost's assembly does (make_x86_64_sysv_elf_gas.S) ---- */

struct transfer {
	void *from, *data;
};
extern void *make_fcontext(void *top, size_t size, void (*f)(struct transfer));
extern struct transfer jump_fcontext(void *to, void *data);
__asm__(".text\n.globl make_fcontext, jump_fcontext\n.type make_fcontext,@function\n.type "
	"jump_fcontext,@function\n"
	"make_fcontext: mov %rdi,%rax\nand $-16,%rax\nlea -0x40(%rax),%rax\nmov "
	"%rdx,0x28(%rax)\nstmxcsr (%rax)\nfnstcw 4(%rax)\n"
	"lea 1f(%rip),%rcx\nmov %rcx,0x38(%rax)\nlea 2f(%rip),%rcx\nmov %rcx,0x30(%rax)\nret\n"
	"1: push %rbp\njmp *%rbx\n2: xor %rdi,%rdi\ncall _exit@PLT\nhlt\n.size "
	"make_fcontext,.-make_fcontext\n"
	"jump_fcontext: lea -0x38(%rsp),%rsp\nstmxcsr (%rsp)\nfnstcw 4(%rsp)\nmov "
	"%r12,8(%rsp)\nmov %r13,0x10(%rsp)\nmov %r14,0x18(%rsp)\n"
	"mov %r15,0x20(%rsp)\nmov %rbx,0x28(%rsp)\nmov %rbp,0x30(%rsp)\nmov %rsp,%rax\nmov "
	"%rdi,%rsp\nmov 0x38(%rsp),%r8\n"
	"ldmxcsr (%rsp)\nfldcw 4(%rsp)\nmov 8(%rsp),%r12\nmov 0x10(%rsp),%r13\nmov "
	"0x18(%rsp),%r14\nmov 0x20(%rsp),%r15\n"
	"mov 0x28(%rsp),%rbx\nmov 0x30(%rsp),%rbp\nlea 0x40(%rsp),%rsp\nmov %rsi,%rdx\nmov "
	"%rax,%rdi\njmp *%r8\n"
	".size jump_fcontext,.-jump_fcontext");
static void *fiber;

OWN void f5(struct transfer t)
{
	ENTER(f5);
	for (;;) {
		sink += f2(sink);
		shadow_push(shadow, SHADOW_BETWEEN, 0);
		t = jump_fcontext(t.from, NULL);
		shadow_pop(shadow);
	}
}

OWN static void fiber_run(struct shadow *block)
{
	if (!fiber)
		fiber = make_fcontext(stack_new(&context_block) + STACK_BYTES, STACK_BYTES, f5);
	shadow_push(block, SHADOW_BETWEEN, 0);
	shadow = context_block;
	fiber = jump_fcontext(fiber, NULL).from;
	shadow = block;
	shadow_pop(block);
}

OWN int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "same";
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	struct shadow block;
	struct timespec t;

	shadow_begin(&block);
	if (!strcmp(kind, "same") || !strcmp(kind, "alt"))
		signals_begin(!strcmp(kind, "alt"));
	if (!strcmp(kind, "context"))
		context_begin();
	do {
		if (!strcmp(kind, "context"))
			context_run(&block);
		else if (!strcmp(kind, "fiber"))
			fiber_run(&block);
		else
			sink += f2(sink);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	_exit(0);
}
