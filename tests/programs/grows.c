/* grows.c - gains memory by system calls, a known number of bytes in each function; prints them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

static volatile uintptr_t sink;
static void *maps(size_t n, int prot, int flags, int fd)
{
	void *p = mmap(NULL, n, prot, flags, fd, 0);

	sink += (uintptr_t)p;
	return p;
}

__attribute__((noinline)) static long of_mmap(void)
{
	for (int i = 1; i <= 50; i++)
		maps(i * 4096, PROT_READ | PROT_WRITE, ANON, -1);
	return 50 * 51 / 2 * 4096;
}

/* What is given back was gained, too. */
__attribute__((noinline)) static long of_pairs(void)
{
	for (int i = 0; i < 100; i++)
		munmap(maps(1 << 20, PROT_READ | PROT_WRITE, ANON, -1), 1 << 20);
	return 100l << 20;
}

__attribute__((noinline)) static long of_mremap(void)
{
	char *p = maps(8192, PROT_READ | PROT_WRITE, ANON, -1);

	p = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	p = mremap(p, 1 << 20, 4096, MREMAP_MAYMOVE);
	sink += (uintptr_t)p;
	return 1 << 20;
}

__attribute__((noinline)) static long of_brk(void)
{
	sbrk(0x30000);
	sbrk(-0x10000);
	sbrk(0x50000);
	return 0x80000;
}

/* Reserved, refused, of a file: none of it. */
__attribute__((noinline)) static long of_nothing(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY);

	maps(1 << 30, PROT_NONE, ANON, -1);
	maps(SIZE_MAX / 2, PROT_READ | PROT_WRITE, ANON, -1);
	maps(4096, PROT_READ, MAP_PRIVATE, fd);
	close(fd);
	return 0;
}

/* Its memory ends where that of its parent does. */
__attribute__((noinline)) static long of_child(void)
{
	const pid_t pid = fork();

	if (!pid) {
		sbrk(0x70000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	return 0x70000;
}

int main(int argc, char **argv)
{
	char text[512];
	int n = 0;

	(void)argv;
	if (argc > 1) { /* no stdio: its buffer would be in the sums of main */
		char c;

		sbrk(4096);
		if (write(1, "ready\n", 6) != 6 || read(0, &c, 1) != 1)
			return 1;
	}
	sbrk(4096);
#define DO(f) n += snprintf(text + n, sizeof text - n, #f " %ld\n", f())
	DO(of_mmap);
	DO(of_pairs);
	DO(of_mremap);
	DO(of_brk);
	DO(of_nothing);
	DO(of_child);
	return write(1, text, n) != n;
}
