/* cost.h - finds names that would take too long to demangle. Private to demangle/. */
#ifndef DEMANGLE_COST_H
#define DEMANGLE_COST_H

#include <stdbool.h>

/* Would libiberty's demangler for C++ visit more parts than any name in use has? */
bool cxx_is_boundless(const char *name);
/* The same for the D demangler, for names of at most 4096 bytes. */
bool d_is_boundless(const char *name);

#endif
