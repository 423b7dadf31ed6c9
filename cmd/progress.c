/* progress.c - a thread that writes the line four times a second. */
#include "cmd/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cmd/clean.h"

#define CLEAR "\r\033[K"

enum { EVERY_MS = 250, AFTER_TICKS = 4 };

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	const char *what, *whose, *units;
	const uint64_t *count;
	unsigned ticks; /* over all that was begun */
	bool running, ending, off;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void show(void)
{
	unsigned seconds = progress.ticks * EVERY_MS / 1000;

	clean_bypass(CLEAR);
	fprintf(stderr, "%s: %s %.60s: ", program_invocation_short_name, progress.what,
		progress.whose);
	if (progress.count)
		fprintf(stderr, "%" PRIu64 " %s, ",
			__atomic_load_n(progress.count, __ATOMIC_RELAXED), progress.units);
	fprintf(stderr, "%u s", seconds);
	fflush(stderr);
}

static void *run(void *unused)
{
	bool shown = false;
	struct timespec until;

	pthread_mutex_lock(&progress.lock);
	while (!progress.ending) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += EVERY_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&progress.wake, &progress.lock, &until);
		if (progress.ending || progress.ticks++ < AFTER_TICKS)
			continue;
		show();
		shown = true;
	}
	if (shown)
		clean_bypass(CLEAR);
	pthread_mutex_unlock(&progress.lock);
	return unused;
}

void progress_begin(const char *what, const char *whose, const uint64_t *count, const char *units)
{
	sigset_t all, before;

	if (progress.off || progress.running || !isatty(STDERR_FILENO))
		return;
	progress.what = what;
	progress.whose = whose;
	progress.count = count;
	progress.units = units;
	progress.ending = false;
	/* Signals are for the thread that does the work. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	progress.running = !pthread_create(&progress.thread, NULL, run, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_end(void)
{
	if (!progress.running)
		return;
	pthread_mutex_lock(&progress.lock);
	progress.ending = true;
	pthread_cond_signal(&progress.wake);
	pthread_mutex_unlock(&progress.lock);
	pthread_join(progress.thread, NULL);
	progress.running = false;
}

void progress_off(void)
{
	progress.off = true;
}
