/* shared.hh - a template that two units instantiate. */
extern volatile int sink;

template <class T> NOINLINE int comdat(T x)
{
	sink = x;
	MARK(9); //= 9: comdat<int> @=
	sink = sink + 1;
	return x;
}
