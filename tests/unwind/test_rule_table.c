/* test_rule_table.c - the rules of a module by vaddr: every rule is found again, by other threads
 * while the table grows, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>

#include "tests/unhash.h"
#include "unwind/rule_table.h"

enum { N_RULES = 20000, READERS = 3, AHEAD = 1000, ROUNDS = 30 };

/* By construction: rule i says i. Addresses as of functions, and one bit apart. */
static uint64_t vaddr_of(uint32_t i)
{
	return i % 2 ? 0x1000 + 16ull * i : 0xffffffff00000000 + i;
}

static struct rule rule_of(uint32_t i)
{
	return (struct rule){.cfa_off = (int32_t)i, .fp_off = -(int32_t)i, .reg = (uint8_t)i};
}

static bool is_there(const struct rule_table *t, uint32_t i)
{
	uint32_t number;
	struct rule r;

	if (!rule_table_get(t, vaddr_of(i), &r, &number))
		return false;
	if (number != i + 1 || r.cfa_off != (int32_t)i || r.fp_off != -(int32_t)i ||
	    r.reg != (uint8_t)i)
		fail_msg("rule %u: number %u, cfa_off %d", i, number, r.cfa_off);
	return true;
}

static void rules_are_numbered_and_found(void **state)
{
	struct rule_table t = {NULL};
	uint32_t i, number;
	struct rule r;

	(void)state;
	assert_false(rule_table_get(&t, 0, &r, &number));
	for (i = 0; i < N_RULES; i++) {
		assert_false(is_there(&t, i));
		assert_int_equal(rule_table_put(&t, vaddr_of(i), rule_of(i)), i + 1);
	}
	for (i = 0; i < N_RULES; i++)
		assert_true(is_there(&t, i));
	assert_false(rule_table_get(&t, 0, &r, &number));
	assert_int_equal(rule_table_put(&t, 0, rule_of(1)), N_RULES + 1);
	assert_true(rule_table_get(&t, 0, &r, &number));
	/* The one address that has no key. */
	assert_int_equal(rule_table_put(&t, UINT64_MAX, rule_of(1)), 0);
	assert_false(rule_table_get(&t, UINT64_MAX, &r, &number));
	rule_table_done(&t);
}

/* Addresses that without a secret all belonged into one slot: each would be looked for behind all
 * others, and minutes would not be enough. */
static void addresses_cannot_be_chosen_to_collide(void **state)
{
	enum { N = 400000 };
	struct rule_table t = {NULL};
	uint32_t i, number;
	struct rule r;

	(void)state;
	assert_int_equal(end_after_a_minute(), 0);
	for (i = 0; i < N; i++)
		rule_table_put(&t, unhash((uint64_t)i << 32) - 1, rule_of(i));
	for (i = 1; i < N; i++) {
		assert_true(rule_table_get(&t, unhash((uint64_t)i << 32) - 1, &r, &number));
		assert_int_equal(r.cfa_off, i);
	}
	rule_table_done(&t);
}

struct reader {
	const struct rule_table *t;
	_Atomic uint32_t *n_put;
};

/* What was put before is there; of what comes next nothing else is found. */
static void *read_all(void *arg)
{
	const struct reader *rd = arg;
	uint32_t n = 0, i;

	while (n < N_RULES) {
		n = atomic_load_explicit(rd->n_put, memory_order_relaxed);
		for (i = 0; i < n; i += 1 + n / 50)
			(void)is_there(rd->t, i);
		for (i = n; i < n + AHEAD; i++)
			(void)is_there(rd->t, i);
	}
	return is_there(rd->t, N_RULES - 1) ? NULL : arg;
}

static void read_while_it_grows(void)
{
	struct rule_table t = {NULL};
	_Atomic uint32_t n_put = 0;
	struct reader rd = {&t, &n_put};
	pthread_t ids[READERS];
	void *failed;
	uint32_t i;

	for (i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&ids[i], NULL, read_all, &rd), 0);
	for (i = 0; i < N_RULES; i++) {
		assert_int_equal(rule_table_put(&t, vaddr_of(i), rule_of(i)), i + 1);
		atomic_store_explicit(&n_put, i + 1, memory_order_release);
	}
	for (i = 0; i < READERS; i++) {
		pthread_join(ids[i], &failed);
		assert_null(failed);
	}
	rule_table_done(&t);
}

static void readers_need_no_lock(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < ROUNDS; i++)
		read_while_it_grows();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_numbered_and_found),
		cmocka_unit_test(addresses_cannot_be_chosen_to_collide),
		cmocka_unit_test(readers_need_no_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
