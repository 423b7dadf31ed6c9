/* test_rule_cache.c - the cache of rules: as many keys of one place as a set has are all found, and
 * what is found is always the key's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unwind/rule_cache.h"

enum { N_KEYS = 3 * RULE_CACHE_WAYS, N_ROUNDS = 200000 };

/* Keys of the same set; of the same place in it if `same`. */
static void keys_find(uint64_t *keys, bool same)
{
	size_t mask = same ? 0 : RULE_CACHE_WAYS - 1, n = 1;
	uint64_t key;

	keys[0] = 1ull << RULE_CACHE_IP_BITS | 0x401000;
	for (key = keys[0] + 1; n < N_KEYS; key++)
		if ((rule_cache_slot(key) | mask) == (rule_cache_slot(keys[0]) | mask))
			keys[n++] = key;
}

static void put(struct rule_cache *c, uint64_t key)
{
	struct rule_entry *e = rule_cache_place(c, key);

	assert_ptr_equal(e, rule_cache_at(c, key));
	*e = (struct rule_entry){.key = key, .number = (uint32_t)key};
}

/* Where the unwinder looks: the place of its own, then the set. */
static bool is_there(struct rule_cache *c, uint64_t key)
{
	struct rule_entry *e = rule_cache_at(c, key);

	if (e->key != key) {
		e = rule_cache_fetch(c, key);
		if (!e)
			return false;
		assert_ptr_equal(e, rule_cache_at(c, key));
	}
	assert_true(e->key == key);
	assert_int_equal(e->number, (uint32_t)key);
	assert_null(rule_cache_fetch(c, key)); /* it is there once */
	return true;
}

static unsigned count_there(struct rule_cache *c, const uint64_t *keys)
{
	unsigned i, n = 0;

	for (i = 0; i < N_KEYS; i++)
		n += is_there(c, keys[i]);
	return n;
}

static void a_set_holds_keys_of_one_place(void **state)
{
	uint64_t keys[N_KEYS];
	struct rule_cache c;
	unsigned i;

	(void)state;
	assert_int_equal(rule_cache_init(&c), 0);
	keys_find(keys, true);
	for (i = 0; i < N_KEYS; i++) {
		assert_false(is_there(&c, keys[i]));
		put(&c, keys[i]);
		assert_int_equal(count_there(&c, keys),
				 i < RULE_CACHE_WAYS ? i + 1 : RULE_CACHE_WAYS);
		assert_true(is_there(&c, keys[i]));
	}
	rule_cache_done(&c);
}

static void any_order_keeps_keys_apart(void **state)
{
	uint64_t keys[2][N_KEYS], seed = 1;
	struct rule_cache c;
	unsigned i;

	(void)state;
	assert_int_equal(rule_cache_init(&c), 0);
	keys_find(keys[0], true);
	keys_find(keys[1], false);
	for (i = 0; i < N_ROUNDS; i++) {
		uint64_t key = keys[i & 1][hash_u64(seed++) % N_KEYS];

		if (!is_there(&c, key))
			put(&c, key);
		assert_true(is_there(&c, key));
	}
	assert_int_equal(count_there(&c, keys[0]) <= RULE_CACHE_WAYS, 1);
	assert_int_equal(count_there(&c, keys[1]) <= RULE_CACHE_WAYS, 1);
	rule_cache_done(&c);
}

/* Maps come and go with processes: what is known of them does not grow with their number. */
static void maps_of_many_processes(void **state)
{
	enum { MAPS = 300000, MAPS_AT_ONCE = 70000 };
	static struct map maps[1000];
	struct rule_cache c;
	unsigned i, round;
	size_t n;

	(void)state;
	assert_int_equal(rule_cache_init(&c), 0);
	assert_null(c.maps.v[0]);
	for (i = 0; i < MAPS; i++) {
		struct map *map = &maps[i % 1000];
		uint32_t at;

		map->id = 1 + i;
		rule_cache_reserve(&c, 16);
		at = rule_cache_map(&c, map);
		assert_true(at > 0 && at < c.maps.n);
		assert_ptr_equal(c.maps.v[at], map);
		n = c.maps.n;
		for (round = 0; round < 3; round++)
			assert_int_equal(rule_cache_map(&c, map), at);
		assert_int_equal(c.maps.n, n);
		assert_true(n < MAPS_AT_ONCE);
	}
	rule_cache_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_holds_keys_of_one_place),
		cmocka_unit_test(any_order_keeps_keys_apart),
		cmocka_unit_test(maps_of_many_processes),
	};

	return cmocka_run_group_tests_name("rule cache", tests, NULL, NULL);
}
