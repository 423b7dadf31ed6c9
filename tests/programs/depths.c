/* depths.c - `depths LEVELS BYTES [thread] [shallow]`: spins for a tenth of a second of CPU time at
 * the bottom of LEVELS calls, each of which takes BYTES of stack and a little, or next to nothing
 * if BYTES is 0; with `shallow` as long with no such calls before; with `thread` in a thread of its
 * own. Prints the bytes from the stack pointer at the bottom to the caller of all. */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern void *__libc_stack_end; /* glibc: the stack pointer at the program's entry */

static volatile unsigned sink;
static int levels, bytes, shallow;
static uintptr_t top;

static __attribute__((noipa)) int spin(int say)
{
	struct timespec t;
	double end = 0;
	unsigned i;

	if (say)
		printf("%zu\n", (size_t)(top - (uintptr_t)__builtin_frame_address(0)));
	fflush(stdout);
	do {
		for (i = 0; i < 100000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		end = end ? end : (double)t.tv_sec + (double)t.tv_nsec / 1e9 + 0.1;
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
	return 1;
}

static __attribute__((noipa)) int level(int left)
{
	volatile char *room = alloca((size_t)bytes);

	room[0] = 1;
	return (left ? level(left - 1) : spin(1)) + room[0];
}

static __attribute__((noipa)) int small_level(int left)
{
	return (left ? small_level(left - 1) : spin(1)) + 1;
}

static void *all(void *arg)
{
	if (arg)
		top = (uintptr_t)__builtin_frame_address(0);
	if (shallow)
		sink += (unsigned)spin(0);
	sink += (unsigned)(bytes ? level(levels - 1) : small_level(levels - 1));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;
	int i, thread = 0;

	if (argc < 3)
		return 2;
	levels = atoi(argv[1]);
	bytes = atoi(argv[2]);
	for (i = 3; i < argc; i++) {
		thread |= !strcmp(argv[i], "thread");
		shallow |= !strcmp(argv[i], "shallow");
	}
	top = (uintptr_t)__libc_stack_end;
	if (!thread)
		all(NULL);
	else if (pthread_create(&id, NULL, all, argv) || pthread_join(id, NULL))
		return 1;
	return 0;
}
