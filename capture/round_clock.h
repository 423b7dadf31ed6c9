/* round_clock.h - private: when rounds of samples begin, and how long each stands for. */
#ifndef CAPTURE_ROUND_CLOCK_H
#define CAPTURE_ROUND_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rounds begin at multiples of a step. One that takes longer leaves out those that it is late for,
 * and the next stands for their time, too: the sum over a thread is the length of the recording. */
struct round_clock {
	uint64_t begin_ns, end_ns, step_ns; /* CLOCK_MONOTONIC; no end: 0 */
	uint64_t at, stands_for;	    /* this round; so many steps */
	uint64_t n_rounds, n_left_out, began_ns, spent_ns;
};

/* The first round begins now. duration_ns 0: without end. */
void round_clock_begin(struct round_clock *c, uint64_t step_ns, uint64_t duration_ns);
/* After a round: waits for the next, or for a signal. False: the end has come. */
bool round_clock_next(struct round_clock *c);
/* Says how many rounds were left out. False: none, or too few for a word. */
bool round_clock_describe(const struct round_clock *c, size_t n_threads, char *ret, size_t size);

#endif
