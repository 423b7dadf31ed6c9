/* mangle.h - linkage names of C++ functions, from what DWARF says of their parameters.
 * Private to dwarf/. */
#ifndef DWARF_MANGLE_H
#define DWARF_MANGLE_H

#include "dwarf/names.h"

/* A name by the rules of the Itanium C++ ABI, 5.1, but without its compression: it demangles to
 * what the function's symbol would demangle to, but is not equal to it. Lives in n->strings. NULL
 * when DWARF does not say enough, or *rc is -ERR_NOMEM. */
const char *dwarf_mangle(struct dwarf_namer *n, struct dwarf_ref function, int *rc);

#endif
