/* shared.h - inlined into functions of two files. */
extern volatile int sink;

//= 8: shared @= <- uses_shared @chain-shared
//= 8: shared @= <- other @other-shared
INLINE void shared(int x)
{
	sink = x;
	MARK(8);
	sink++;
}
