/* compiler_of.h - which compiler made a module, as far as its names depend on it. Private to
 * symbolize/. */
#ifndef SYMBOLIZE_COMPILER_OF_H
#define SYMBOLIZE_COMPILER_OF_H

#include "demangle/demangle.h"
#include "functions/functions.h"

/* Can a symbol's name depend on the compiler? Only then is it worth to ask for that. */
bool compiler_matters(const char *symbol);
/* Looks through the module's symbols for those of a compiler's runtime. */
enum name_compiler compiler_of(const struct module *mod);

#endif
