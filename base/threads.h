/* threads.h - run a function over items on several threads. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* Processors this process may use, at least 1. */
unsigned threads_available(void);

/* pthread_create() of a thread that begins on another processor than the caller's, if there is
 * one: see threads.c. 0 or an errno. */
int threads_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

/* For threads that wait for each other: a processor for each, to which it is bound. */
struct thread_seats {
	void *all; /* the processors that the process may use; NULL: nobody has a seat */
	size_t size;
	int first; /* the caller's */
};

/* Binds the calling thread if there are exactly as many processors as n threads; with fewer threads
 * the scheduler may have better uses for a processor. See threads.c. */
void thread_seats_take(struct thread_seats *s, unsigned n);
/* threads_start() for the i-th thread, the caller being number 0. */
int thread_seats_start(const struct thread_seats *s, unsigned i, pthread_t *ret,
		       void *(*fn)(void *arg), void *arg);
/* The calling thread may run everywhere again, unless others have moved it meanwhile. */
void thread_seats_leave(struct thread_seats *s);

/* A mutex that is mostly held for less time than it takes to wake a thread: waiters spin for a
 * moment before they sleep. */
void mutex_init_short(pthread_mutex_t *m);

/* Calls fn(arg, i, worker) once for every i < n, from up to n_threads threads (the caller is one
 * of them, worker 0). Items are taken in rising order. Returns when all are done. When threads
 * cannot be created the caller does the work alone, so it cannot fail. */
void threads_for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned worker),
		 void *arg);

#endif
