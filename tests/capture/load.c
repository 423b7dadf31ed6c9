/* load.c - what the capture tests record: load MODE SECONDS (of CPU time of each process) spins in
 * known functions, and other modes. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What a round of spin() takes at most, in seconds: some thousandths of that where nothing takes
 * the processor away. */
#define ROUND_MAX .005

static volatile uint64_t sink;
static volatile double until;
static _Thread_local double last;

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CPU time, so that a loaded machine leaves as many samples. */
static double now(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Most kernels count as CPU time how long a hypervisor has taken the processor away (half a second
 * was seen), of which there is one sample: that much is spun longer. */
static void make_up(void)
{
	double mine = seconds_of(CLOCK_THREAD_CPUTIME_ID);

	if (last > 0 && mine - last > ROUND_MAX)
		until += mine - last;
	last = mine;
}

__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
	for (int i = 0; i < 2000; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

__attribute__((noinline)) static uint64_t recurse(int n, uint64_t x)
{
	return n ? recurse(n - 1, x + 1) ^ (uint64_t)n : leaf(x);
}

__attribute__((noinline, noclone)) static void *spin(void *arg)
{
	(void)arg;
	/* The clock of both threads is a slow system call, and a part of the samples. */
	while (now() < until) {
		for (int i = 0; i < 16; i++)
			sink += recurse(10, sink);
		make_up();
	}
	return NULL;
}

__attribute__((noinline)) static void *early_thread(void *arg)
{
	spin(arg);
	return arg;
}

__attribute__((noinline)) static void *late_thread(void *arg)
{
	spin(arg);
	return arg;
}

/* A thread from the start; another one and a child when it is told so. Prints its id first. */
static int late(double seconds)
{
	pthread_t a, b;
	pid_t child;

	until = 1e9;
	pthread_create(&a, NULL, early_thread, &a);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
	until = now() + seconds;
	pthread_create(&b, NULL, late_thread, &b);
	child = fork();
	if (!child) {
		spin(NULL);
		_exit(0);
	}
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	waitpid(child, NULL, 0);
	return 0;
}

/* Touches n pages, one fault each. */
static int faults(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		p[i * 4096] = 1;
	return 0;
}

/* n children that exec this program, which does nothing then; some at a time. */
static int storm(int n, char *self)
{
	for (int i = 0, running = 0; i < n || running;) {
		if (i < n && running < 8) {
			if (!fork()) {
				execl(self, "load", "nothing", (char *)NULL);
				_exit(1);
			}
			i++;
			running++;
			continue;
		}
		if (wait(NULL) > 0)
			running--;
	}
	return 0;
}

static int run(const char *mode, double n, char *self)
{
	pthread_t other;

	until = now() + n;
	if (!strcmp(mode, "nothing"))
		return 0;
	if (!strcmp(mode, "late"))
		return late(n);
	if (!strcmp(mode, "faults"))
		return faults((size_t)n);
	if (!strcmp(mode, "storm"))
		return storm((int)n, self);
	if (!strcmp(mode, "two"))
		pthread_create(&other, NULL, early_thread, &other);
	spin(NULL);
	if (!strcmp(mode, "two"))
		pthread_join(other, NULL);
	return 0;
}

/* "away" before a mode: the recorder that has started this program is stopped meanwhile. */
int main(int argc, char **argv)
{
	bool away = argc > 1 && !strcmp(argv[1], "away");
	int rc, at = 1 + away;

	if (away)
		kill(getppid(), SIGSTOP);
	rc = run(argc > at ? argv[at] : "spin", argc > at + 1 ? atof(argv[at + 1]) : 1, argv[0]);
	if (away)
		kill(getppid(), SIGCONT);
	return rc;
}
