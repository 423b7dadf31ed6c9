/* tracing_trial.c - which descriptions of tracepoints the library survives.
 *
 * libtraceevent's parser ends the process at some that are damaged or made to do so: an unknown
 * field in __print_flags() (1.7.1: a null pointer), `{0xT, "ONE"}` (memory freed twice). So a child
 * parses them first, and stores in shared memory how far it has come. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/traceevent.h"
#include "reader/tracing.h"

enum { DEATHS_MAX = 16, CPU_SECONDS_MAX = 1, SECONDS_MAX = 10 };

static void end(int sig)
{
	(void)sig;
	_exit(1);
}

/* Nothing of what happens to the child is seen: no message, no core, no line in the kernel's log,
 * nothing that handlers of this process would do. And it ends. */
static void be_quiet(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGALRM};
	const struct sigaction action = {.sa_handler = end};
	const struct rlimit cpu = {CPU_SECONDS_MAX, CPU_SECONDS_MAX + 1};
	const int null = open("/dev/null", O_WRONLY);
	sigset_t none;

	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaction(signals[i], &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CPU, &cpu);
	alarm(SECONDS_MAX);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
}

/* Runs in the child. Parses the good formats before `at` first, so that the library is in the same
 * state as it will be in this process when it comes to the next. */
static void read_on(const struct tracing_format *v, size_t at, size_t n, volatile size_t *done)
{
	const struct traceevent *lib = traceevent_library();
	struct tep_handle *tep;

	be_quiet();
	tep = lib ? lib->alloc() : NULL;
	for (size_t i = 0; tep && i < n; i++) {
		if (i < at && !v[i].is_good)
			continue;
		lib->parse_event(tep, v[i].text, v[i].n, v[i].system);
		if (i >= at)
			*done = i + 1;
	}
	_exit(0);
}

/* *was_killed: by a signal from outside, as of what kills where memory is short. */
static int run_child(const struct tracing_format *v, size_t at, size_t n, volatile size_t *done,
		     bool *was_killed)
{
	const pid_t child = fork();
	int status = 0;

	if (child < 0)
		return errno;
	if (!child)
		read_on(v, at, n, done);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	*was_killed = WIFSIGNALED(status);
	return 0;
}

int tracing_try(struct tracing_format *v, size_t n)
{
	volatile size_t *done =
		mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	size_t at = 0, again = n;
	bool was_killed = false;
	int rc = 0;

	if (done == MAP_FAILED)
		return errno;
	for (int deaths = 0; at < n && deaths < DEATHS_MAX; deaths++) {
		*done = at;
		rc = run_child(v, at, n, done, &was_killed);
		if (rc)
			break;
		for (; at < n && at < *done; at++)
			v[at].is_good = true;
		/* It died of that one; if it did not end itself, that is to be shown again. */
		if (was_killed && at != again)
			again = at;
		else
			at++;
	}
	munmap((void *)(uintptr_t)done, sizeof *done);
	return rc;
}
