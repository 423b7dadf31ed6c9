/* test_environs.c - pieces of the environment in bytes that were copied from a process: this one,
 * which has another environment than it began with only if it says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/environs.h"

static const char token[] = "SESAME0123456789abcdefghijklmnop";
static const char path[] = "/a/folder/that/is/no/secret";

/* All bytes but those of [at, at + size) as they were. */
static void expect(const uint8_t *got, const uint8_t *was, size_t n, size_t at, size_t size)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(got[i], i >= at && i < at + size ? '.' : was[i]);
}

static void pieces(void **state)
{
	struct environs e = {0};
	uint8_t bytes[128], was[128];
	const size_t n = sizeof token - 1;

	(void)state;
	environs_begin(&e);
	/* At every place, of every length from that which always fills a word. */
	for (size_t at = 0; at < 24; at++)
		for (size_t from = 0; from < 9; from++)
			for (size_t size = 15; size <= n - from; size++) {
				memset(was, 0xee, sizeof was);
				memcpy(was + at, token + from, size);
				memcpy(bytes, was, sizeof was);
				assert_int_equal(
					environs_hide(&e, (uint32_t)getpid(), bytes, sizeof bytes),
					size);
				expect(bytes, was, sizeof bytes, at, size);
			}
	/* A word that is filled by one. */
	memset(was, 0xee, sizeof was);
	memcpy(was + 16, token + 3, 8);
	memcpy(bytes, was, sizeof was);
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), bytes, sizeof bytes), 8);
	expect(bytes, was, sizeof bytes, 16, 8);
	environs_done(&e);
}

static void others_stay(void **state)
{
	struct environs e = {0};
	uint64_t words[32];
	uint8_t was[sizeof words];

	(void)state;
	environs_begin(&e);
	for (size_t i = 0; i < 32; i++) /* addresses, small numbers, -1 */
		words[i] = i % 4 ? 0x7ffc00001000u + i * 8 : i % 8 ? i : UINT64_MAX;
	memcpy(&words[5], path, sizeof path - 1);
	memcpy(&words[20], "SESAME0", 7); /* less than a word */
	memcpy(was, words, sizeof was);
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), (uint8_t *)words, sizeof words), 0);
	assert_memory_equal(words, was, sizeof was);
	/* The end of the bytes is the end of what is looked at. */
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), (uint8_t *)words, 7), 0);
	environs_done(&e);
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), (uint8_t *)words, sizeof words), 0);
}

/* Behind a piece there may be an address that begins with the next bytes of the value by chance. */
static void behind_a_piece(void **state)
{
	struct environs e = {0};
	uint64_t words[4] = {0}, address = 0x7ffc00000000u | '9' << 8 | '8';

	(void)state;
	environs_begin(&e);
	memcpy(&words[1], token + 6, 8); /* "01234567" */
	words[2] = address;
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), (uint8_t *)words, sizeof words), 8);
	assert_int_equal(words[2], address);
	/* The end of the value, and its NUL. */
	memset(words, 0, sizeof words);
	memcpy(&words[1], token + sizeof token - 1 - 13, 13);
	assert_int_equal(environs_hide(&e, (uint32_t)getpid(), (uint8_t *)words, sizeof words), 13);
	environs_done(&e);
}

/* One that cannot be asked has what this one has. */
static void gone(void **state)
{
	struct environs e = {0};
	uint8_t bytes[64] = {0};

	(void)state;
	environs_begin(&e);
	memcpy(bytes + 8, token, sizeof token);
	assert_int_equal(environs_hide(&e, UINT32_MAX, bytes, sizeof bytes), sizeof token - 1);
	environs_done(&e);
}

/* Or what the end of its stack says, once that was copied. */
static void learned(void **state)
{
	static const char strings[] =
		"\x81\x02random bytes\0x86_64\0./program\0-v\0"
		"LEARNED_TOKEN=only-of-a-short-process\0HOME=/only-of-a-home-folder";
	static const char value[] = "only-of-a-short-process";
	struct environs e = {0};
	uint8_t bytes[64] = {0};

	(void)state;
	environs_begin(&e);
	memcpy(bytes + 8, value, sizeof value);
	assert_int_equal(environs_hide(&e, UINT32_MAX, bytes, sizeof bytes), 0);
	environs_learn(&e, UINT32_MAX, (const uint8_t *)strings, 0);
	environs_learn(&e, UINT32_MAX, (const uint8_t *)strings, sizeof strings - 1);
	assert_int_equal(environs_hide(&e, UINT32_MAX, bytes, sizeof bytes), sizeof value - 1);
	memcpy(bytes + 8, "/only-of-a-home-folder", 22);
	assert_int_equal(environs_hide(&e, UINT32_MAX, bytes, sizeof bytes), 0);
	environs_done(&e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),	  cmocka_unit_test(others_stay),
		cmocka_unit_test(behind_a_piece), cmocka_unit_test(gone),
		cmocka_unit_test(learned),
	};

	(void)argc;
	if (!getenv("PLANTED")) {
		setenv("PLANTED", token, 1);
		setenv("TEST_PATH", path, 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
