/* chain.cc - names of C++: namespaces, templates, classes, lambdas, internal linkage. */
#include "mark.h"
#include "shared.hh"

volatile int sink;

namespace outer {
namespace inner {
template <class T> INLINE T leaf(T x)
{
	sink = x;
	MARK(1); //= 1: outer::inner::leaf<int> @= <- outer::mid @mid-leaf <- outer::top @top-mid
	sink = sink + 1;
	return x;
}
} // namespace inner
INLINE int mid(int x)
{
	return inner::leaf<int>(x) + 1; //@mid-leaf
}
NOINLINE int top(int x)
{
	return mid(x); //@top-mid
}
} // namespace outer

namespace {
struct Hidden {
	int y;
	NOINLINE int method(int x)
	{
		sink = x;
		MARK(2); //= 2: {anon}::Hidden::method @=
		sink = sink + 1;
		return x + y;
	}
	__attribute__((always_inline)) explicit Hidden(int x) : y(x)
	{
		sink = x;
		MARK(3); //= 3: {anon}::Hidden::Hidden @= <- uses_hidden @new-hidden
		sink = sink + 1;
	}
};
INLINE int internal(int x)
{
	sink = x;
	MARK(4); //= 4: {anon}::internal @= <- uses_hidden @call-internal
	sink = sink + 1;
	return x;
}
} // namespace

NOINLINE int uses_hidden(int x)
{
	Hidden h(x); //@new-hidden
	h.method(x);
	return internal(x) + h.y; //@call-internal
}

/* Recursion of inlines. */
//= 5: rec<0> @= <- rec<1> @rec-rec <- rec<2> @rec-rec <- rec<3> @rec-rec <- uses_rec @call-rec
template <int N> INLINE int rec(int x)
{
	if constexpr (N > 0) {
		return rec<N - 1>(x + N); //@rec-rec
	} else {
		sink = x;
		MARK(5);
		sink = sink + 1;
		return x;
	}
}
NOINLINE int uses_rec(int x)
{
	return rec<3>(x); //@call-rec
}

template <class F> INLINE int apply(F f, int x)
{
	return f(x); //@apply-f
}
NOINLINE int uses_lambda(int x)
{
	auto f = [x](int y) __attribute__((always_inline)) {
		sink = x;
		MARK(6); //= 6: uses_lambda::{lambda}::operator() @= <- apply<{lambda}> @apply-f <- uses_lambda @apply-lambda
		sink = sink + y;
		return y;
	};
	return apply(f, x); //@apply-lambda
}

NOINLINE int uses_local(int x)
{
	struct Local {
		static NOINLINE int method(int y)
		{
			sink = y;
			MARK(7); //= 7: uses_local::Local::method @=
			sink = sink + 1;
			return y;
		}
	};
	return Local::method(x);
}

template <class T> struct Box {
	struct Inside {
		__attribute__((always_inline)) static T get(T x)
		{
			sink = x;
			MARK(8); //= 8: Box<int>::Inside::get @= <- uses_box @box-get
			sink = sink + 1;
			return x;
		}
	};
};
NOINLINE int uses_box(int x)
{
	return Box<int>::Inside::get(x); //@box-get
}

/* One copy of a function that two units have. */
NOINLINE int uses_comdat(int x)
{
	return comdat<int>(x);
}

/* A name of internal linkage in a namespace, not inlined. */
namespace outer {
static NOINLINE int hidden_function(int x)
{
	sink = x;
	MARK(10); //= 10: outer::hidden_function @=
	return sink;
}
int calls_hidden(int x)
{
	return hidden_function(x);
}
} // namespace outer

int other(int x);

int main(int argc, char **)
{
	outer::top(argc);
	uses_hidden(argc);
	uses_rec(argc);
	uses_lambda(argc);
	uses_local(argc);
	uses_box(argc);
	uses_comdat(argc);
	outer::calls_hidden(argc);
	return other(argc) & 1;
}
