/* threads.h - run a function over items on several threads. */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stddef.h>

/* Processors this process may use, at least 1. */
unsigned threads_available(void);

/* pthread_create() of a thread that starts on another processor than the caller's, if there is one
 * (the reason is in threads.c). Returns 0 or an errno. */
int threads_start(pthread_t *ret, void *(*fn)(void *arg), void *arg);

/* A mutex that is mostly held for less time than it takes to wake a thread: waiters spin for a
 * moment before they sleep. */
void mutex_init_short(pthread_mutex_t *m);

/* Calls fn(arg, i, worker) once for every i < n, from up to n_threads threads (the caller is one
 * of them, worker 0). Items are taken in rising order. Returns when all are done. When threads
 * cannot be created the caller does the work alone, so it cannot fail. */
void threads_for(unsigned n_threads, size_t n, void (*fn)(void *arg, size_t i, unsigned worker),
		 void *arg);

#endif
