/* fuzz_replay.c - the main() of a fuzz target without a fuzzer.
 *
 *	fuzz_NAME [-m N] FILE..
 *
 * Gives the target each file as it is, then N damaged copies of it, the same ones every time. A
 * crash, a sanitizer report or an input that takes too much processor time is a failure; that input
 * is left in the file `failing-input`. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include "base/hash.h"
#include "tests/fuzz.h"

/* Of processor time, so that a busy machine does not matter. */
enum { SECONDS_MAX = 1 * FUZZ_SLOWER, FILE_MAX = 64 << 20, CHANGES_MAX = 8 };

/* What is being run, for the signal handler. */
static const uint8_t *current;
static size_t current_size;

static void keep_current(int sig)
{
	int fd = open("failing-input", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, current, current_size) != (ssize_t)current_size)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void limit_seconds(time_t seconds)
{
	const struct itimerval t = {.it_value.tv_sec = seconds};

	FUZZ_CHECK(!setitimer(ITIMER_PROF, &t, NULL));
}

/* From memory of exactly that size, so that a sanitizer sees one byte too many. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy);
	if (size)
		memcpy(copy, data, size);
	current = copy;
	current_size = size;
	limit_seconds(SECONDS_MAX);
	LLVMFuzzerTestOneInput(copy, size);
	limit_seconds(0);
	free(copy);
}

/* One change: a bit, a telling value of 1 to 8 bytes, or some bytes from elsewhere in the input. */
static void change(uint8_t *data, size_t size, uint64_t r)
{
	static const uint64_t values[] = {
		0,
		1,
		0x7f,
		0x80,
		0xff,
		0x7fff,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x7fffffffffffffff,
		UINT64_MAX,
	};
	size_t at = (size_t)(r >> 16) % size, n = (size_t)1 << (r >> 8) % 4;

	/* Half of them where headers are. */
	if (r & 1)
		at %= 256;
	if (n > size - at)
		n = size - at;
	switch (r >> 1 & 3) {
	case 0:
		data[at] ^= (uint8_t)(1u << (r >> 12) % 8);
		break;
	case 1:
		memcpy(data + at, &values[(r >> 40) % (sizeof values / sizeof *values)], n);
		break;
	case 2:
		memmove(data + at, data + (size_t)(r >> 32) % (size - n + 1), n);
		break;
	default:
		data[at] = (uint8_t)(r >> 56);
	}
}

static void run_damaged(const uint8_t *data, size_t size, unsigned rounds)
{
	uint8_t *copy = malloc(size);

	FUZZ_CHECK(copy);
	for (unsigned round = 0; round < rounds; round++) {
		size_t n = size;

		memcpy(copy, data, size);
		if (round % 16 == 15)
			n = 1 + (size_t)hash_mix(size, round) % size;
		for (unsigned i = 0; i <= round % CHANGES_MAX; i++)
			change(copy, n, hash_mix(hash_u64(round), i));
		run(copy, n);
	}
	free(copy);
}

static int replay(const char *path, unsigned rounds)
{
	uint8_t *data = malloc(FILE_MAX);
	FILE *in = fopen(path, "rb");
	size_t n;

	if (!in || !data) {
		fprintf(stderr, "%s: cannot read\n", path);
		if (in)
			fclose(in);
		free(data);
		return 1;
	}
	n = fread(data, 1, FILE_MAX, in);
	fclose(in);
	puts(path);
	fflush(stdout);
	run(data, n);
	if (n) /* large ones take as long together */
		run_damaged(data, n, n > 64 << 10 ? rounds / 16 : rounds);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned rounds = 0;
	int rc = 0, i = 1;

	signal(SIGABRT, keep_current);
	signal(SIGPROF, keep_current);
#ifndef __SANITIZE_ADDRESS__ /* which reports these itself */
	signal(SIGSEGV, keep_current);
	signal(SIGBUS, keep_current);
	signal(SIGFPE, keep_current);
#endif
	if (argc > 2 && !strcmp(argv[1], "-m")) {
		rounds = (unsigned)strtoul(argv[2], NULL, 10);
		i = 3;
	}
	for (; i < argc; i++)
		rc |= replay(argv[i], rounds);
	return rc;
}
