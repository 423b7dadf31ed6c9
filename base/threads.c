/* threads.c - a shared counter hands out items. */
#include "base/threads.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS_MAX = 256, PROCESSORS_MAX = 1 << 20 };

struct job {
	atomic_size_t next;
	atomic_uint next_worker;
	size_t n;
	void (*fn)(void *arg, size_t i, unsigned worker);
	void *arg;
};

/* The processors that the calling thread may use, in *size bytes, to be freed. The kernel refuses
 * less room than all processors need that there could be (sched_getaffinity(2)), which is more than
 * a cpu_set_t has on some machines. NULL: nobody knows. */
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

/* A processor of a virtual machine that sleeps looks to the kernel as if its host had taken it away
 * (vcpu_is_preempted() of arch/x86/kernel/kvm.c), so nothing that wakes up is moved there: two
 * threads that wait for each other can share one of two processors until they end. Where they
 * begin, they stay. */
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

/* For the same reason a thread that slept goes on where whoever wakes it runs, and waits there for
 * that one to sleep, or for the next tick. So it has to stay. */
void thread_seats_take(struct thread_seats *s, unsigned n)
{
	int here = sched_getcpu();
	cpu_set_t *one;

	*s = (struct thread_seats){.first = here};
	s->all = here < 0 ? NULL : may_use(&s->size);
	if (!s->all)
		return;
	one = CPU_ALLOC(8 * s->size);
	if (one) {
		CPU_ZERO_S(s->size, one);
		CPU_SET_S((size_t)here, s->size, one);
	}
	if (n < 2 || n != (unsigned)CPU_COUNT_S(s->size, (cpu_set_t *)s->all) || !one ||
	    sched_setaffinity(0, s->size, one)) {
		CPU_FREE(s->all);
		s->all = NULL;
	}
	CPU_FREE(one);
}

/* The i-th processor but for the first thread's, which is the 0th. */
static size_t seat(const struct thread_seats *s, unsigned i)
{
	size_t cpu;

	for (cpu = 0; cpu < 8 * s->size; cpu++)
		if (cpu != (size_t)s->first && CPU_ISSET_S(cpu, s->size, (cpu_set_t *)s->all) &&
		    !--i)
			return cpu;
	return (size_t)s->first;
}

/* pthread_create() of a thread for some of the processors. */
static int start_on(const struct thread_seats *s, const cpu_set_t *set, pthread_t *ret,
		    void *(*fn)(void *arg), void *arg)
{
	int rc;
#ifdef __GLIBC__
	pthread_attr_t attr;

	rc = pthread_attr_init(&attr);
	if (rc)
		return rc;
	rc = pthread_attr_setaffinity_np(&attr, s->size, set);
	if (!rc)
		rc = pthread_create(ret, &attr, fn, arg);
	pthread_attr_destroy(&attr);
#else
	/* It begins in its creator's seat. */
	rc = pthread_create(ret, NULL, fn, arg);
	if (!rc && pthread_setaffinity_np(*ret, s->size, set))
		pthread_setaffinity_np(*ret, s->size, s->all);
#endif
	return rc;
}

int thread_seats_start(const struct thread_seats *s, unsigned i, pthread_t *ret,
		       void *(*fn)(void *arg), void *arg)
{
	cpu_set_t *one;
	int rc = ENOMEM;

	if (!s->all)
		return threads_start(ret, fn, arg);
	one = CPU_ALLOC(8 * s->size);
	if (one) {
		CPU_ZERO_S(s->size, one);
		CPU_SET_S(seat(s, i), s->size, one);
		rc = start_on(s, one, ret, fn, arg);
		CPU_FREE(one);
	}
	/* Of the processors some may have been taken away from the process since. */
	return rc ? start_on(s, s->all, ret, fn, arg) : 0;
}

/* Somebody (taskset -p) has told the calling thread meanwhile where to run. */
static bool was_moved(const struct thread_seats *s)
{
	size_t size;
	cpu_set_t *now = may_use(&size);
	bool moved =
		now && (CPU_COUNT_S(size, now) != 1 || !CPU_ISSET_S((size_t)s->first, size, now));

	CPU_FREE(now);
	return moved;
}

void thread_seats_leave(struct thread_seats *s)
{
	if (s->all && !was_moved(s))
		sched_setaffinity(0, s->size, s->all);
	CPU_FREE(s->all);
	s->all = NULL;
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
