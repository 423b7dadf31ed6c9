/* threads.c - a shared counter hands out items. */
#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>

enum { THREADS_MAX = 256 };

struct job {
	atomic_size_t next;
	atomic_uint next_worker;
	size_t n;
	void (*fn)(void *arg, size_t i, unsigned worker);
	void *arg;
};

unsigned threads_available(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set))
		return 1;
	return CPU_COUNT(&set) > 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* A processor of a virtual machine that sleeps looks to the kernel as if its host had taken it away
 * (vcpu_is_preempted() of arch/x86/kernel/kvm.c), so nothing that wakes up is moved there: two
 * threads that wait for each other can share one of two processors until they end. Where they
 * begin, they stay. */
int threads_start(pthread_t *ret, void *(*fn)(void *arg), void *arg)
{
	cpu_set_t all, others;
	int here = sched_getcpu(), rc = pthread_create(ret, NULL, fn, arg);

	if (rc || here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all))
		return rc;
	others = all;
	CPU_CLR(here, &others);
	if (!pthread_setaffinity_np(*ret, sizeof others, &others))
		pthread_setaffinity_np(*ret, sizeof all, &all);
	return 0;
}

static void drain(struct job *job, unsigned worker)
{
	size_t i;

	while ((i = atomic_fetch_add(&job->next, 1)) < job->n)
		job->fn(job->arg, i, worker);
}

static void *thread_main(void *p)
{
	struct job *job = p;

	drain(job, atomic_fetch_add(&job->next_worker, 1));
	return NULL;
}

void threads_for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned worker),
		 void *arg)
{
	struct job job = {.n = n, .fn = fn, .arg = arg};
	pthread_t ids[THREADS_MAX];
	unsigned started = 0, i;

	atomic_init(&job.next, 0);
	atomic_init(&job.next_worker, 1);
	if (n_threads > THREADS_MAX)
		n_threads = THREADS_MAX;
	while (started + 1 < n_threads && started + 1 < n)
		if (threads_start(&ids[started], thread_main, &job))
			break;
		else
			started++;
	drain(&job, 0);
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}
