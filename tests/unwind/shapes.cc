// shapes.cc - the C++ part of shapes.c: exceptions, virtual calls, lambdas through libstdc++, a
// thread. Usage: shapes [MAPS].
#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

struct shape {
	virtual ~shape() {}
	virtual unsigned long area(unsigned n) const = 0;
};

struct square : shape {
	unsigned side;
	explicit square(unsigned s) : side(s) {}
	NOINLINE unsigned long area(unsigned n) const override { return side * side + n; }
};

struct guard {
	unsigned long n;
	NOINLINE ~guard() { sink = sink + n; }
};

namespace inner {
template <class T> NOINLINE unsigned long sum(const std::vector<T> &v)
{
	unsigned long s = 0;

	for (const auto &e : v)
		s += e->area(3);
	return s;
}
} // namespace inner

static NOINLINE void thrower(unsigned n)
{
	guard g{n};

	if (n == 0)
		throw std::runtime_error("shape " + std::to_string(sink));
	thrower(n - 1);
	sink = sink + g.n;
}

static NOINLINE unsigned long catcher()
{
	try {
		thrower(3);
	} catch (const std::exception &e) {
		return std::string(e.what()).size();
	}
	return 0;
}

static NOINLINE unsigned long sorting()
{
	std::vector<unsigned> v;

	for (unsigned i = 0; i < 40; i++)
		v.push_back(i * 7919 % 40);
	std::sort(v.begin(), v.end(), [](unsigned a, unsigned b) NOINLINE { return a > b; });
	return v[5];
}

static NOINLINE unsigned long streams()
{
	std::ostringstream out;

	out << "n=" << sink << ' ' << 2.5;
	return out.str().size();
}

NOINLINE void everything()
{
	std::vector<std::unique_ptr<shape>> shapes;

	for (unsigned i = 0; i < 3; i++)
		shapes.push_back(std::make_unique<square>(i));
	sink = sink + inner::sum(shapes);
	sink = sink + sorting();
	sink = sink + streams();
	sink = sink + catcher();
}

static int copy_maps(const char *to)
{
	FILE *in = fopen("/proc/self/maps", "r"), *out = fopen(to, "w");
	int c;

	if (!in || !out)
		return 1;
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(in);
	return fclose(out);
}

int main(int argc, char **argv)
{
	if (argc > 1 && copy_maps(argv[1]))
		return 1;
	everything();
	return 0;
}
