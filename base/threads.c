/* threads.c - a shared counter hands out items. */
#include "base/threads.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256, PROCESSORS_MAX = 1 << 20 };

struct loop {
	atomic_size_t next;
	atomic_uint next_worker;
	size_t n;
	void (*fn)(void *arg, size_t i, unsigned worker);
	void *arg;
};

/* The processors that the calling thread may use, as a set of *size bytes that the caller frees;
 * NULL if not known. A machine may have more possible processors than fit into a cpu_set_t, and the
 * kernel refuses smaller sets (sched_getaffinity(2)). */
static cpu_set_t *may_use(size_t *size)
{
	for (size_t n = CPU_SETSIZE; n <= PROCESSORS_MAX; n *= 2) {
		cpu_set_t *set = CPU_ALLOC(n);

		*size = CPU_ALLOC_SIZE(n);
		if (!set || !sched_getaffinity(0, *size, set))
			return set;
		CPU_FREE(set);
		if (errno != EINVAL)
			return NULL;
	}
	return NULL;
}

unsigned threads_available(void)
{
	size_t size;
	cpu_set_t *set = may_use(&size);
	int n = set ? CPU_COUNT_S(size, set) : 0;

	CPU_FREE(set);
	return n > 0 ? (unsigned)n : 1;
}

/* On a virtual machine a sleeping processor looks as if its host had preempted it
 * (vcpu_is_preempted() in arch/x86/kernel/kvm.c), and the scheduler does not move waking threads
 * there. So two threads that wait for each other can share one of two processors for their whole
 * life, unless they start on different ones. */
int threads_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	int here = sched_getcpu(), rc = pthread_create(ret, NULL, fn, arg);
	size_t size;
	cpu_set_t *set;

	if (rc || here < 0)
		return rc;
	set = may_use(&size);
	if (set && CPU_ISSET_S((size_t)here, size, set)) {
		CPU_CLR_S((size_t)here, size, set);
		if (!pthread_setaffinity_np(*ret, size, set)) {
			CPU_SET_S((size_t)here, size, set);
			pthread_setaffinity_np(*ret, size, set);
		}
	}
	CPU_FREE(set);
	return 0;
}

static void drain(struct loop *loop, unsigned worker)
{
	size_t i;

	while ((i = atomic_fetch_add(&loop->next, 1)) < loop->n)
		loop->fn(loop->arg, i, worker);
}

static void *thread_main(void *p)
{
	struct loop *loop = p;

	drain(loop, atomic_fetch_add(&loop->next_worker, 1));
	return NULL;
}

void threads_for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned worker),
		 void *arg)
{
	struct loop loop = {.n = n, .fn = fn, .arg = arg};
	pthread_t ids[THREADS_MAX];
	unsigned started = 0, i;

	atomic_init(&loop.next, 0);
	atomic_init(&loop.next_worker, 1);
	if (n_threads > THREADS_MAX)
		n_threads = THREADS_MAX;
	while (started + 1 < n_threads && started + 1 < n)
		if (threads_start(&ids[started], thread_main, &loop))
			break;
		else
			started++;
	drain(&loop, 0);
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}

void mutex_init_short(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef __GLIBC__
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}
