/* test_parse.c - CPU lists and event names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <linux/perf_event.h>

#include "capture/event.h"
#include "capture/pmu_event.h"
#include "capture/targets.h"

static void cpu_lists(void **state)
{
	static const struct {
		const char *text;
		int n, cpus[8];
	} good[] = {
		{"0", 1, {0}},
		{"0-3", 4, {0, 1, 2, 3}},
		{"7,2-3,0", 4, {0, 2, 3, 7}},
		{"1,1,0-2,2", 3, {0, 1, 2}},
		{"65535", 1, {65535}},
		{"5-5", 1, {5}},
	};
	static const char *const bad[] = {
		"",
		",",
		"0,",
		",0",
		"0,,1",
		"-1",
		"1-",
		"3-2",
		"a",
		"0x1",
		"0 ",
		" 0",
		"1-2-3",
		"65536",
		"99999999999999999999",
		"0-65535,0-65535",
		"+1",
		"1.5",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct cpu_list l = {0};

		assert_int_equal(cpu_list_parse(&l, good[i].text, "-C", NULL), 0);
		assert_int_equal(l.cpus.n, good[i].n);
		assert_memory_equal(l.cpus.v, good[i].cpus, l.cpus.n * sizeof(int));
		cpu_list_done(&l);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct cpu_list l = {0};
		struct err err;

		assert_int_equal(cpu_list_parse(&l, bad[i], "-C", &err), -ERR_USAGE);
		assert_non_null(strstr(err.what, "-C"));
		assert_null(l.cpus.v);
	}
}

static void online_cpus(void **state)
{
	struct cpu_list l = {0};

	(void)state;
	assert_int_equal(cpu_list_online(&l, NULL), 0);
	assert_true(l.cpus.n > 0);
	cpu_list_done(&l);
}

static void lines_of_stat(void **state)
{
	int cpu = -1;

	(void)state;
	assert_false(cpu_of_stat_line("cpu  25334 0 2790 10250\n", &cpu));
	assert_false(cpu_of_stat_line("intr 1234 0 1\n", &cpu));
	assert_false(cpu_of_stat_line("cpu65536 1 2\n", &cpu));
	assert_true(cpu_of_stat_line("cpu0 25334 0 2790\n", &cpu));
	assert_int_equal(cpu, 0);
	assert_true(cpu_of_stat_line("cpu17 1 2 3\n", &cpu));
	assert_int_equal(cpu, 17);
}

static void events(void **state)
{
	static const struct {
		const char *text;
		uint32_t type;
		uint64_t config;
		int precise, no_user, no_kernel;
	} good[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, 0},
		{"cpu-cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0, 1},
		{"instructions:ppk", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 2, 1, 0},
		{"cycles:P", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3, 0, 0},
		{"cycles:pppp", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 3, 0, 0},
		{"cpu-clock:Iu", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, 1},
		{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0, 0, 0},
		{"page-faults:uk", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, 0},
		{"r1a8", PERF_TYPE_RAW, 0x1a8, 0, 0, 0},
		{"rFFFFffff00000001", PERF_TYPE_RAW, 0xffffffff00000001, 0, 0, 0},
	};
	static const char *const bad[] = {
		"",
		"cycle",
		"cyclesx",
		"cycles:",
		"cycles:x",
		"r",
		"rxyz",
		"r12345678901234567",
		"no_such_pmu/event=1/",
		"software/no_such_event/",
		"software/cycles/",
		"software/config=0",
		"software/../type/",
		"software/config=x/",
		"software/config=-1/",
		"software/config=0/x",
		"cpu-clock/freq=0/",
		"cpu-clock/config=1/",
		"/software/config=0/",
		"sched:",
		":x",
		"../..:id",
		"no_such_system:no_such_event",
		"0123456789012345678901234567890123456789012345678901234567890123456789",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct event e;

		assert_int_equal(event_parse(&e, good[i].text, strlen(good[i].text), NULL), 0);
		assert_string_equal(e.name, good[i].text);
		assert_int_equal(e.type, good[i].type);
		assert_true(e.config == good[i].config);
		assert_int_equal(e.precise, good[i].precise);
		assert_int_equal(e.exclude_user, good[i].no_user);
		assert_int_equal(e.exclude_kernel, good[i].no_kernel);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err err = {0};
		struct event e;

		if (!strcmp(bad[i], "cycles:")) /* no modifiers: as without the colon */
			continue;
		assert_true(event_parse(&e, bad[i], strlen(bad[i]), &err) < 0);
		assert_true(err.what[0] != 0);
	}
}

/* Each kernel has the PMU software; it has no formats. */
static void pmu_events(void **state)
{
	static const struct {
		const char *text, *name;
		uint64_t config, period;
		unsigned frequency_hz;
		bool no_kernel, no_stack;
	} good[] = {
		{"software/config=1/", "software/config=1/", 1, 0, 0, false, false},
		{"software/config=0x3,name=three,period=7/u", "three", 3, 7, 0, true, false},
		{"software/context-switches/", "software/context-switches/", 3, 0, 0, false, false},
		{"task-clock/freq=499,call-graph=no/:u", "task-clock/freq=499,call-graph=no/:u", 1,
		 0, 499, true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct event list[2];
		struct err err = {0};
		char text[256];
		size_t n = 0;

		snprintf(text, sizeof text, "%s,cs", good[i].text);
		if (event_parse_list(text, list, 2, &n, &err))
			fail_msg("%s: %s", text, err.what);
		assert_int_equal(n, 2);
		assert_string_equal(list[0].name, good[i].name);
		assert_int_equal(list[0].type, PERF_TYPE_SOFTWARE);
		assert_int_equal(list[0].config, good[i].config);
		assert_int_equal(list[0].period, good[i].period);
		assert_int_equal(list[0].frequency_hz, good[i].frequency_hz);
		assert_int_equal(list[0].exclude_kernel, good[i].no_kernel);
		assert_int_equal(list[0].no_stack, good[i].no_stack);
	}
}

/* Formats as kernels have them for Intel, AMD and others. */
static void pmu_bits(void **state)
{
	static const struct {
		const char *format;
		uint64_t value, configs[3];
		int rc;
	} cases[] = {
		{"config:0-7", 0x3c, {0x3c, 0, 0}, 0},
		{"config:0-7", 0x13c, {0x3c, 0, 0}, 1},
		{"config:8-15\n", 0xff, {0xff00, 0, 0}, 0},
		{"config:0-7,32-35", 0x13c, {0x10000003cull, 0, 0}, 0},
		{"config:0-7,32-35,59-60", 0x213c, {0x100000010000003cull, 0, 0}, 0},
		{"config:23", 1, {1u << 23, 0, 0}, 0},
		{"config:23", 2, {0, 0, 0}, 1},
		{"config:63", 1, {1ull << 63, 0, 0}, 0},
		{"config1:0-63", ~0ull, {0, ~0ull, 0}, 0},
		{"config2:1-3", 5, {0, 0, 10}, 0},
		{"config:64", 1, {0, 0, 0}, -1},
		{"config:5-3", 1, {0, 0, 0}, -1},
		{"config:", 1, {0, 0, 0}, -1},
		{"config:0-", 1, {0, 0, 0}, -1},
		{"config:x", 1, {0, 0, 0}, -1},
		{"config4:0-7", 1, {0, 0, 0}, -1},
		{"", 1, {0, 0, 0}, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t configs[3] = {0};

		assert_int_equal(pmu_place_bits(cases[i].format, cases[i].value, configs),
				 cases[i].rc);
		if (!cases[i].rc)
			assert_memory_equal(configs, cases[i].configs, sizeof configs);
	}
}

static void event_lists(void **state)
{
	static const char *const unclosed[] = {"{cs", "cs}", "{{cs},faults}", "{cs}}"};
	struct event list[3];
	struct err err;
	size_t n = 0;

	(void)state;
	assert_int_equal(event_parse_list("cs,faults:u", list, 3, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(list[1].name, "faults:u");
	n = 0;
	assert_int_equal(event_parse_list("{cs:k,faults}:up,cycles", list, 3, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_string_equal(list[0].name, "cs:kup");
	assert_true(!list[0].exclude_user && !list[0].exclude_kernel && list[0].exclude_hv);
	assert_int_equal(list[0].precise, 1);
	assert_string_equal(list[1].name, "faults:up");
	assert_true(!list[1].exclude_user && list[1].exclude_kernel && list[1].exclude_hv);
	assert_string_equal(list[2].name, "cycles");
	assert_true(!list[2].exclude_user && !list[2].exclude_kernel && !list[2].precise);
	n = 0;
	assert_int_equal(event_parse_list("{cs}:x", list, 3, &n, &err), -ERR_USAGE);
	n = 0;
	assert_int_equal(event_parse_list("{cs}cycles", list, 3, &n, &err), -ERR_USAGE);
	n = 0;
	assert_int_equal(event_parse_list("{}", list, 3, &n, &err), -ERR_USAGE);
	n = 2;
	assert_int_equal(event_parse_list("cycles,cycles", list, 3, &n, &err), -ERR_USAGE);
	for (size_t i = 0; i < sizeof unclosed / sizeof *unclosed; i++) {
		n = 0;
		assert_int_equal(event_parse_list(unclosed[i], list, 3, &n, &err), -ERR_USAGE);
	}
	n = 0;
	assert_int_equal(event_parse_list("cs,", list, 3, &n, &err), -ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists),	 cmocka_unit_test(online_cpus),
		cmocka_unit_test(lines_of_stat), cmocka_unit_test(events),
		cmocka_unit_test(event_lists),	 cmocka_unit_test(pmu_events),
		cmocka_unit_test(pmu_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
