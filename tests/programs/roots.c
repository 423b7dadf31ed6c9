/* roots.c - stacks with different roots: the main thread's, a thread's, a vfork child's, and that
 * of a child which clone() starts in a function. Usage: roots SECONDS (of CPU time of each). */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;
static double seconds;

static __attribute__((noinline)) void spin(void)
{
	unsigned i;

	for (i = 0; i < 2000000; i++)
		sink += i;
}

static __attribute__((noinline)) void spin_for_a_while(void)
{
	struct timespec t;
	double end = 0;

	for (;;) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		if (!end)
			end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
		if ((double)t.tv_sec + (double)t.tv_nsec / 1e9 > end)
			return;
		spin();
	}
}

static __attribute__((noinline)) void *in_thread(void *unused)
{
	(void)unused;
	spin_for_a_while();
	sink++;
	return NULL;
}

static __attribute__((noinline)) void in_vfork_child(void)
{
	spin_for_a_while();
	sink++;
}

static __attribute__((noinline)) int in_clone_child(void *unused)
{
	(void)unused;
	spin_for_a_while();
	sink++;
	return 0;
}

int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t thread;
	pid_t child;

	seconds = argc > 1 ? atof(argv[1]) : 0.2;
	spin_for_a_while();
	if (pthread_create(&thread, NULL, in_thread, NULL))
		return 1;
	pthread_join(thread, NULL);
	child = vfork();
	if (!child) {
		in_vfork_child();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		return 1;
	child = clone(in_clone_child, stack + sizeof stack, SIGCHLD, NULL);
	return child < 0 || waitpid(child, NULL, 0) != child;
}
