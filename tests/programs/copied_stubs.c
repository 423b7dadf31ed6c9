/* copied_stubs.c - calls through copies of a stub in anonymous memory, as CPython 3.12 (packed) and
 * 3.13 (aligned to 16 bytes) make them for `-X perf`, with a perf map.
 *
 *   copied_stubs BYTES   of a copy
 *
 * -DCET: the template begins with endbr64. -DOTHER: the copies are of another stub than the one
 * that stands in the file, with a larger frame. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { ARENA = 16 * 4096, COPIES = 6000, DEPTH = 30 };

typedef double evaluate(int depth, int n, void *unused, void *evaluator);

extern char template_start[], template_end[], other_start[], other_end[];
__asm__(".text\n.globl template_start, template_end\n"
	"template_start:\n"
#ifdef CET
	"endbr64\n"
#endif
	"sub $8, %rsp\ncall *%rcx\nadd $8, %rsp\nret\n"
	"template_end:\n"
	".globl other_start, other_end\n"
	"other_start: sub $24, %rsp\ncall *%rcx\nadd $24, %rsp\nret\nother_end:\n");

static char *stubs[COPIES];
static volatile double sum;

__attribute__((noinline)) static double leaf(int n)
{
	double x = 1;
	int i;

	for (i = 0; i < n; i++)
		x = x * 1.0000001 + i % 7;
	return x;
}

/* The stub of level d is the one 200 * d after the first. */
__attribute__((noinline)) static double level(int depth, int n, void *unused, void *evaluator)
{
	double x;

	(void)unused;
	if (depth == DEPTH)
		return leaf(n);
	x = ((evaluate *)(void *)stubs[200 * (depth + 1) % COPIES])(depth + 1, n, NULL, evaluator);
	return x + 1;
}

static void make_stubs(size_t bytes)
{
#ifdef OTHER
	const char *from = other_start;
	size_t size = (size_t)(other_end - other_start), i, at = ARENA;
#else
	const char *from = template_start;
	size_t size = (size_t)(template_end - template_start), i, at = ARENA;
#endif
	char path[64], *arena = NULL;
	FILE *map;

	snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	for (i = 0; map && i < COPIES; i++, at += bytes) {
		if (at + bytes > ARENA) {
			if (arena)
				mprotect(arena, ARENA, PROT_READ | PROT_EXEC);
			arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (arena == MAP_FAILED)
				exit(3);
			at = 0;
		}
		stubs[i] = memcpy(arena + at, from, size);
		fprintf(map, "%lx %zx stub_%zu\n", (unsigned long)stubs[i], size, i / 200);
	}
	mprotect(arena, ARENA, PROT_READ | PROT_EXEC);
	if (map)
		fclose(map);
}

int main(int argc, char **argv)
{
	clock_t end;

	make_stubs(argc > 1 ? (size_t)atoi(argv[1]) : 11);
	end = clock() + CLOCKS_PER_SEC / 3;
	while (clock() < end)
		sum += level(0, 5000, NULL, (void *)level);
	return 0;
}
