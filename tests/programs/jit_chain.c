/* jit_chain.c - functions made at run time that call each other in a row, without frame pointers
 * and tables, in frames of many sizes which hold addresses of this code and of the program's.
 *
 *   jit_chain FOR [moves] [exits]
 *
 * FOR: seconds of processor time. moves: again and again they are made anew, at the same addresses
 * but in another order, so with other frames. exits: their last instruction jumps to a common one
 * that restores registers, as tracing compilers do it.
 *
 * Writes a perf map: link_I of the i-th place, and of the first arrangement link_I calls link_I+1.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LINKS = 20, BYTES = 128, ROOM = 8192 };

typedef unsigned long link_fn(unsigned long x);

static uint8_t *code;
static volatile unsigned long sink;
static int exits;

__attribute__((noinline)) static unsigned long spin(unsigned long x)
{
	for (int i = 0; i < 3000; i++)
		sink += x * (unsigned long)i;
	return sink;
}

static uint8_t *bytes(uint8_t *to, const void *v, size_t n)
{
	memcpy(to, v, n);
	return to + n;
}

static uint8_t *u32(uint8_t *to, int32_t v)
{
	return bytes(to, &v, sizeof v);
}

static uint8_t *move_imm64(uint8_t *to, const void *v) /* mov $v, %rax */
{
	uint64_t n = (uint64_t)(uintptr_t)v;

	return bytes(bytes(to, "\x48\xb8", 2), &n, sizeof n);
}

/* The function at a place, which calls `next`; `kind` says which frame it has. */
static void make_link(uint8_t *at, const void *next, unsigned kind)
{
	const int pushes = (int)(kind % 4);
	const int room = 8 * (int)(kind % 3 * 6 + (pushes % 2 ? 2 : 1));
	uint8_t *p = at;

	p = bytes(p, "\x53\x55\x41\x54", pushes == 3 ? 4 : (size_t)pushes); /* rbx, rbp, r12 */
	p = u32(bytes(p, "\x48\x81\xec", 3), room);
	if (room > 16) { /* what a return address would look like */
		p = move_imm64(p, code + kind * 37 % (LINKS * BYTES));
		p = bytes(p, "\x48\x89\x44\x24\x08", 5); /* mov %rax, 8(%rsp) */
	}
	if (pushes > 1)
		p = bytes(p, "\x48\x89\xfd", 3);	 /* mov %rdi, %rbp: any number */
	p = bytes(p, "\x48\x85\xff\x75\x02\x0f\x0b", 7); /* test %rdi, %rdi; jne; ud2 */
	p = move_imm64(p, next);
	p = bytes(p, "\xff\xd0", 2); /* call *%rax */
	p = bytes(p, "\x48\xff\xc0", 3);
	p = u32(bytes(p, "\x48\x81\xc4", 3), room);
	if (pushes == 3)
		p = bytes(p, "\x41\x5c", 2);
	if (pushes >= 2)
		p = bytes(p, "\x5d", 1);
	if (pushes && exits)
		u32(bytes(p, "\xe9", 1), (int32_t)(code + LINKS * BYTES - (p + 5)));
	else
		bytes(p, "\x5b\xc3", pushes ? 2 : 0);
	if (!pushes)
		*p = 0xc3;
}

/* The i-th function of the chain is at place i * step. */
static unsigned step_of(unsigned turn)
{
	static const unsigned steps[] = {1, 3, 7, 9};

	return steps[turn % 4];
}

static void make_all(unsigned turn)
{
	const unsigned step = step_of(turn);

	memset(code, 0xcc, LINKS * BYTES);
	for (unsigned i = 0; i < LINKS; i++)
		make_link(code + i * step % LINKS * BYTES,
			  i + 1 < LINKS ? (const void *)(code + (i + 1) * step % LINKS * BYTES)
					: (const void *)(uintptr_t)&spin,
			  i * 5 + turn);
	memcpy(code + LINKS * BYTES, "\x5b\xc3", 2); /* pop %rbx; ret */
}

static void write_map(void)
{
	char path[64];
	FILE *map;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	for (int i = 0; map && i < LINKS; i++)
		fprintf(map, "%lx %x link_%d\n", (unsigned long)(code + i * BYTES), BYTES, i);
	if (map)
		fclose(map);
}

int main(int argc, char **argv)
{
	clock_t end, next;
	int moves = argc > 2 && strstr(argv[2], "moves");
	unsigned turn = 0;

	exits = argc > 2 && strstr(argv[2], "exits");
	code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (argc < 2 || code == MAP_FAILED)
		return 2;
	write_map();
	make_all(turn);
	next = clock() + CLOCKS_PER_SEC / 20;
	end = clock() + (clock_t)(atof(argv[1]) * CLOCKS_PER_SEC);
	while (clock() < end) {
		if (moves && clock() > next) {
			make_all(++turn);
			next = clock() + CLOCKS_PER_SEC / 20;
		}
		sink += ((link_fn *)(void *)code)(sink | 1);
	}
	return 0;
}
