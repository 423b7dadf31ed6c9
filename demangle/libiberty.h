/* libiberty.h - where distributions have libiberty's header. Private to demangle/. */
#ifndef DEMANGLE_LIBIBERTY_H
#define DEMANGLE_LIBIBERTY_H

#if __has_include(<libiberty/demangle.h>)
#include <libiberty/demangle.h>
#else /* Fedora */
#include <demangle.h>
#endif

#endif
