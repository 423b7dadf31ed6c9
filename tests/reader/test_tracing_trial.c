/* test_tracing_trial.c - descriptions of tracepoints that end the process which reads them, and no
 * process to read them.
 *
 * fork() and the library's parser are replaced here: what ends the parser differs between its
 * versions (tracing_seeds.py has what does in some), and these do it for certain. */
#include <errno.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "reader/traceevent.h"
#include "reader/tracing.h"
#include "tests/reader/build.h"

/* What children leave behind. */
static struct seen {
	char read[256]; /* the names of what they read; '|' before each child's */
	bool dumpable, inherited, killed;
} * seen;
static int forks_left; /* before one fails */

pid_t fork(void)
{
	pid_t (*real)(void);
	void *symbol = dlsym(RTLD_NEXT, "fork");

	if (forks_left-- == 0) {
		errno = EAGAIN;
		return -1;
	}
	strcat(seen->read, "|");
	memcpy(&real, &symbol, sizeof real);
	return real();
}

static struct tep_handle *alloc_nothing(void)
{
	return (struct tep_handle *)seen;
}

static enum tep_errno parse_letter(struct tep_handle *tep, const char *text, unsigned long n,
				   const char *system)
{
	(void)tep;
	(void)system;
	strncat(seen->read, text, n);
	seen->dumpable |= prctl(PR_GET_DUMPABLE) != 0;
	if (*text == 's')
		raise(SIGSEGV);
	else if (*text == 'a')
		abort();
	else if (*text == 'x')
		_exit(0);
	else if (*text == 'k' || (*text == 'o' && !seen->killed)) {
		seen->killed = true;
		raise(SIGKILL);
	}
	while (*text == 'l')
		;
	return 0;
}

/* Instead of the one that loads the library. */
const struct traceevent *traceevent_library(void)
{
	static const struct traceevent library = {.alloc = alloc_nothing,
						  .parse_event = parse_letter};

	return &library;
}

static void inherited_handler(int sig)
{
	seen->inherited = true;
	signal(sig, SIG_DFL);
}

/* Each name is a letter and a digit. */
static int try_all(const char *names, bool *good, int forks)
{
	struct tracing_format v[32] = {0};
	const size_t n = strlen(names) / 2;
	int rc;

	memset(seen, 0, sizeof *seen);
	forks_left = forks;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct tracing_format){.system = "demo", .text = names + 2 * i, .n = 2};
	rc = tracing_try(v, n);
	for (size_t i = 0; i < n; i++)
		good[i] = v[i].is_good;
	return rc;
}

/* Each child knows what the parser will know when it comes to the same place. */
static void deaths(void **state)
{
	static const bool want[] = {true, false, true, false, true, false};
	bool good[6];

	(void)state;
	signal(SIGSEGV, inherited_handler);
	assert_int_equal(try_all("g1s2g3a4g5x6", good, 99), 0);
	signal(SIGSEGV, SIG_DFL);
	assert_memory_equal(good, want, sizeof want);
	assert_string_equal(seen->read, "|g1s2|g1g3a4|g1g3g5x6");
	assert_false(seen->dumpable);
	assert_false(seen->inherited);
}

/* What was killed from outside is tried a second time. */
static void killed(void **state)
{
	static const bool want[] = {true, true, true, false, true};
	bool good[5];

	(void)state;
	assert_int_equal(try_all("g1o2g3k4g5", good, 99), 0);
	assert_memory_equal(good, want, sizeof want);
	assert_string_equal(seen->read, "|g1o2|g1o2g3k4|g1o2g3k4|g1o2g3g5");
}

/* After 16 the rest is not tried. */
static void too_many_deaths(void **state)
{
	bool good[20];

	(void)state;
	assert_int_equal(try_all("g0s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1s1g2g3", good, 99), 0);
	assert_true(good[0]);
	for (size_t i = 1; i < 19; i++)
		assert_false(good[i]);
}

static void endless(void **state)
{
	bool good[3];

	(void)state;
	assert_int_equal(try_all("g1l2g3", good, 99), 0);
	assert_true(good[0] && !good[1] && good[2]);
}

static void no_child(void **state)
{
	bool good[3];

	(void)state;
	assert_int_equal(try_all("g1g2g3", good, 0), EAGAIN);
	assert_false(good[0] || good[1] || good[2]);
	/* What an earlier one has read stays good. */
	assert_int_equal(try_all("g1s2g3", good, 1), EAGAIN);
	assert_true(good[0] && !good[1] && !good[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deaths),	   cmocka_unit_test(killed),
		cmocka_unit_test(too_many_deaths), cmocka_unit_test(endless),
		cmocka_unit_test(no_child),
	};

	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen == MAP_FAILED || cmocka_run_group_tests(tests, NULL, NULL);
}
