/* test_spans.c - which ends belong to which beginnings, by sequences of events that say it in their
 * names; and what holds for any sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/hash.h"
#include "profile/profile.h"

enum { CALL, RETURN, ENTER, EXIT, PERF_CALL, PERF_RETURN, ALONE, UPROBE, URETPROBE, N_EVENTS };
static const char *const event_names[] = {
	"call:./p:*",	  "return:./p:*",      "raw_syscalls:sys_enter", "raw_syscalls:sys_exit",
	"probe_p:f",	  "probe_p:f__return", "uretprobe:./p:g",	 "uprobe:./p:*",
	"uretprobe:./p:*"};
static const struct perf_file_info x86_64 = {.arch = "x86_64"};

static struct profile *new_profile(void)
{
	struct profile *p = profile_new(PROFILE_KEEP_LOG | PROFILE_KEEP_TRACE);
	struct err err;
	uint32_t id;

	assert_non_null(p);
	for (size_t i = 0; i < N_EVENTS; i++) {
		uint32_t name = profile_string(p, event_names[i], strlen(event_names[i]));

		assert_int_equal(profile_add_event(p, name, 0, &id, &err), 0);
		assert_int_equal(id, i);
	}
	return p;
}

static uint32_t location_of(struct profile *p, char function, uint8_t how)
{
	struct profile_function f = {.name = profile_string(p, &function, 1)};
	struct profile_location l = {.ip = (uint64_t)function, .how = how};
	struct profile_line line = {0};
	struct err err;
	uint32_t ret;

	for (uint32_t i = 0; i < p->locations.n; i++)
		if (p->locations.v[i].ip == l.ip && p->locations.v[i].how == how)
			return i;
	l.symbol = f.name;
	assert_int_equal(profile_add_function(p, &f, &line.function, &err), 0);
	assert_int_equal(profile_add_location(p, &l, &line, 1, &ret, &err), 0);
	return ret;
}

/* A stack of functions that is named by letters, the root first; a capital one was stitched. */
static uint32_t node_of(struct profile *p, const char *chain, size_t n)
{
	uint32_t locations[8], node;
	struct err err;

	for (size_t i = 0; i < n; i++)
		locations[i] = chain[i] < 'a' ? location_of(p, (char)(chain[i] + 'a' - 'A'),
							    FRAME_STITCHED)
					      : location_of(p, chain[i], FRAME_CFI);
	assert_int_equal(profile_add_stack(p, locations, n, &node, &err), 0);
	return node;
}

static void add(struct profile *p, struct profile_log_entry e, const char *chain, size_t n,
		const char *fields)
{
	struct profile_sample s = {
		.event = e.event, .pid = 1, .tid = e.tid, .count = 1, .stop = e.stop};
	struct err err;

	s.node = e.node = node_of(p, chain, n);
	e.pid = 1;
	e.time_ns = 1000 + 10 * p->log.n;
	e.trace = *fields ? profile_string(p, fields, strlen(fields)) : 0;
	assert_int_equal(profile_add_entry(p, &s, &e, &err), 0);
}

/* Words "+f100" and "-f100": function f is entered or left with this stack pointer; "<", ">": a
 * system call; "(f", ")f": perf's probe; "[f100", "]f108": a uprobe and a return probe whose
 * samples have registers. A digit in front is the thread, "gN" behind the goroutine, "@ab" the
 * callers of a chain that reached its root, "@Ab" with the help of another sample. */
static struct profile *play(const char *text)
{
	struct profile *p = new_profile();

	p->info = &x86_64;
	while (*text) {
		const char *kinds = "+-<>()![]", *word = text;
		struct profile_log_entry e = {.tid = 1};
		bool has_registers;
		char chain[8], fields[64] = "", function;
		unsigned sp = 0, g = 0;
		size_t n_chain = 0;
		int n = 0;

		if (*text >= '0' && *text <= '9')
			e.tid = (uint32_t)(*text++ - '0');
		has_registers = *text == '[' || *text == ']';
		text += *text == '*';
		assert_non_null(strchr(kinds, *text));
		e.event = (uint32_t)(strchr(kinds, *text++) - kinds);
		if (*word == '*')
			e.event = RETURN;
		function = *text >= 'a' ? *text++ : 'f';
		if (sscanf(text, "%u%n", &sp, &n) == 1)
			text += n;
		if (*text == 'g' && sscanf(text, "g%u%n", &g, &n) == 1)
			text += n;
		if (*text == '@') {
			e.stop = UNWIND_STOP_END;
			for (text++; *text >= 'A'; text++)
				chain[n_chain++] = *text;
		}
		chain[n_chain++] = function;
		e.sp = has_registers ? sp : 0;
		if (has_registers)
			snprintf(fields, sizeof fields, "(%x%s)", function,
				 *text == ']' ? " <- 77" : "");
		else if (sp && g)
			snprintf(fields, sizeof fields, "(55) sp=0x%x g=0x%x", sp, g);
		else if (sp)
			snprintf(fields, sizeof fields, "(55) sp=0x%x ret=0x1 jumped=%d", sp,
				 *word == '*');
		add(p, e, chain, n_chain, fields);
		text += *text == ' ';
	}
	return p;
}

/* Each span as "DEPTH:ENTRY-EXIT", or "DEPTH:ENTRY<=" (left), "DEPTH:ENTRY?" (lost),
 * "DEPTH:ENTRY.." (open). */
static void expect(const char *events, const char *expected)
{
	struct profile *p = play(events);
	struct spans s = {0};
	char have[512] = "";
	struct err err;

	assert_int_equal(spans_find(&s, p, &err), 0);
	for (size_t i = 0; i < s.v.n; i++) {
		const struct span *v = &s.v.v[i];
		char *at = have + strlen(have);

		at += sprintf(at, "%s%u:%u", i ? " " : "", v->depth, v->entry);
		if (v->end == SPAN_RETURNED)
			sprintf(at, "-%u", v->exit);
		else
			sprintf(at, "%s",
				v->end == SPAN_LEFT   ? "<="
				: v->end == SPAN_LOST ? "?"
						      : "..");
	}
	assert_string_equal(have, expected);
	spans_done(&s);
	profile_free(p);
}

static void pairs(void **state)
{
	(void)state;
	expect("+a100 -a100 +b100 -b100", "0:0-1 0:2-3");
	expect("+a100 +b90 +b80 -b80 -b90 -a100", "0:0-5 1:1-4 2:2-3");
	expect("1+a100 2+a100 1-a100 2-a100", "0:0-2 0:1-3");
	expect("+a100", "0:0..");
	expect("-a100 +b90", "0:1..");
	/* A jump to another function leaves the first one, and has its stack pointer. */
	expect("+a100 -a100 +b100 -b100", "0:0-1 0:2-3");
	/* An end that no probe tells: the next call at that place, or above it, shows it. */
	expect("+a100@m +b90@ma +c80@mab +d100@m -d100@m", "0:0<= 1:1<= 2:2<= 0:3-4");
	expect("+a100@m +b90@ma +c80@mab +d95@ma -d95@ma", "0:0.. 1:1<= 2:2<= 1:3-4");
	expect("+a100@m +b90@ma +c80@mab -a100@m", "0:0-3 1:1<= 2:2<=");
	/* Without chains they may as well wait on another stack. */
	expect("+a100 +b90 +c80 +d100 -d100", "0:0<= 1:1? 2:2? 0:3-4");
	expect("+a100 +b90 +c80 -a100", "0:0-3 1:1? 2:2?");
	/* Coroutines: what seemed to be left comes back. */
	expect("+a100 +b90 +c500 -c500 -b90 -a100", "0:0-5 1:1-4 0:2-3");
	expect("< > < + >", "0:0-1 0:2-4 1:3?");
	expect("< > < < >", "0:0-1 0:2<= 0:3-4");
	expect("+a100 < > -a100", "0:0-3 1:1-2");
	expect("( ( ) )", "0:0-3 1:1-2");
	/* Goroutines move between threads, and their stacks move, too. */
	expect("1+a100g7 2+a100g8 2-a100g7 1-a100g8", "0:0-2 0:1-3");
	expect("+a100g7 +b90g7 -b1090g7 -a1100g7", "0:0-3 1:1-2");
	expect("!g100 +a100", "0:1..");
}

/* Coroutines: what runs on one stack is not in calls of another, whichever lies higher, and what
 * does not come back has no end. */
static void other_stacks(void **state)
{
	(void)state;
	expect("+a500@m +y490@ma -y490@ma +a200@m +y190@ma -y190@ma +y490@ma -y490@ma +y190@ma "
	       "-y190@ma -a500@m",
	       "0:0-10 1:1-2 0:3? 1:4-5 1:6-7 1:8-9");
	expect("+a200@m +a500@m +y190@ma +b180@may +y490@ma -b180@may -y190@ma -a200@m -y490@ma "
	       "-a500@m",
	       "0:0-7 0:1-9 1:2-6 2:3-5 1:4-8");
	/* On a third stack, without the chain. */
	expect("+a500@m +a200@m +z100 -z100 -a200@m -a500@m", "0:0-5 0:1-4 1:2-3");
}

/* The stack copy of deep calls does not reach the root, or reaches it by another sample's frames.
 */
static void cut_chains(void **state)
{
	(void)state;
	expect("+a500@m +a490@ma +a480@Maa -a480 -a490 -a500", "0:0-5 1:1-4 2:2-3");
	expect("+a500@m +a490@ma +a480 -a480 -a490 -a500", "0:0-5 1:1-4 2:2-3");
	expect("+a500@M +a490@Ma +a480@Maa -a480 -a490 -a500", "0:0-5 1:1-4 2:2-3");
	/* The recording, or what was read of it, ends within them. */
	expect("+a500@m +a490@ma +a480@Maa", "0:0.. 1:1.. 2:2..");
	/* What is on another stack waits aside also then. */
	expect("+a200@m +y190@ma +a500@M -a500@M -y190@ma -a200@m", "0:0-5 1:1-4 0:2-3");
}

/* Jumps by a register, "*-f100", leave a function or go on in it. */
static void jumps(void **state)
{
	(void)state;
	expect("+a100 *-a100 +b100 -b100", "0:0-1 0:2-3");
	expect("+a100 +b90 *-b90 -a100", "0:0-3 1:1-2");
	/* Its frame stands. */
	expect("+a100 *-a60 +b50 -b50 *-a60 -a100", "0:0-5 1:2-3");
	expect("+a100 *-a60 +a50 *-a10 -a50 -a100", "0:0-5 1:2-4");
	/* It has none. */
	expect("+a100 *-a100 +b90 -b90 *-a100 -a100", "0:0-5 1:2-3");
	expect("+a100 *-a100 +a100 *-a100 -a100", "0:0-1 0:2-4");
	expect("+a200 +a100 *-a100 -a200", "0:0-3 1:1-2");
	/* Another function's, or one of what began earlier. */
	expect("+a100 *-b60 *-a160 -a100", "0:0-3");
}

/* Uprobes and return probes: pairs have the same stack pointer, without the return address. */
static void return_probes(void **state)
{
	(void)state;
	expect("[a100 ]a108 [b100 ]b108", "0:0-1 0:2-3");
	expect("[a100 [b90 ]b98 ]a108", "0:0-3 1:1-2");
	/* The kernel takes the end of what was entered last. */
	expect("[a500 [a200 ]a508", "0:0-2 1:1?");
	expect("[a500 [b200 ]b508", "0:0.. 1:1?");
	/* A jump to another function: both ends are told. */
	expect("[a100 [b100 ]b108 ]a108", "0:0-3 0:1-2");
	expect("[a100 [a100 ]a108", "0:0<= 0:1-2");
}

static void random_sequences(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct profile *p = new_profile();
		struct spans s = {0};
		struct err err;
		size_t ends = 0, closed = 0;

		for (unsigned i = 0; i < 200; i++) {
			uint64_t r = hash_u64(seed += 0x9e3779b97f4a7c15u);
			char fields[64] = "", chain[4];

			if (r >> 8 & 7)
				snprintf(fields, sizeof fields, "(1) sp=0x%x%s%s",
					 (unsigned)(r >> 16 & 15), r >> 24 & 15 ? "" : " g=0x1",
					 r >> 60 & 1 ? " jumped=1" : "");
			for (size_t k = 0; k < sizeof chain; k++)
				chain[k] = (char)('a' + (r >> (40 + 2 * k) & 3));
			add(p,
			    (struct profile_log_entry){.event = (uint32_t)(r % N_EVENTS),
						       .tid = (uint32_t)(r >> 32 & 3),
						       .sp = r >> 50 & 31,
						       .stop = r >> 55 & 1 ? UNWIND_STOP_END : 0},
			    chain, 1 + (r >> 56) % sizeof chain, fields);
		}
		assert_int_equal(spans_find(&s, p, &err), 0);
		for (uint32_t i = 0; i < s.v.n; i++) {
			const struct span *v = &s.v.v[i];

			assert_true(v->start_ns <= v->end_ns && v->end_ns <= p->last_ns);
			assert_true(v->self_ns <= v->end_ns - v->start_ns);
			assert_int_equal(s.of_entry.v[v->entry], i);
			assert_int_equal(v->end == SPAN_RETURNED, v->exit != SPAN_NONE);
			if (v->exit != SPAN_NONE)
				assert_int_equal(s.of_exit.v[v->exit], i);
			closed += v->exit != SPAN_NONE;
			if (v->parent == SPAN_NONE)
				assert_int_equal(v->depth, 0);
			else
				assert_true(v->parent < i &&
					    v->depth == s.v.v[v->parent].depth + 1);
		}
		for (size_t i = 0; i < p->log.n; i++)
			ends += s.is_end.v[i];
		assert_int_equal(ends, closed + s.n_without_start + s.n_jumps_within);
		spans_done(&s);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs),	 cmocka_unit_test(other_stacks),
		cmocka_unit_test(cut_chains),	 cmocka_unit_test(jumps),
		cmocka_unit_test(return_probes), cmocka_unit_test(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
