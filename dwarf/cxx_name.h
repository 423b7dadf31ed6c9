/* cxx_name.h - names of C++ functions with their parameters, as text. Private to dwarf/. */
#ifndef DWARF_CXX_NAME_H
#define DWARF_CXX_NAME_H

#include "dwarf/names.h"

/* The function's scopes, name, template arguments and parameters as the demangler spells them:
 * "unsigned int ns::of<long>(long)". The string is in n->strings. Returns NULL if DWARF does not
 * say enough, or when out of memory (then *rc is -ERR_NOMEM). */
const char *dwarf_cxx_name(struct dwarf_namer *n, struct dwarf_ref function, int *rc);

#endif
