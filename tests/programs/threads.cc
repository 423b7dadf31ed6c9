// threads.cc - C++: std::thread, templates, exceptions through several frames, recursion, lambdas.
// Usage: threads SECONDS (of CPU time, all threads together). The names below are what test_programs.py looks for.
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace work
{
static volatile unsigned long sink;

__attribute__((noinline)) static void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink = sink + i * i;
}

template <typename T> struct Accumulator {
	std::vector<T> values;
	__attribute__((noinline)) T run(unsigned rounds)
	{
		T sum{};
		for (unsigned r = 0; r < rounds; r++)
			sum = std::accumulate(values.begin(), values.end(), sum);
		spin(2000);
		return sum;
	}
};

__attribute__((noinline)) static void thrower(int depth)
{
	volatile char room[64];
	room[0] = (char)depth;
	if (!depth) {
		spin(2000);
		throw std::runtime_error("expected");
	}
	thrower(depth - 1);
	sink = sink + (unsigned long)room[0];
}

__attribute__((noinline)) static void catcher()
{
	try {
		thrower(6);
	} catch (const std::exception &e) {
		sink = sink + e.what()[0];
	}
}

__attribute__((noinline)) static unsigned long fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__attribute__((noinline)) static void worker(unsigned id, clock_t end)
{
	Accumulator<double> d{std::vector<double>(200, 1.5)};
	Accumulator<long> l{std::vector<long>(200, id)};
	auto lambda = [&](unsigned n) __attribute__((noinline)) { spin(n); return l.run(3); };

	while (clock() < end) {
		sink = sink + (unsigned long)d.run(20);
		sink = sink + (unsigned long)lambda(2000);
		sink = sink + fibonacci(15);
		catcher();
	}
}
} // namespace work

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	std::vector<std::thread> threads;

	for (unsigned i = 0; i < 3; i++)
		threads.emplace_back(work::worker, i, end);
	work::worker(9, end);
	for (auto &t : threads)
		t.join();
	return 0;
}
