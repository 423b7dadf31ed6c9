/* workload.c - a program to record: forks, execs itself, threads with names, a changing own name,
 * code in anonymous memory, and about 0.15 s of CPU time. Not part of the build: tests compile it.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((noinline)) static void busy(long ms)
{
	long end = used_ms() + ms;

	while (used_ms() < end)
		for (int i = 0; i < 20000; i++)
			sink += i * 0.5;
}

static void *thread(void *name)
{
	pthread_setname_np(pthread_self(), name);
	busy(25);
	return NULL;
}

/* mov ecx, 50000; loop: dec ecx; jnz loop; ret */
static void jit(long ms)
{
	static const unsigned char code[] = {0xb9, 0x50, 0xc3, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
	long end = used_ms() + ms;
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	memcpy(p, code, sizeof code);
	while (used_ms() < end)
		((void (*)(void))p)();
	munmap(p, 8192);
}

int main(int argc, char *argv[])
{
	pthread_t t[2];

	if (argc > 1 && argv[1]) {
		busy(25);
		return 0;
	}
	pthread_create(&t[0], NULL, thread, "first worker");
	pthread_create(&t[1], NULL, thread, "second");
	busy(25);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	for (int i = 0; i < 2; i++) {
		if (fork())
			continue;
		prctl(PR_SET_NAME, i ? "child" : "about to exec");
		busy(20);
		if (!i)
			execl("/proc/self/exe", "again", "x", (char *)NULL);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
#ifdef __x86_64__
	jit(25);
#endif
	return 0;
}
