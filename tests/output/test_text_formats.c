/* test_text_formats.c - the exact text of folded and script for a profile made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/output/written.h"
#include "tests/profile/synthetic.h"

static struct profile *make(unsigned keep)
{
	struct profile *p = profile_new(keep);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < N_SYNTHETIC_SAMPLES; i++)
		assert_int_equal(synthetic_add(p, &synthetic_samples[i]), 0);
	assert_int_equal(synthetic_name(p), 0);
	return p;
}

static void expect(const char *format, unsigned keep, const struct output_options *opt,
		   const char *expected)
{
	struct profile *p = make(output_format_find(format)->keep | keep);
	struct err err = {0};
	size_t size;
	char *text = synthetic_write(p, format, opt, &size, &err);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
	profile_free(p);
}

#define CC "__libc_start_call_main;"

static void folded_by_period(void **state)
{
	struct output_options opt = {0};

	(void)state;
	/* "a" has no period and counts as a sample; "a b" sorts behind "a" and before "my_app". */
	expect("folded", 0, &opt,
	       "a;main 1\n"
	       "a_b;main 1\n"
	       "my_app:1_;main;memcpy@@GLIBC_2.14;entry_SYSCALL_64_after_hwframe;do_syscall_64;nf_"
	       "nat_packet 1\n"
	       "server;" CC "main 7\n"
	       "server;" CC "main;[unknown];[libx.so (deleted)];[vdso];com/example/Main:::run;"
	       "com/example/Main:::step_[i];LazyCompile:*tick /srv/app.js:12 2\n"
	       "server;" CC "main;net/http.(*conn).serve;<alloc::vec::Vec<(u8, u8)> as "
	       "core::ops::drop::Drop>::drop;"
	       "(anonymous namespace)::Bar<int>::baz 3\n"
	       "server;" CC "main;ns::W<int>::run;mid;leaf 45\n");
}

static void folded_options(void **state)
{
	struct output_options opt = {.count_samples = true,
				     .style.with_tid = true,
				     .style.mark_kernel = true,
				     .style.mark_jit = true,
				     .style.mark_inline = true,
				     .style.addrs = true};
	struct output_options plain = {.count_samples = true,
				       .style.with_pid = true,
				       .style.no_inline = true,
				       .event = "cycles:P"};

	(void)state;
	expect("folded", PROFILE_KEEP_TIDS, &opt,
	       "a-100/100;main 1\n"
	       "a_b-100/100;main 1\n"
	       "my_app:1_-100/"
	       "102;main;memcpy@@GLIBC_2.14;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];"
	       "nf_nat_packet_[k] 1\n"
	       "server-100/100;" CC
	       "main;[unknown <5>];[libx.so (deleted) <2f>];[vdso <f>];com/example/Main:::run_[j];"
	       "com/example/Main:::step_[i];LazyCompile:*tick /srv/app.js:12_[j] 1\n"
	       "server-100/100;" CC "main;net/http.(*conn).serve;<alloc::vec::Vec<(u8, u8)> as "
	       "core::ops::drop::Drop>::drop;"
	       "(anonymous namespace)::Bar<int>::baz 1\n"
	       "server-100/100;" CC "main;ns::W<int>::run;mid_[i];leaf_[i] 1\n"
	       "server-100/101;" CC "main 1\n"
	       "server-200/200;" CC "main;ns::W<int>::run;mid_[i];leaf_[i] 1\n"
	       "server-300/300;" CC "main;ns::W<int>::run;mid_[i];leaf_[i] 1\n");
	expect("folded", PROFILE_KEEP_PIDS, &plain, "server-100;" CC "main;main 1\n");
}

/* Bytewise order of whole lines, where a name is another's prefix and goes on below or above ';'.
 */
static void folded_lines_are_sorted(void **state)
{
	static const char *const names[] = {"a", "a b", "a:b", "a;b", "a<b", "a_b", "ab"};
	enum { N = sizeof names / sizeof *names };
	struct profile *p = profile_new(0);
	struct output_options opt = {0};
	struct strtab strings = {0};
	struct err err = {0};
	char *text, *line, *next, *previous = NULL;
	size_t i, k, m, size, n = 0;

	(void)state;
	strtab_add_cstr(&strings, "");
	for (i = 0; i < N * N * N; i++) {
		char frames[64];
		struct synthetic_sample s = {0, "c", 1, 1, 1, 1, frames};

		/* Stacks of one to three frames; function k at offset k * 16. */
		i % 3 == 0   ? snprintf(frames, sizeof frames, "0+%zx0", i % N)
		: i % 3 == 1 ? snprintf(frames, sizeof frames, "0+%zx0 0+%zx0", i % N, i / N % N)
			     : snprintf(frames, sizeof frames, "0+%zx0 0+%zx0 0+%zx0", i % N,
					i / N % N, i / N / N);
		assert_int_equal(synthetic_add(p, &s), 0);
	}
	for (i = 0; i < p->locations.n; i++) {
		struct sym_line l = {
			.name = strtab_add_cstr(&strings,
						names[(p->locations.v[i].off - 0x1000) / 16])};
		struct sym_result r = {.symbol = l.name, .n_lines = 1, .lines = &l};

		assert_int_equal(profile_set_lines(p, i, &r, &strings, NULL), 0);
	}
	text = synthetic_write(p, "folded", &opt, &size, &err);
	assert_non_null(text);
	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		*next++ = 0;
		*strrchr(line, ' ') = 0;
		/* Strictly rising: sorted, and every stack once. */
		if (previous)
			assert_true(strcmp(previous, line) < 0);
		previous = line;
		n++;
	}
	/* "a;b" is shown as "a:b": 6 names; 6 + 36 + 216 lines at most, all of the first two kinds
	 * hit. */
	k = 6 + 36, m = 6 + 36 + 216;
	assert_in_range(n, k, m);
	free(text);
	strtab_done(&strings);
	profile_free(p);
}

static void script_with_stacks(void **state)
{
	struct output_options opt = {0};

	(void)state;
	/* Columns of perf 6.12: time cut (not rounded) to microseconds, cpu only for the event type
	 * that records it; addresses of unwound callers minus one, of recorded chains as recorded.
	 */
	expect("script", 0, &opt,
	       "server     100     1.001002:         10 cpu-clock:pppH: \n"
	       "\t          401150 leaf(std::vector<int> const&)+0x50 (inlined)\n"
	       "\t          401150 mid(int)+0x50 (inlined)\n"
	       "\t          401150 ns::W<int>::run(int) [clone .isra.0]+0x50 (/opt/app/server)\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "server     300     1.001003:          5 cpu-clock:pppH: \n"
	       "\t          401150 leaf(std::vector<int> const&)+0x50 (inlined)\n"
	       "\t          401150 mid(int)+0x50 (inlined)\n"
	       "\t          401150 ns::W<int>::run(int) [clone .isra.0]+0x50 (/opt/app/server)\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "server     200     1.001003:         30 cpu-clock:pppH: \n"
	       "\t          501150 leaf(std::vector<int> const&)+0x50 (inlined)\n"
	       "\t          501150 mid(int)+0x50 (inlined)\n"
	       "\t          501150 ns::W<int>::run(int) [clone .isra.0]+0x50 (/opt/app/server)\n"
	       "\t          50101f main+0x1f (/opt/app/server)\n"
	       "\t    7f100001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "server     101     1.001005:          7 cpu-clock:pppH: \n"
	       "\t          401020 main+0x20 (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "my app;1_     102     2.000000:          1 cpu-clock:pppH: \n"
	       "\tffffffffc0100110 nf_nat_packet+0x10 ([nf_nat])\n"
	       "\tffffffff81000110 do_syscall_64+0x10 ([kernel.kallsyms])\n"
	       "\tffffffff81000220 entry_SYSCALL_64_after_hwframe+0x20 ([kernel.kallsyms])\n"
	       "\t    7f0000020010 memcpy@@GLIBC_2.14+0x10 (/usr/lib/libc.so.6)\n"
	       "\t          401020 main+0x20 (/opt/app/server)\n"
	       "\n"
	       "server     100     2.000000:          2 cpu-clock:pppH: \n"
	       "\t        20000210 LazyCompile:*tick /srv/app.js:12+0x10 (/tmp/perf-100.map)\n"
	       "\t        2000010f Lcom/example/Main;::run->Lcom/example/Main;::step+0xf "
	       "(/tmp/perf-100.map)\n"
	       "\t    7fff0000100f [unknown] ([vdso])\n"
	       "\t    7f000040002f [unknown] (/opt/app/libx.so (deleted))\n"
	       "\t               5 [unknown] ([unknown])\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "server     100     2.000000:          3 cpu-clock:pppH: \n"
	       "\t          401210 (anonymous namespace)::Bar<int>::baz()+0x10 (/opt/app/server)\n"
	       "\t          40130f <alloc::vec::Vec<(u8, u8)> as core::ops::drop::Drop>::drop+0xf "
	       "(/opt/app/server)\n"
	       "\t          40140f net/http.(*conn).serve+0xf (/opt/app/server)\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "server     100 [000]     2.000000:         50       cycles:P: \n"
	       "\t          401050 main+0x50 (/opt/app/server)\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n"
	       "a     100     2.000000:          0 cpu-clock:pppH: \n"
	       "\t          401020 main+0x20 (/opt/app/server)\n"
	       "\n"
	       "a b     100     2.000000:          1 cpu-clock:pppH: \n"
	       "\t          401020 main+0x20 (/opt/app/server)\n"
	       "\n");
}

static void script_options(void **state)
{
	struct output_options opt = {.event = "cycles:P", .style.no_inline = true};

	(void)state;
	expect("script", 0, &opt,
	       "server     100 [000]     2.000000:         50       cycles:P: \n"
	       "\t          401050 main+0x50 (/opt/app/server)\n"
	       "\t          40101f main+0x1f (/opt/app/server)\n"
	       "\t    7f000001000f __libc_start_call_main+0xf (/usr/lib/libc.so.6)\n"
	       "\n");
}

/* Events without call chains: one line per sample, the command right-aligned in 16 columns. */
static void script_without_stacks(void **state)
{
	static const struct perf_event events[] = {
		{.index = 0,
		 .name = "task-clock",
		 .attr = {.type = PERF_TYPE_SOFTWARE,
			  .config = 1,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_CPU}},
		{.index = 1,
		 .name = "sched:sched_switch",
		 .attr = {.type = PERF_TYPE_TRACEPOINT,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_CPU}},
		{.index = 2,
		 .name = "0x1",
		 .attr = {.type = PERF_TYPE_RAW, .sample_type = PERF_SAMPLE_IP}},
	};
	struct frame frame = {.ip = 0x401150, .map = &synthetic_maps[0], .how = FRAME_SAMPLE};
	struct stack_trace one = {.frames = &frame, .n = 1}, none = {.n = 0};
	struct perf_sample s = {.event = &events[0],
				.comm = "cat",
				.pid = 1,
				.tid = UINT32_MAX,
				.time_ns = 123456789999999,
				.cpu = 127,
				.period = 1,
				.ip = 0x401150};
	struct profile *p = profile_new(PROFILE_KEEP_IPS | PROFILE_KEEP_LOG);
	struct output_options opt = {0};
	struct err err = {0};
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(profile_add(p, &s, &one, NULL), 0);
	s.time_ns++;
	s.tid = 4194304;
	s.comm = "a-very-long-command";
	assert_int_equal(profile_add(p, &s, &none, NULL), 0);
	s.event = &events[1];
	assert_int_equal(profile_add(p, &s, &one, NULL), 0);
	s.event = &events[2];
	assert_int_equal(profile_add(p, &s, &one, NULL), 0);
	assert_int_equal(synthetic_name(p), 0);
	text = synthetic_write(p, "script", &opt, &size, &err);
	assert_non_null(text);
	assert_string_equal(
		text,
		"             cat      -1 [127] 123456.789999:          1         task-clock:  "
		"          401150 ns::W<int>::run(int) [clone .isra.0]+0x50 (/opt/app/server)\n"
		"a-very-long-command 4194304 [127] 123456.790000:          1         task-clock:  "
		"          401150 [unknown] ([unknown])\n"
		"a-very-long-command 4194304 [127] 123456.790000: sched:sched_switch: \n"
		"a-very-long-command          1                0x1:            401150 "
		"ns::W<int>::run(int) [clone .isra.0]+0x50 (/opt/app/server)\n");
	free(text);
	profile_free(p);
}

/* Recursion: f's callees are within f once. */
static void top_counts_recursion_once(void **state)
{
	static const struct synthetic_sample recursive[] = {
		{0, "c", 1, 1, 1, 6, "0+20 r0+20 r0+20"},
		{0, "c", 1, 1, 2, 2, "0+220 r0+20 r0+220 r0+20"},
		{0, "c", 2, 2, 3, 2, "0+220"},
		{0, "other", 3, 3, 4, 10, "k2+110 0+220"},
	};
	struct profile *p = profile_new(0);
	struct output_options opt = {0};
	struct err err = {0};
	size_t i, size;
	char *text;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(synthetic_add(p, &recursive[i]), 0);
	assert_int_equal(synthetic_name(p), 0);
	text = synthetic_write(p, "top", &opt, &size, &err);
	assert_non_null(text);
	assert_string_equal(text,
			    "# Samples: 4 of event 'cpu-clock:pppH'\n"
			    "# Event count (approx.): 20\n"
			    "#\n"
			    "# Children      Self  Command  Shared Object      Symbol\n"
			    "# ........  ........  .......  .................  ......\n"
			    "#\n"
			    "    50.00%    50.00%  other    [kernel.kallsyms]  [k] do_syscall_64\n"
			    "    50.00%     0.00%  other    server             [.] (anonymous "
			    "namespace)::Bar<int>::baz()\n"
			    "    40.00%    30.00%  c        server             [.] main\n"
			    "    20.00%    20.00%  c        server             [.] (anonymous "
			    "namespace)::Bar<int>::baz()\n");
	free(text);
	profile_free(p);
}

static void nothing_to_write_is_said(void **state)
{
	struct profile *empty = profile_new(0), *p = make(0);
	struct output_options opt = {0}, other = {.event = "faults"};
	const struct output_format *const *f;
	struct err err = {0};
	size_t size;

	(void)state;
	for (f = output_formats; *f; f++) {
		assert_null(synthetic_write(empty, (*f)->name, &opt, &size, &err));
		assert_int_equal(err.code, ERR_NOT_FOUND);
		assert_string_equal(err.what, "no samples to write");
		assert_null(synthetic_write(p, (*f)->name, &other, &size, &err));
		assert_string_equal(err.what, "no event faults in the recording");
	}
	profile_free(empty);
	profile_free(p);
}

static void formats_are_found(void **state)
{
	static const char *const paths[][2] = {
		{"out.folded", "folded"},
		{"a/b.collapsed", "folded"},
		{"x.pb.gz", "pprof"},
		{"x.pprof", "pprof"},
		{"x.script", "script"},
		{"x.gz", NULL},
		{".folded", NULL},
		{"folded", NULL},
		{"", NULL},
		{"x.folded.gz", NULL},
		{"x.speedscope.json", "speedscope"},
		{"x.json", NULL},
	};
	const struct output_format *const *f, *found;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof paths / sizeof *paths; i++) {
		found = output_format_for_path(paths[i][0]);
		if (!paths[i][1])
			assert_null(found);
		else
			assert_string_equal(found->name, paths[i][1]);
	}
	for (f = output_formats; *f; f++)
		assert_ptr_equal(output_format_find((*f)->name), *f);
	assert_null(output_format_find("svg?"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_by_period),
		cmocka_unit_test(folded_options),
		cmocka_unit_test(folded_lines_are_sorted),
		cmocka_unit_test(script_with_stacks),
		cmocka_unit_test(script_options),
		cmocka_unit_test(script_without_stacks),
		cmocka_unit_test(top_counts_recursion_once),
		cmocka_unit_test(nothing_to_write_is_said),
		cmocka_unit_test(formats_are_found),
	};

	return cmocka_run_group_tests_name("text formats", tests, NULL, NULL);
}
