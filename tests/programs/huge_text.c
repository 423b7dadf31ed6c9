/* huge_text.c - code that its program has moved to anonymous memory at the same addresses, as
 * programs do that want it on huge pages. Alone it is a program, with -DLIBRARY the part that is
 * moved.
 *
 *   huge_text none|rwx|rw [library.so] : how the new memory is made, and of what
 *   huge_text reuse library.so         : the library is unloaded, and other code put where it was
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HOT __attribute__((noipa, section("hot")))

#ifdef LIBRARY
#define ALIGN 0x200000
#else
#define ALIGN 4096
#endif

__attribute__((aligned(ALIGN))) HOT double leaf(int n)
{
	double x = 1;
	int i;

	for (i = 0; i < n; i++)
		x = x * 1.0000001 + i % 7;
	return x;
}

HOT double middle(int n)
{
	return leaf(n) + 1;
}

HOT double outer(int n)
{
	return middle(n) + 2;
}

/* Built with -fno-toplevel-reorder: this is behind the functions. */
#define TEXT(x) #x
#define ASM(to)                                         \
	".section hot,\"ax\",@progbits\n.balign " TEXT( \
		to) "\n.globl hot_end\nhot_end: .skip 64\n.text\n"
__asm__(ASM(ALIGN));

#ifndef LIBRARY
static void move(char *start, char *end, int writable)
{
	size_t n = (size_t)(end - start);
	char *copy = malloc(n);

	memcpy(copy, start, n);
	if (mmap(start, n, writable, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
		exit(3);
	memcpy(start, copy, n);
	mprotect(start, n, PROT_READ | PROT_EXEC);
	free(copy);
}

/* Loops for 0.3 s of CPU time. */
static void work(double (*f)(int))
{
	clock_t end = clock() + CLOCKS_PER_SEC * 3 / 10;
	volatile double sum = 0;

	while (clock() < end)
		sum += f(20000);
}

/* Puts a copy of this program's leaf() where the library's code was. */
static void reuse(void *library)
{
	char *at = dlsym(library, "leaf"), *leaf_end = (char *)middle;
	size_t n = (size_t)(leaf_end - (char *)leaf);
	char *end = dlsym(library, "hot_end");

	if (dlclose(library) ||
	    mmap(at + 4096, (size_t)(end - at) - 4096, 7,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at + 4096)
		exit(4);
	memcpy(at + 4096, leaf, n);
	work((double (*)(int))(at + 4096));
}

extern char hot_end[];

int main(int argc, char **argv)
{
	const char *how = argv[1];
	void *lib = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
	char *start = lib ? dlsym(lib, "leaf") : (char *)leaf;
	char *end = lib ? dlsym(lib, "hot_end") : hot_end;

	if (argc > 2 && !lib)
		return 2;
	if (!strcmp(how, "reuse")) {
		reuse(lib);
		return 0;
	}
	if (strcmp(how, "none"))
		move(start, end, !strcmp(how, "rwx") ? 7 : PROT_READ | PROT_WRITE);
	work(lib ? (double (*)(int))dlsym(lib, "outer") : outer);
	return 0;
}
#endif
