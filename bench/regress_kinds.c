/* regress_kinds.c - a program of bench/exam_regress.py: time that goes into memory, calls, a second
 * thread and a lock, beside twelve functions that compute. -DMEMORY=150 makes one of them half as
 * slow again: it does so much more of the same. */
#include <pthread.h>
#include <stdlib.h>

#ifndef MEMORY
#define MEMORY 100
#endif
#ifndef CALLS
#define CALLS 100
#endif
#ifndef THREAD
#define THREAD 100
#endif
#ifndef LOCK
#define LOCK 100
#endif
#define ALONE	  __attribute__((noinline))
#define MIX(x, i) ((x)*6364136223846793005UL + 2 * (i) + 1)

enum { WORDS = 4 << 20 };
static unsigned *words;
/* A cache line for each thread: what they share is locked. */
static struct {
	_Alignas(128) volatile unsigned long sum;
} sink, sink_beside;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long shared;

#define LEAF(i, n)                              \
	ALONE static void leaf_##i(void)        \
	{                                       \
		unsigned long x = i;            \
		for (int k = 0; k < (n); k++) { \
			x = MIX(x, i);          \
			sink.sum += x >> 60;    \
		}                               \
	}
LEAF(0, 9000)
LEAF(1, 7000)
LEAF(2, 6000)
LEAF(3, 5000)
LEAF(4, 4000)
LEAF(5, 3000)
LEAF(6, 2500)
LEAF(7, 2000)
LEAF(8, 1500)
LEAF(9, 1200)
LEAF(10, 900)
LEAF(11, 600)

/* Each step waits for the one before it, mostly for memory. */
ALONE static unsigned walk_memory(unsigned at)
{
	for (int k = 0; k < 7 * MEMORY / 10; k++)
		at = (words[at] + (unsigned)k * 40503) & (WORDS - 1);
	return at;
}

ALONE static void visit(unsigned long x)
{
	for (int k = 0; k < 10; k++)
		sink.sum += MIX(x, k) >> 60;
}

ALONE static void add_locked(unsigned long x)
{
	for (int k = 0; k < 8; k++) {
		pthread_mutex_lock(&mutex);
		for (int i = 0; i < 10; i++)
			shared = MIX(shared, x + (unsigned long)i);
		pthread_mutex_unlock(&mutex);
	}
}

ALONE static void work_beside(void)
{
	for (int k = 0; k < 160 * THREAD; k++)
		sink_beside.sum += MIX((unsigned long)k, 3) >> 60;
}

static void *beside(void *rounds)
{
	for (long r = *(long *)rounds; r; r--) {
		work_beside();
		for (int k = 0; k < LOCK / 10; k++)
			add_locked(1);
	}
	return NULL;
}

int main(int c, char **v)
{
	long rounds = c > 1 ? atol(v[1]) : 1000;
	unsigned at = 0;
	pthread_t thread;

	words = malloc(WORDS * sizeof *words);
	for (unsigned long i = 0, x = 1; words && i < WORDS; i++, x = MIX(x, 1))
		words[i] = (unsigned)(x >> 32);
	if (!words || pthread_create(&thread, NULL, beside, &rounds))
		return 1;
	for (long r = rounds; r; r--) {
		leaf_0(), leaf_1(), leaf_2(), leaf_3(), leaf_4(), leaf_5();
		leaf_6(), leaf_7(), leaf_8(), leaf_9(), leaf_10(), leaf_11();
		at = walk_memory(at);
		for (unsigned long k = 0; k < 4 * CALLS; k++)
			visit(k);
		for (int k = 0; k < LOCK / 10; k++)
			add_locked(2);
	}
	return pthread_join(thread, NULL) || at == 1;
}
