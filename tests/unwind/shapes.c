/* shapes.c - one pass through every shape of frame that unwinding knows, the same on every run:
 * what test_aarch64.py and test_i386.py step through. Usage: shapes [MAPS], where its own
 * /proc/self/maps goes once everything is loaded. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;
static volatile char *page;
static jmp_buf back;

/* Neither stack nor saved registers. */
NOINLINE unsigned long leaf(unsigned long a, unsigned long b)
{
	unsigned i;

	for (i = 0; i < 6; i++)
		a = a * 31 + (b ^ i);
	return a;
}

NOINLINE void chain_leaf(unsigned n)
{
	sink += leaf(n, sink);
	sink++;
}

NOINLINE void chain_middle(unsigned n)
{
	chain_leaf(n + 1);
	sink++;
}

NOINLINE void chain_top(unsigned n)
{
	chain_middle(n + 1);
	sink++;
}

/* Enough live values over calls to save all callee-saved registers. */
NOINLINE unsigned long many_registers(unsigned long a, unsigned long b, unsigned long c,
				      unsigned long d)
{
	unsigned long e = leaf(a, b), f = leaf(b, c), g = leaf(c, d), h = leaf(d, a), i, j;

	i = leaf(e, f) + leaf(g, h);
	j = leaf(h, e) - leaf(f, g);
	chain_top((unsigned)i);
	return leaf(a + e, i) + leaf(b + f, j) + leaf(c + g, i) + leaf(d + h, j) + e * f + g * h;
}

/* More than one instruction can take from the stack pointer. */
NOINLINE void large_frame(unsigned n)
{
	volatile char room[6000];

	room[n] = 1;
	chain_leaf(n);
	sink += (unsigned long)room[n];
}

NOINLINE void dynamic_frame(unsigned n)
{
	char *room = alloca(n % 100 + 16);

	memset(room, (int)n, n % 100 + 1);
	chain_leaf(n);
	sink += (unsigned long)room[0];
}

NOINLINE void aligned_frame(unsigned n)
{
	volatile _Alignas(128) char room[256];

	room[n] = 2;
	chain_leaf(n);
	sink += (unsigned long)room[n];
}

NOINLINE unsigned long recurse(unsigned depth)
{
	volatile char room[40];

	room[depth] = (char)depth;
	if (!depth)
		return leaf(sink, 3);
	return recurse(depth - 1) + (unsigned long)room[depth];
}

NOINLINE unsigned long tail_target(unsigned long n)
{
	return leaf(n, 5) + leaf(n, 7);
}

NOINLINE unsigned long tail_caller(unsigned long n)
{
	sink += leaf(n, 9);
	return tail_target(n + 1);
}

static NOINLINE int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE void through_libc(void)
{
	int v[24];
	char text[100];
	unsigned i;

	for (i = 0; i < 24; i++)
		v[i] = (int)(i * 7919 % 24);
	qsort(v, 24, sizeof *v, compare);
	snprintf(text, sizeof text, "%d %s %#lx", v[3], "word", sink);
	sink += strlen(text) + (unsigned long)strtol(text, NULL, 10);
	free(realloc(malloc(sink % 3000), 5000));
}

NOINLINE void jump_target(unsigned n)
{
	chain_leaf(n);
	longjmp(back, (int)n + 1);
}

NOINLINE void jumps(void)
{
	if (!setjmp(back))
		jump_target(3);
	sink++;
}

NOINLINE void handler_work(int sig)
{
	chain_leaf((unsigned)sig);
	sink++;
}

static NOINLINE void on_signal(int sig)
{
	handler_work(sig);
	sink++;
}

/* Opens the page that the interrupted function was not allowed to read. */
static NOINLINE void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	handler_work(sig);
	if (mprotect(info->si_addr, 1, PROT_READ | PROT_WRITE))
		_exit(1);
	sink++;
}

/* Interrupted at its first instruction or so, and a leaf. */
NOINLINE int faulting_leaf(volatile char *p)
{
	return *p + 1;
}

NOINLINE void faults(void)
{
	sink += (unsigned long)faulting_leaf(page);
	sink++;
}

NOINLINE void signals(void)
{
	raise(SIGUSR1);
	sink++;
	faults();
}

NOINLINE void everything(void)
{
	sink += many_registers(1, 2, 3, 4);
	large_frame(17);
	dynamic_frame((unsigned)sink);
	aligned_frame(9);
	sink += recurse(12);
	sink += tail_caller(11);
	through_libc();
	jumps();
	signals();
	sink++;
}

static int copy_maps(const char *to)
{
	FILE *in = fopen("/proc/self/maps", "r"), *out = fopen(to, "w");
	int c;

	if (!in || !out)
		return 1;
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	return fclose(out);
}

int main(int argc, char **argv)
{
	struct sigaction on_usr1 = {.sa_handler = on_signal};
	struct sigaction on_segv = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGUSR1, &on_usr1, NULL);
	sigaction(SIGSEGV, &on_segv, NULL);
	if (argc > 1 && copy_maps(argv[1]))
		return 1;
	everything();
	return 0;
}
