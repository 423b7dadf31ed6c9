/* signals.c - work inside a signal handler that interrupts both own code and libc.
 * Usage: signals SECONDS (of CPU time). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sink;
static volatile sig_atomic_t handled;

static __attribute__((noinline)) void handler_spin(void)
{
	unsigned i;

	for (i = 0; i < 300000; i++)
		sink += i;
}

static __attribute__((noinline)) void on_alarm(int sig)
{
	(void)sig;
	handler_spin();
	handled++;
}

static __attribute__((noinline)) void interrupted_loop(void)
{
	unsigned i;

	for (i = 0; i < 100000; i++)
		sink += i * 3;
}

static __attribute__((noinline)) void interrupted_libc(void)
{
	static char a[1 << 16], b[1 << 16];
	unsigned i;

	for (i = 0; i < 60; i++) {
		memcpy(a, b, sizeof a);
		snprintf(a, sizeof a, "%lu %f", sink, (double)i);
	}
}

int main(int argc, char **argv)
{
	clock_t end = clock() + (clock_t)((argc > 1 ? atof(argv[1]) : 1) * CLOCKS_PER_SEC);
	/* No multiple of usual sampling periods, which would meet the handlers always or never. */
	struct itimerval every = {{0, 1700}, {0, 1700}};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (clock() < end) {
		interrupted_loop();
		interrupted_libc();
	}
	return handled ? 0 : 1;
}
