/* round_clock.c - when rounds of samples begin. */
#include "capture/round_clock.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

/* To the nanosecond: poll() has milliseconds, which with short steps are a whole one. */
static void wait_until(uint64_t then, uint64_t now)
{
	const struct timespec ts = {.tv_sec = (time_t)((then - now) / 1000000000),
				    .tv_nsec = (long)((then - now) % 1000000000)};

	ppoll(NULL, 0, &ts, NULL);
}

void round_clock_begin(struct round_clock *c, uint64_t step_ns, uint64_t duration_ns)
{
	*c = (struct round_clock){.begin_ns = clock_ns(), .step_ns = step_ns, .stands_for = 1};
	c->began_ns = c->begin_ns;
	c->end_ns = duration_ns ? c->begin_ns + duration_ns : 0;
}

bool round_clock_next(struct round_clock *c)
{
	const uint64_t now = clock_ns();
	uint64_t next = (now - c->begin_ns) / c->step_ns;

	c->n_rounds++;
	c->spent_ns += now - c->began_ns;
	if (next <= c->at)
		next = c->at + 1;
	c->stands_for = next - c->at;
	c->n_left_out += c->stands_for - 1;
	c->at = next;
	next = c->begin_ns + next * c->step_ns;
	if (c->end_ns && next >= c->end_ns)
		return false;
	if (next > now)
		wait_until(next, now);
	c->began_ns = clock_ns();
	return true;
}

/* A share of the rounds that is worth a word. */
#define LATE_ROUNDS 0.01

bool round_clock_describe(const struct round_clock *c, size_t n_threads, char *ret, size_t size)
{
	const uint64_t all = c->n_rounds + c->n_left_out;
	const double ms = c->n_rounds ? (double)c->spent_ns / (double)c->n_rounds / 1e6 : 0;
	const double step_ms = (double)c->step_ns / 1e6;
	char took[128] =
		"rounds came late (the machine was busy, or the kernel's functions were looked up)";

	if ((double)c->n_left_out <= LATE_ROUNDS * (double)all)
		return false;
	if (ms > step_ms)
		snprintf(took, sizeof took,
			 "a round of %zu thread%s took %.1f ms, more than %.0f ms", n_threads,
			 &"s"[n_threads == 1], ms, step_ms);
	snprintf(ret, size,
		 "%s: %" PRIu64 " of %" PRIu64
		 " rounds were left out, and each sample stands for the time since the one before",
		 took, c->n_left_out, all);
	return true;
}
