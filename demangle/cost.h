/* cost.h - names that would take too long to demangle. Private to demangle/. */
#ifndef DEMANGLE_COST_H
#define DEMANGLE_COST_H

#include <stdbool.h>

/* Would libiberty's demangler for C++ walk over more than all names that are in use? */
bool cxx_is_boundless(const char *name);
/* The same of D's, of at most 4096 bytes. */
bool d_is_boundless(const char *name);

#endif
