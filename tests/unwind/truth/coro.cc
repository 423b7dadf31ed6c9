/* coro.cc - C++20 coroutines for test_truth.py: generators that resume others, callers of all kinds
 * between them, and (-DTAILS, where compilers make jumps of it) coroutines that go on in each
 * other.
 *
 * coro SECONDS. The entry of a coroutine is written by what resumes it: before it runs, until
 * after. Its body is in the function NAME.actor (gcc) or NAME.resume (clang). While one is made or
 * destroyed the compiler's functions run in other ways: that is "between". */
#include <coroutine>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#define SHADOW_HOOKS
#include "shadow.h"

#define OWN __attribute__((noinline))
#define AI  inline __attribute__((always_inline))

volatile unsigned long sink;
static unsigned pick;

static AI unsigned draw(unsigned n)
{
	pick = pick * 1103515245u + 12345u;
	return (pick >> 16) % n;
}

struct gen {
	struct promise_type;
	typedef std::coroutine_handle<promise_type> handle;
	struct promise_type {
		unsigned long value = 0;
		std::coroutine_handle<> back; /* who waits for its end */

		/* Goes on in the one that waits. */
		struct at_end {
			bool await_ready() noexcept
			{
				return false;
			}
			AI std::coroutine_handle<> await_suspend(handle h) noexcept
			{
				std::coroutine_handle<> back = h.promise().back;

				if (!back) { /* goes on in a function that does nothing */
					shadow->path[shadow->n - 1].function = SHADOW_BETWEEN;
					return std::noop_coroutine();
				}
				shadow->path[shadow->n - 1].function = (uint64_t)h.promise().caller;
				return back;
			}
			void await_resume() noexcept
			{
			}
		};
		void *caller = nullptr;

		gen get_return_object()
		{
			return {handle::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		at_end final_suspend() noexcept
		{
			return {};
		}
		std::suspend_always yield_value(unsigned long v)
		{
			value = v;
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			abort();
		}
	};
	handle h;
};

typedef gen coroutine(unsigned long x, int depth);
coroutine f1, f2, f3, f4; /* gcc 12 cannot give these C's names */
extern "C" {
unsigned long f10(unsigned long x, int depth), f11(unsigned long x, int depth),
	f12(unsigned long x, int depth);
}
static coroutine *const all[] = {f1, f2, f3, f4};
static coroutine *const volatile *any = all;

static AI gen make(coroutine *f, unsigned long x, int depth)
{
	shadow_push(shadow, SHADOW_BETWEEN, 0);
	gen g = f(x, depth);
	shadow_pop(shadow);
	return g;
}

static AI void end(gen g)
{
	shadow_push(shadow, SHADOW_BETWEEN, 0);
	g.h.destroy();
	shadow_pop(shadow);
}

/* Resumes a coroutine some times. */
static AI unsigned long drive(unsigned long x, int depth, int times)
{
	struct shadow *s = shadow;
	unsigned long n = s->n, r = 0;
	coroutine *f = any[draw(4)];
	gen g = make(f, x, depth);

	while (times-- && !g.h.done()) {
		void *frame = g.h.address();

		shadow_push(s, (uint64_t)f, 0);
		__builtin_coro_resume(frame);
		SHADOW_BARRIER();
		s->n = n;
		SHADOW_BARRIER();
		r += g.h.promise().value;
	}
	end(g);
	return r;
}

static AI void work(unsigned long x)
{
	for (int i = 0; i < 120; i++)
		sink += x * (unsigned long)i;
}

static AI unsigned long go(unsigned long x, int depth)
{
	if (depth <= 0) {
		work(x);
		return x;
	}
	switch (draw(4)) {
	case 0:
		return f10(x, depth - 1);
	case 1:
		return f11(x, depth - 1);
	case 2:
		return f12(x, depth - 1);
	default:
		return drive(x, depth - 1, 3);
	}
}

/* Goes on in another coroutine, which comes back at its end. */
struct into {
	gen g;
	coroutine *to;
	void *from;

	bool await_ready()
	{
		return false;
	}
	AI std::coroutine_handle<> await_suspend(gen::handle h)
	{
		g.h.promise().back = h;
		g.h.promise().caller = from;
		shadow->path[shadow->n - 1].function = (uint64_t)to;
		return g.h;
	}
	void await_resume()
	{
	}
};

extern "C" {
OWN unsigned long f10(unsigned long x, int depth)
{
	ENTER(f10);
	x += go(x, depth) + go(x + 1, depth);
	LEAVE();
	return x;
}

OWN unsigned long f11(unsigned long x, int depth)
{
	volatile char *p;

	ENTER(f11);
	p = (volatile char *)__builtin_alloca((x & 127) + 1);
	p[x & 127] = 1;
	x += go(x, depth) + (unsigned long)p[x & 127];
	LEAVE();
	return x;
}

OWN unsigned long f12(unsigned long x, int depth)
{
	alignas(64) volatile unsigned long room[8];

	ENTER(f12);
	room[x & 7] = x;
	x += drive(x, depth, 2) + room[x & 7];
	LEAVE();
	return x;
}
}

OWN gen f1(unsigned long x, int depth)
{
	for (;;) {
		work(x);
		co_yield x++ + go(x, depth);
	}
}

OWN gen f2(unsigned long x, int depth)
{
	unsigned long many[20] = {x};

	for (int i = 0; i < 20; i++) {
		many[i] = go(x + many[i / 2], depth);
		co_yield many[i] + many[19 - i];
	}
}

OWN gen f3(unsigned long x, int depth)
{
	x += go(x, depth);
	co_yield x;
	work(x);
#ifdef TAILS
	/* f4 ends when it has come back here. */
	gen g = make(f4, x, depth);

	co_await into{g, f4, (void *)f3};
	end(g);
#endif
	co_yield x + go(x, depth);
}

OWN gen f4(unsigned long x, int depth)
{
	sink += go(x, depth);
	work(x);
	co_return;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	struct shadow block;
	struct timespec t;

	shadow_begin(&block);
	do {
		sink += f10(sink, 7);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < seconds);
	_exit(0);
}
