// The same for classes, references and templates.
#include <cstdio>
#include <string>
#include <vector>

#define N __attribute__((noinline))
#define KEPT asm volatile("" ::: "memory")
static volatile int sink;
namespace ns {
enum class kind : unsigned char { one = 1, two };
struct box {
	int v;
	virtual ~box() {}
	N virtual int f_virtual(int x, kind k)
	{
		sink = sink + x;
		return v + x + (int)k;
	}
	N int f_method(const int &ref, box *other, bool yes)
	{
		int r = f_virtual(ref, kind::two) + other->v;
		KEPT;
		return r + yes;
	}
};
template <class T> N int f_template(T t, unsigned long n)
{
	box b;
	b.v = (int)n;
	int r = b.f_method((int)t, &b, n & 1);
	KEPT;
	return r;
}
}
struct base { int x; unsigned k : 4; };
struct other { char c; };
struct derived : base, other { long z; };
N int f_derived(derived d, int n)
{
	int r = ns::f_template<long>(d.z, n);
	KEPT;
	return r + d.x + (int)d.k;
}
N int f_throws(int n, const char *why)
{
	if (n > 2)
		throw std::string(why);
	sink = sink + n;
	return n;
}
N int f_catches(int n, const std::vector<int> &v)
{
	try {
		int r = f_throws(n, "why");
		KEPT;
		return r;
	} catch (const std::string &s) {
		return (int)(s.size() + v.size());
	}
}
extern "C" N int everything(int argc)
{
	std::vector<int> v(3, argc);
	int r = ns::f_template<long>(argc, 7) + ns::f_template<char>('x', 8) + f_catches(1, v) + f_catches(3, v);
	auto f_lambda = [&](int a, char b) { int k = f_catches(a, v); KEPT; return k + b; };
	r += f_lambda(2, 'b');
	derived d;
	d.x = 3, d.k = 9, d.c = 'd', d.z = 11;
	r += f_derived(d, 4);
	KEPT;
	return r;
}
int main(int argc, char **)
{
	return everything(argc) == 0;
}
