/* throw.cc - exceptions being thrown, for test_truth.py: caught near and far, thrown again, in
 * recursion, through functions with objects to destroy, whose destructors call and throw, too.
 *
 * While one is on its way, which functions are over is not known: a THROWING entry is on top. */
#include <ctime>
#include <cstdlib>
#include <stdexcept>
#include <string>
#define SHADOW_HOOKS
#include "shadow.h"

#define OWN extern "C" __attribute__((noinline, no_instrument_function))

volatile unsigned long sink;
volatile int one = 1;

/* What is caught restores the record. */
struct mark {
	struct shadow *s = shadow;
	unsigned long n = s->n;
	void caught()
	{
		s->n = n;
		SHADOW_BARRIER();
	}
};
#define THROW(what)                                      \
	do {                                             \
		shadow_push(shadow, SHADOW_THROWING, 0); \
		throw what;                              \
	} while (0)

OWN unsigned long f0(unsigned long x)
{
	ENTER(f0);
	for (int i = 0; i < 50; i++)
		sink = sink + x * i;
	LEAVE();
	return sink;
}

struct guard {
	unsigned long x;
	guard(unsigned long x) : x(x)
	{
	}
	~guard()
	{
		sink = sink + f0(x);
	}
};

OWN unsigned long f1(unsigned long x) /* throws at once */
{
	ENTER(f1);
	if (one)
		THROW(std::runtime_error("far"));
	LEAVE();
	return x;
}

OWN unsigned long f2(unsigned long x) /* has something to destroy */
{
	ENTER(f2);
	guard g(x);
	std::string q("abcdefghijklmnopqrstuvwxyz");
	unsigned long r = f1(x) + q.size();
	LEAVE();
	return r;
}

OWN unsigned long f3(unsigned long x,
		     int depth) /* catches at every other level, and throws again */
{
	ENTER(f3);
	mark m;
	unsigned long r = 0;
	if (depth & 1) {
		try {
			r = f3(x, depth - 1) + 1;
		} catch (int e) {
			r = e;
		} catch (std::runtime_error &e) {
			m.caught();
			sink = sink + e.what()[0];
			if (depth == 3)
				THROW(depth);
		}
	} else {
		r = depth ? f3(x, depth - 1) + 1 : f2(x) + 1;
	}
	LEAVE();
	return r;
}

OWN unsigned long f4(unsigned long x)
{
	ENTER(f4);
	mark m;
	unsigned long r;
	try {
		guard g(x);
		r = f3(x, 1 + x % 4);
	} catch (int e) {
		m.caught();
		r = f0(e);
	} catch (...) {
		m.caught();
		r = f0(x) + 1;
	}
	LEAVE();
	return r + 1;
}

OWN unsigned long f5(unsigned long x) /* throws again what it has caught */
{
	ENTER(f5);
	mark m;
	try {
		x += f2(x);
	} catch (...) {
		m.caught();
		sink = sink + f0(x);
		shadow_push(shadow, SHADOW_THROWING, 0);
		throw;
	}
	LEAVE();
	return x;
}

OWN unsigned long f6(unsigned long x) /* with a frame that is aligned, and one of unknown size */
{
	ENTER(f6);
	mark m;
	alignas(64) volatile long al[16];
	volatile char *p = (volatile char *)__builtin_alloca((x & 127) + 16);
	p[1] = al[3] = (long)x;
	unsigned long r;
	try {
		r = f5(x) + p[1];
	} catch (std::exception &e) {
		m.caught();
		r = f4(x) + al[3] + e.what()[1];
	}
	LEAVE();
	return r + 1;
}

__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct shadow block, *old = shadow_begin(&block);
	struct timespec t;
	unsigned long i = 0;

	do {
		sink = sink + f6(i++) + f4(i);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	shadow_end(&block, old);
	return 0;
}
