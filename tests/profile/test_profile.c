/* test_profile.c - interning and aggregation of samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/hash.h"
#include "profile/intern.h"
#include "base/pair.h"
#include "profile/profile.h"
#include "tests/profile/synthetic.h"
#include "tests/unhash.h"

static const char comm_a[] = "server", comm_b[] = "server";

/* main calls run twice from different places; libc below. Addresses of maps 7 and 8 are the same
 * code. */
static const struct synthetic_sample samples[] = {
	{0, comm_a, 100, 100, 1000, 10, "0+150 r0+20 r1+10"},
	{0, comm_a, 100, 101, 2000, 10, "0+150 r0+20 r1+10"},
	{0, comm_b, 200, 200, 3000, 30, "7+150 r7+20 r8+10"},
	{1, comm_a, 100, 100, 1500, 5, "0+150 r0+20 r1+10"},
	{0, comm_a, 100, 100, 2500, 1, "0+150 r0+30 r1+10"},
	{0, comm_a, 100, 100, 500, 1, "k2+110 rk2+220 u1+10010 ru0+20"},
	{0, comm_a, 100, 100, 600, 1, "!dead0000"},
	{0, comm_a, 100, 100, 700, 1, ""},
};
#define N_SAMPLES (sizeof samples / sizeof *samples)

static struct profile *fill(unsigned keep, size_t first, size_t n)
{
	struct profile *p = profile_new(keep);
	size_t i;

	assert_non_null(p);
	for (i = 0; i < n; i++)
		assert_int_equal(synthetic_add(p, &samples[first + i]), 0);
	return p;
}

static void stacks_are_shared_and_counted(void **state)
{
	struct profile *p = fill(0, 0, N_SAMPLES);
	const struct profile_sample *s = p->samples.v;
	const struct profile_node *leaf = &p->nodes.v[s[0].node];

	(void)state;
	/* Samples 0, 1 and 2 are one: the same code in the same files, two spellings of one comm.
	 */
	assert_int_equal(p->samples.n, 6);
	assert_int_equal(s[0].count, 3);
	assert_int_equal(s[0].period, 50);
	assert_int_equal(s[0].pid, 0);
	/* Another event of the same stack is another sample at the same node. */
	assert_int_equal(s[1].event, 1);
	assert_int_equal(s[1].node, s[0].node);
	/* Another call site shares the root only. */
	assert_int_not_equal(s[2].node, s[0].node);
	assert_int_equal(leaf->depth, 3);
	assert_int_equal(p->nodes.v[p->nodes.v[s[2].node].parent].parent,
			 p->nodes.v[leaf->parent].parent);
	assert_int_equal(s[5].node, 0); /* no frames */
	assert_int_equal(p->first_ns, 500);
	assert_int_equal(p->last_ns, 3000);
	assert_int_equal(p->events.n, 2);
	assert_int_equal(p->events.v[0].samples, 7);
	assert_int_equal(p->events.v[0].period, 54);
	assert_string_equal(strtab_get(&p->strings, p->events.v[1].name), "cycles:P");
	profile_free(p);
}

static void queries_are_for_the_lookup_address(void **state)
{
	struct profile *p = fill(0, 0, N_SAMPLES);
	struct sym_query main_call = profile_query(p, 1), leaf = profile_query(p, 2), kernel, none;
	const struct profile_node *n = p->nodes.v;

	(void)state;
	/* Root first: 0 is libc's caller, 1 main's call at 0x20: its return address minus one, as
	 * an offset in the file (the map shows it from 0x1000 on). */
	assert_ptr_equal(main_call.dso, &synthetic_dsos[DSO_APP]);
	assert_int_equal(main_call.off, 0x1000 + 0x20 - 1);
	assert_int_equal(main_call.ip, 0x401000 + 0x20 - 1);
	assert_int_equal(leaf.off, 0x1000 + 0x150);
	/* Kernel code by address. */
	kernel = profile_query(p, n[n[p->samples.v[3].node].parent].location);
	assert_ptr_equal(kernel.dso, &synthetic_dsos[DSO_KERN]);
	assert_int_equal(kernel.off, 0xffffffff81000220 - 1);
	assert_int_equal(kernel.off, kernel.ip);
	none = profile_query(p, n[p->samples.v[4].node].location);
	assert_null(none.dso);
	assert_int_equal(none.off, 0xdead0000);
	profile_free(p);
}

static void kept_ips_separate_processes(void **state)
{
	struct profile *p = fill(PROFILE_KEEP_IPS, 0, 3);
	const struct profile_location *l =
		&p->locations.v[p->nodes.v[p->samples.v[1].node].location];

	(void)state;
	assert_int_equal(p->samples.n, 2);
	assert_int_equal(l->ip, 0x501150);
	assert_int_equal(p->mappings.v[l->mapping].map.start, synthetic_maps[7].start);
	profile_free(p);
}

/* Maps go with their processes, and others get their memory: what is remembered of one is not said
 * of another. The first round meets them, the second has met them before. */
static void maps_that_are_gone_are_not_mistaken(void **state)
{
	static const int kinds[] = {DSO_APP, DSO_LIBC, DSO_KERN, DSO_MOD, DSO_JIT};
	enum { KINDS = sizeof kinds / sizeof *kinds };
	struct map map = {.start = 0x1000, .end = 0x100000};
	struct frame f = {.ip = 0x5000, .map = &map, .how = FRAME_SAMPLE};
	struct stack_trace t = {.frames = &f, .n = 1, .stop = UNWIND_STOP_END};
	struct perf_sample s = {.event = &synthetic_events[0], .comm = comm_a, .period = 1};
	struct profile *p = profile_new(0);
	unsigned i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < 200; i++) {
		map.id = 1 + i;
		map.dso = &synthetic_dsos[kinds[i % KINDS]];
		f.place_id = kinds[i % KINDS] == DSO_KERN || kinds[i % KINDS] == DSO_JIT ? 0 : 7;
		assert_int_equal(profile_add(p, &s, &t, NULL), 0);
		assert_int_equal(profile_add(p, &s, &t, NULL), 0);
	}
	assert_int_equal(p->samples.n, KINDS);
	for (i = 0; i < KINDS; i++) {
		uint32_t location = p->nodes.v[p->samples.v[i].node].location;

		assert_int_equal(p->samples.v[i].count, 2 * 200 / KINDS);
		assert_ptr_equal(profile_query(p, location).dso, &synthetic_dsos[kinds[i]]);
	}
	profile_free(p);
}

/* And a file that many processes have in the same place has one mapping there. */
static void equal_maps_have_one_mapping(void **state)
{
	struct map map = {.start = 0x1000, .end = 0x100000, .dso = &synthetic_dsos[DSO_APP]};
	struct frame f = {.ip = 0x5000, .map = &map, .how = FRAME_SAMPLE, .place_id = 3};
	struct stack_trace t = {.frames = &f, .n = 1, .stop = UNWIND_STOP_END};
	struct perf_sample s = {.event = &synthetic_events[0], .comm = comm_a, .period = 1};
	struct profile *p = profile_new(PROFILE_KEEP_IPS);
	unsigned i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < 300; i++) {
		map.id = 1 + i;
		map.end = 0x100000 + i % 3 * 0x1000;
		assert_int_equal(profile_add(p, &s, &t, NULL), 0);
	}
	assert_int_equal(p->mappings.n, 1 + 3);
	assert_int_equal(p->samples.n, 3);
	profile_free(p);
}

static void kept_ids_split_samples(void **state)
{
	struct profile *pids = fill(PROFILE_KEEP_PIDS, 0, 3), *tids = fill(PROFILE_KEEP_TIDS, 0, 3);

	(void)state;
	assert_int_equal(pids->samples.n, 2);
	assert_int_equal(pids->samples.v[1].pid, 200);
	assert_int_equal(pids->samples.v[1].tid, 0);
	assert_int_equal(tids->samples.n, 3);
	assert_int_equal(tids->samples.v[1].pid, 100);
	assert_int_equal(tids->samples.v[1].tid, 101);
	profile_free(pids);
	profile_free(tids);
}

static void guesses_are_other_locations(void **state)
{
	static const struct synthetic_sample same[] = {
		{0, comm_a, 1, 1, 1, 1, "r0+20"},
		{0, comm_a, 1, 1, 2, 1, "rg0+20"},
		{0, comm_a, 1, 1, 3, 1,
		 "0+1f"}, /* the same lookup address, but no return address */
	};
	struct profile *p = profile_new(0);
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(synthetic_add(p, &same[i]), 0);
	assert_int_equal(p->locations.n, 3);
	assert_int_equal(p->locations.v[0].off, p->locations.v[2].off);
	profile_free(p);
}

/* The task of an exiting thread is -1; sums of hostile periods stay at the end of the scale. */
static void extreme_numbers(void **state)
{
	static const struct synthetic_sample odd = {0,
						    comm_a,
						    UINT32_MAX,
						    UINT32_MAX,
						    UINT64_MAX,
						    UINT64_MAX - 1,
						    "!ffffffffffffffff r!0"};
	struct profile *p = profile_new(PROFILE_KEEP_TIDS | PROFILE_KEEP_IPS | PROFILE_KEEP_LOG);
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(synthetic_add(p, &odd), 0);
	assert_int_equal(p->samples.n, 1);
	assert_int_equal(p->samples.v[0].pid, UINT32_MAX);
	assert_int_equal(p->samples.v[0].period, UINT64_MAX);
	assert_int_equal(p->events.v[0].period, UINT64_MAX);
	assert_int_equal(p->first_ns, UINT64_MAX);
	profile_free(p);
}

static void lines_are_translated(void **state)
{
	struct profile *p = fill(0, 0, N_SAMPLES);
	const struct profile_location *leaf;
	const struct profile_function *f;

	(void)state;
	assert_int_equal(synthetic_name(p), 0);
	leaf = &p->locations.v[p->nodes.v[p->samples.v[0].node].location];
	assert_int_equal(leaf->n_lines, 3);
	f = &p->functions.v[p->lines.v[leaf->first_line].function];
	assert_string_equal(strtab_get(&p->strings, f->name), "leaf(std::vector<int> const&)");
	f = &p->functions.v[p->lines.v[leaf->first_line + 2].function];
	assert_string_equal(strtab_get(&p->strings, f->system_name), "_ZN2ns1WIiE3runEi.isra.0");
	assert_string_equal(strtab_get(&p->strings, f->file), "w.cc");
	assert_int_equal(leaf->symbol_offset, 0x50);
	assert_true(p->mappings.v[leaf->mapping].symbolized);
	assert_false(p->mappings.v[0].symbolized);
	/* main is in several locations but is one function: main, run, mid, leaf, two of libc, two
	 * of the kernel. */
	assert_int_equal(p->functions.n, 8);
	profile_free(p);
}

/* Addresses that are in no mapping, of which each has the hash of the first under a key that anyone
 * can compute. */
static void chosen_addresses_are_spread(void **state)
{
	const uint32_t flags = location_flags(false, false, FRAME_SAMPLE);
	const uint64_t start = hash_mix(pair_key(0, flags), 0),
		       seeds[] = {pair_key(0, flags) * 0x9e3779b97f4a7c15u,
				  hash_mix(0, pair_key(0, flags)) * 0x9e3779b97f4a7c15u};
	struct err err;
	size_t k;

	(void)state;
	for (k = 0; k < 2; k++) {
		struct profile *p = profile_new(0);
		struct hash_index *x = &p->index_->locations;
		size_t same = 0, i;
		uint32_t id;

		for (i = 0; i < 1000; i++) {
			struct location_key key = {.flags = flags,
						   .off = unhash(i << 32 | (uint32_t)start) ^
							  seeds[k]};

			assert_int_equal(profile_intern_location(p, key, key.off, &id, &err), 0);
			assert_int_equal(id, i);
		}
		for (i = 0; i <= x->mask; i++)
			same += x->slots[i] && (uint32_t)(x->slots[i] >> 32) == (uint32_t)start;
		assert_true(same < 10);
		profile_free(p);
	}
}

/* Stacks whose first level has symbols of which all hashes end alike, if nothing is added to them
 * that differs between processes. */
static void chosen_stacks_are_spread(void **state)
{
	enum { STACKS = 1000, SAME_BITS = 0xfff };
	struct profile p = {0};
	struct tree_symbols symbols = {0};
	struct tree t = {0};
	size_t away = 0, i;
	uint32_t symbol;

	(void)state;
	assert_int_equal(vec_push(&p.nodes, (struct profile_node){0}), 0);
	for (symbol = 0; p.samples.n < STACKS; symbol++) {
		if (hash_u64(pair_key(0, symbol)) & SAME_BITS)
			continue;
		assert_int_equal(vec_push(&p.samples, (struct profile_sample){.count = 1}), 0);
		assert_int_equal(vec_push(&symbols.roots, symbol), 0);
	}
	assert_int_equal(tree_fill(&t, &p, (const bool[]){true}, &symbols, NULL), 0);
	assert_int_equal(t.nodes.n, STACKS + 1);
	for (i = 0; i <= t.children.mask; i++)
		if (t.children.slots[i])
			away += (i - (size_t)(t.children.slots[i] >> 32)) & t.children.mask;
	assert_true(away < 10 * STACKS);
	tree_done(&t);
	tree_symbols_done(&symbols);
	vec_done(&p.nodes);
	vec_done(&p.samples);
}

static void events_are_found_by_name(void **state)
{
	static const char pmu[] = "cpu/event=0x3c,umask=0x1/,faults";

	(void)state;
	assert_true(event_is_listed("cycles", "cycles"));
	assert_true(event_is_listed("cycles", "cycles:u"));
	assert_true(event_is_listed("a,cycles,b", "cycles:P"));
	assert_true(event_is_listed("all", "cycles"));
	assert_true(event_is_listed(pmu, "cpu/event=0x3c,umask=0x1/"));
	assert_true(event_is_listed(pmu, "faults"));
	assert_false(event_is_listed(pmu, "umask=0x1/"));
	assert_false(event_is_listed("cycles:u", "cycles:k"));
	assert_false(event_is_listed("cycle", "cycles"));
	assert_false(event_is_listed("", "cycles"));
	assert_false(event_is_listed(",", "cycles"));
}

/* Some beginnings of calls were lost, or of one that the recording came too late for. */
static void calls_are_shown_by_their_beginnings(void **state)
{
	static const char *const names[] = {"return:p:f", "call:p:f", "return:p:g", "cycles"};
	static const uint64_t samples_of[] = {9, 5, 7, 6};
	struct profile *p = profile_new(0);
	struct event_set s;
	struct err err;
	uint32_t id;

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < 4; i++) {
		uint32_t name = profile_string(p, names[i], strlen(names[i]));

		assert_int_equal(profile_add_event(p, name, 0, &id, &err), 0);
		p->events.v[i].samples = samples_of[i];
	}
	assert_int_equal(event_set_make(&s, p, NULL, &err), 0);
	assert_int_equal(event_set_main(&s, p), 2); /* its beginnings were not recorded */
	event_set_done(&s);
	assert_int_equal(event_set_make(&s, p, "call:p:f,return:p:f", &err), 0);
	assert_int_equal(event_set_main(&s, p), 1);
	assert_string_not_equal(event_set_why_main(&s, p), "has the most weight");
	event_set_done(&s);
	assert_int_equal(event_set_make(&s, p, "return:p:f,cycles", &err), 0);
	assert_int_equal(event_set_main(&s, p), 0);
	assert_string_equal(event_set_why_main(&s, p), "has the most weight");
	event_set_done(&s);
	profile_free(p);
}

static void sets_of_events(void **state)
{
	struct profile *p = fill(0, 0, N_SAMPLES);
	struct event_set s;
	struct err err = {0};
	size_t n;

	(void)state;
	assert_int_equal(event_set_make(&s, p, NULL, &err), 0);
	assert_int_equal(s.n, 2);
	assert_true(s.has[0] && s.has[1]);
	event_set_reduce(&s, p);
	assert_int_equal(s.n, 1);
	assert_true(s.has[0] && !s.has[1]);
	event_set_done(&s);
	assert_int_equal(event_set_make(&s, p, "cycles", &err), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.ids[0], 1);
	event_set_done(&s);
	assert_int_equal(event_set_make(&s, p, "faults", &err), -ERR_NOT_FOUND);
	event_set_done(&s);
	assert_null(event_list_unknown("cycles,cpu-clock", p, &n));
	assert_string_equal(event_list_unknown("cycles,x,cpu-clock", p, &n), "x,cpu-clock");
	assert_int_equal(n, 1);
	profile_free(p);
}

/* Of a name that is too long there is the beginning, in whole characters, and what tells it from
 * others. */
static void long_names_are_cut(void **state)
{
	static char text[60001];
	struct profile *p = profile_new(0);
	uint32_t id[3];
	const char *cut;
	size_t i;

	(void)state;
	for (i = 0; i < 60000; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	id[0] = profile_string(p, text, 4096);
	assert_int_equal(strtab_len(&p->strings, id[0]), 4096);
	id[0] = profile_string(p, text, 60000);
	id[1] = profile_string(p, text, 60000);
	text[59999] = '\xa5';
	id[2] = profile_string(p, text, 60000);
	assert_int_equal(id[0], id[1]);
	assert_int_not_equal(id[0], id[2]);
	cut = strtab_get(&p->strings, id[0]);
	assert_true(strlen(cut) <= 4096);
	assert_int_equal(strspn(cut, "\xc3\xa4"), 4032);
	assert_non_null(strstr(cut, "... (60000 bytes, "));
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_found_by_name),
		cmocka_unit_test(sets_of_events),
		cmocka_unit_test(calls_are_shown_by_their_beginnings),
		cmocka_unit_test(stacks_are_shared_and_counted),
		cmocka_unit_test(queries_are_for_the_lookup_address),
		cmocka_unit_test(kept_ips_separate_processes),
		cmocka_unit_test(maps_that_are_gone_are_not_mistaken),
		cmocka_unit_test(equal_maps_have_one_mapping),
		cmocka_unit_test(kept_ids_split_samples),
		cmocka_unit_test(guesses_are_other_locations),
		cmocka_unit_test(extreme_numbers),
		cmocka_unit_test(lines_are_translated),
		cmocka_unit_test(chosen_addresses_are_spread),
		cmocka_unit_test(chosen_stacks_are_spread),
		cmocka_unit_test(long_names_are_cut),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
