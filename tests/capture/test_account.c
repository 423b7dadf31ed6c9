/* test_account.c - what is said about samples that stand for too little of what the kernel counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/account.h"

enum { HZ = 1000, PERIOD_NS = 1000000000 / HZ };

/* The first note after a recording of one event in which the kernel counted so many periods (what
 * read(2) of a counter gives is in a file), for so many samples and threads. "": none. */
static void note_of(uint32_t config, uint64_t counted, uint64_t samples, uint64_t threads,
		    char *ret, size_t size)
{
	static struct session s;
	static struct drain d;
	struct capture_result result = {0};
	uint64_t value[3] = {counted * PERIOD_NS, 1, 0};
	int fd = memfd_create("counter", 0);

	assert_int_equal(write(fd, value, sizeof value), sizeof value);
	lseek(fd, 0, SEEK_SET);
	s = (struct session){.n_events = 1};
	strcpy(s.events[0].name, "cpu-clock");
	s.attrs[0] = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
					      .config = config,
					      .freq = 1,
					      .sample_freq = HZ,
					      .inherit = 1};
	assert_int_equal(vec_push(&s.sets[RING_SAMPLES].counters, (struct counter){.fd = fd}), 0);
	d = (struct drain){.session = &s,
			   .result = &result,
			   .first_event_samples = samples,
			   .first_event_periods = samples * PERIOD_NS,
			   .forks = threads - 1};
	assert_int_equal(account_losses(&d, NULL), 0);
	snprintf(ret, size, "%s", result.n_notes ? result.notes[0] : "");
	vec_done(&s.sets[RING_SAMPLES].counters);
	close(fd);
}

static void test_what_is_missing_is_explained(void **state)
{
	static const struct {
		uint32_t config;
		uint64_t counted, samples, threads;
		const char *said; /* NULL: nothing */
	} rows[] = {
		{PERF_COUNT_SW_CPU_CLOCK, 422, 300, 1, "71 % of all cpu-clock: it goes on"},
		{PERF_COUNT_SW_TASK_CLOCK, 422, 300, 4, "hypervisor"},
		{PERF_COUNT_SW_CPU_CLOCK, 422, 300, 200,
		 "71 % of all cpu-clock: short-lived threads"},
		{PERF_COUNT_SW_CPU_CLOCK, 422, 400, 1, NULL},
		{PERF_COUNT_SW_PAGE_FAULTS, 422, 300, 1, "short-lived threads"},
	};
	char said[256];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		note_of(rows[i].config, rows[i].counted, rows[i].samples, rows[i].threads, said,
			sizeof said);
		if (rows[i].said)
			assert_non_null(strstr(said, rows[i].said));
		else
			assert_string_equal(said, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_missing_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
