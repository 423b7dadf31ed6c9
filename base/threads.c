/* threads.c - a shared counter hands out items. */
#include "base/threads.h"

#include <pthread.h>
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
		if (pthread_create(&ids[started], NULL, thread_main, &job))
			break;
		else
			started++;
	drain(&job, 0);
	for (i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
}
