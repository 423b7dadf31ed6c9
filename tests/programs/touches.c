/* touches.c - writes to pages that it knows, each once, and says where they are: "NAME ADDRESS
 * PAGES" a line. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64 };

static char in_bss[PAGES * PAGE] __attribute__((aligned(PAGE)));

__attribute__((noinline)) static void touch(volatile char *p)
{
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
}

__attribute__((noinline)) static void touch_heap(const char *name)
{
	char *p = (char *)(((size_t)sbrk((PAGES + 1) * PAGE) + PAGE - 1) / PAGE * PAGE);

	printf("%s %p %d\n", name, (void *)p, PAGES);
	touch(p);
}

__attribute__((noinline)) static void touch_anon(const char *name)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	printf("%s %p %d\n", name, (void *)p, PAGES);
	touch(p);
}

__attribute__((noinline)) static void touch_file(const char *name, const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char *p;

	if (fd < 0 || ftruncate(fd, PAGES * PAGE))
		exit(1);
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	printf("%s %p %d\n", name, (void *)p, PAGES);
	touch(p);
}

/* Below what is mapped of it so far, rising, as they are asked for last. */
__attribute__((noinline)) static void touch_stack(const char *name)
{
	volatile char room[(PAGES + 64) * PAGE];
	char *p = (char *)(((size_t)room + PAGE - 1) / PAGE * PAGE);

	printf("%s %p %d\n", name, (void *)p, PAGES);
	touch(p);
}

static void *thread(void *arg)
{
	touch_stack(arg);
	return NULL;
}

int main(int argc, char **argv)
{
	static char out[1 << 16];
	pthread_t t;

	if (argc < 2)
		return 1;
	setvbuf(stdout, out, _IOFBF, sizeof out);
	touch_heap("heap");
	touch_anon("anon");
	touch_file("file", argv[1]);
	touch_stack("stack");
	printf("bss %p %d\n", (void *)in_bss, PAGES);
	touch(in_bss);
	if (pthread_create(&t, NULL, thread, (char[]){"thread"}))
		return 1;
	pthread_join(t, NULL);
	return 0;
}
