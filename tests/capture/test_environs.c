/* test_environs.c - pieces of the environment in bytes that were copied from a process: this one,
 * which has another environment than it began with only if it says so. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/environs.h"

static size_t hide(struct environs *e, uint32_t pid, uint64_t time_ns, uint8_t *bytes, size_t n)
{
	return environs_hide(e, pid, time_ns, (struct environ_bytes){0},
			     (struct environ_bytes){bytes, n});
}

static const char token[] = "SESAME0123456789abcdefghijklmnop";
static const char repeated[] = "abc0123450123450123450xyz";
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
					hide(&e, (uint32_t)getpid(), 1, bytes, sizeof bytes), size);
				expect(bytes, was, sizeof bytes, at, size);
			}
	/* A word that is filled by one. */
	memset(was, 0xee, sizeof was);
	memcpy(was + 16, token + 3, 8);
	memcpy(bytes, was, sizeof was);
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, bytes, sizeof bytes), 8);
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
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, (uint8_t *)words, sizeof words), 0);
	assert_memory_equal(words, was, sizeof was);
	/* The end of the bytes is the end of what is looked at. */
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, (uint8_t *)words, 7), 0);
	environs_done(&e);
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, (uint8_t *)words, sizeof words), 0);
}

/* The same 8 bytes are in the value more than once: what is around each of them counts. */
static void repeats(void **state)
{
	struct environs e = {0};
	uint8_t bytes[64];
	const size_t n = sizeof repeated - 1;

	(void)state;
	environs_begin(&e);
	for (size_t at = 0; at < 16; at++)
		for (size_t from = 0; n - from >= 15; from++) {
			memset(bytes, 1, sizeof bytes);
			memcpy(bytes + at, repeated + from, n - from);
			assert_int_equal(hide(&e, (uint32_t)getpid(), 1, bytes, sizeof bytes),
					 n - from);
		}
	environs_done(&e);
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
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, (uint8_t *)words, sizeof words), 8);
	assert_int_equal(words[2], address);
	/* The end of the value, and its NUL. */
	memset(words, 0, sizeof words);
	memcpy(&words[1], token + sizeof token - 1 - 13, 13);
	assert_int_equal(hide(&e, (uint32_t)getpid(), 1, (uint8_t *)words, sizeof words), 13);
	environs_done(&e);
}

/* Of one that cannot be asked every text may be of its environment, but no address is. */
static void gone(void **state)
{
	static const char other[] = "/any text, and where it ends";
	const uint64_t address = 0x7ffc00000000u | '9' << 8 | '8';
	struct environs e = {0};
	uint64_t words[16];
	uint8_t was[sizeof words], *bytes = (uint8_t *)words;

	(void)state;
	environs_begin(&e);
	for (size_t at = 16; at < 24; at++) {
		for (size_t i = 0; i < 16; i++)
			words[i] = address;
		words[2] = 0x0101010101010101;
		memcpy(bytes + at, other, sizeof other);
		memset(bytes + at + sizeof other, 0, -(at + sizeof other) % 8);
		memcpy(was, bytes, sizeof was);
		assert_int_equal(hide(&e, UINT32_MAX, 1, bytes, sizeof words), sizeof other - 1);
		expect(bytes, was, sizeof words, at, sizeof other - 1);
	}
	/* A word of text, and an address. */
	words[2] = words[3] = address;
	memcpy(&words[2], "ABCDEFGH", 8);
	assert_int_equal(hide(&e, UINT32_MAX, 1, (uint8_t *)&words[1], 24), 8);
	assert_int_equal(words[3], address);
	assert_int_equal(words[1], address);
	environs_done(&e);
}

/* Or what the end of its stack says, once that was copied. */
static void learned(void **state)
{
	static const char strings[] =
		"\x81\x02random bytes\0x86_64\0./program\0-v\0"
		"LEARNED_TOKEN=only-of-a-short-process\0HOME=/only-of-a-home-folder\0"
		"./program\0\0\0\0\0\0\0";
	static const char value[] = "only-of-a-short-process";
	struct environs e = {0};
	uint8_t bytes[64] = {0};

	(void)state;
	environs_begin(&e);
	/* Of a part the rest is not known. */
	environs_learn(&e, UINT32_MAX - 1, 1, (const uint8_t *)strings, sizeof strings - 16, false);
	memcpy(bytes + 8, "/only-of-a-home-folder", 22);
	assert_int_equal(hide(&e, UINT32_MAX - 1, 1, bytes, sizeof bytes), 22);
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes + 8, value, sizeof value);
	environs_learn(&e, UINT32_MAX, 1, (const uint8_t *)strings, 0, true);
	environs_learn(&e, UINT32_MAX, 1, (const uint8_t *)strings, sizeof strings, true);
	assert_int_equal(hide(&e, UINT32_MAX, 1, bytes, sizeof bytes), sizeof value - 1);
	memcpy(bytes + 8, "/only-of-a-home-folder", 22);
	assert_int_equal(hide(&e, UINT32_MAX, 1, bytes, sizeof bytes), 0);
	environs_done(&e);
}

/* What a process had before execve() says nothing of what it has then. */
static void after_exec(void **state)
{
	static const char strings[] =
		"OLD_TOKEN=of-the-former-program\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	static const char value[] = "of-the-later-program";
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[8];
		uint64_t pid_tid, time_ns, cpu, id;
	} rec = {
		.h = {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, sizeof rec},
		.pid = UINT32_MAX,
		.tid = UINT32_MAX,
		.time_ns = 7,
	};
	struct environs e = {0};
	uint8_t bytes[32];

	(void)state;
	environs_begin(&e);
	environs_note(&e, (const uint8_t *)&rec, sizeof rec); /* it is read first */
	environs_learn(&e, UINT32_MAX, 5, (const uint8_t *)strings, sizeof strings, true);
	for (uint64_t t = 6; t <= 8; t++) {
		memcpy(bytes, value, sizeof value);
		assert_int_equal(hide(&e, UINT32_MAX, t, bytes, sizeof value),
				 t < 7 ? 0 : sizeof value - 1);
	}
	environs_done(&e);
}

struct task_rec {
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns, pid_tid, sample_time_ns, cpu, id;
};

static void note(struct environs *e, uint32_t type, uint32_t pid, uint64_t time_ns)
{
	struct task_rec rec = {
		.h = {type, 0, sizeof rec},
		.pid = pid,
		.ppid = type == PERF_RECORD_FORK ? 1 : pid,
		.tid = pid,
		.time_ns = time_ns,
		.sample_time_ns = time_ns,
	};

	environs_note(e, (const uint8_t *)&rec, sizeof rec);
}

/* Of a host that starts programs all day only those are kept that live, or have ended just now. */
static void forgets(void **state)
{
	enum { N = 200000, TAKES_NS = 10000000, MOST = 4096 };
	const uint32_t first = UINT32_MAX - 2 * N, stays = first - 1;
	char strings[64];
	uint8_t bytes[40];
	struct environs e = {0};
	uint64_t now = 1;
	int n;

	(void)state;
	environs_begin(&e);
	note(&e, PERF_RECORD_FORK, stays, now);
	n = snprintf(strings, sizeof strings, "TOKEN=of-the-one-that-stays%c", 0);
	environs_learn(&e, stays, now, (const uint8_t *)strings, (size_t)n, true);
	for (uint32_t i = 0; i < N; i++, now += TAKES_NS) {
		n = snprintf(strings, sizeof strings, "TOKEN=of-process-%u-alone%c", i, 0);
		note(&e, PERF_RECORD_FORK, first + i, now);
		environs_learn(&e, first + i, now, (const uint8_t *)strings, (size_t)n, true);
		note(&e, PERF_RECORD_EXIT, first + i, now + TAKES_NS / 2);
		assert_true(e.processes.n < MOST && e.texts.n < MOST);
	}
	assert_true(e.bytes < MOST * sizeof strings);
	/* One that has ended just now, and the one that has not; others' tokens are theirs. */
	n = snprintf(strings, sizeof strings, "of-process-%u-alone", N - 1);
	memcpy(bytes, strings, (size_t)n);
	assert_int_equal(hide(&e, first + N - 1, now - TAKES_NS, bytes, (size_t)n), n);
	n = snprintf(strings, sizeof strings, "of-the-one-that-stays");
	memcpy(bytes, strings, (size_t)n);
	assert_int_equal(hide(&e, stays, now, bytes, (size_t)n), n);
	/* Of a forgotten one every text is hidden. */
	memcpy(bytes, "any text of that time", 21);
	assert_int_equal(hide(&e, first, 2, bytes, 21), 21);
	environs_done(&e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces),	  cmocka_unit_test(others_stay),
		cmocka_unit_test(behind_a_piece), cmocka_unit_test(gone),
		cmocka_unit_test(repeats),	  cmocka_unit_test(learned),
		cmocka_unit_test(after_exec),	  cmocka_unit_test(forgets),
	};

	(void)argc;
	if (!getenv("PLANTED")) {
		setenv("PLANTED", token, 1);
		setenv("PLANTED_TOO", repeated, 1);
		setenv("TEST_PATH", path, 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
