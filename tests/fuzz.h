/* fuzz.h - what all fuzz targets share. A target is tests/STAGE/fuzz_NAME.c with one function,
 * LLVMFuzzerTestOneInput(); tests/fuzz.sh builds it for libFuzzer, the Makefile with fuzz_replay.c
 * as a plain program. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many times slower sanitizers may make it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define FUZZ_SLOWER 20
#else
#define FUZZ_SLOWER 1
#endif

/* Processor time of this thread. */
static inline uint64_t fuzz_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What must hold for any input. */
#define FUZZ_CHECK(cond)                                                                     \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* Touches every byte that was given out; a sanitizer sees those that should not have been. */
static inline uint64_t fuzz_sum_bytes(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t sum = 0;

	while (n--)
		sum += *b++;
	return sum;
}

/* The bytes as a file that can be mapped; close() the result. */
static inline int fuzz_file_of(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
