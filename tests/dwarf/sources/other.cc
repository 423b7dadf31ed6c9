/* other.cc - the second unit of chain.cc. */
#include "mark.h"
#include "shared.hh"

int other(int x)
{
	return comdat<int>(x) + sink;
}
