/* key.h - the name by which a function is found in another build. Private to regress/.
 *
 * Compilers put counters and hashes into names (.isra.0, .llvm.123, ::h0123456789abcdef), people
 * put parameters into them: all that differs between builds of the same source is left out. */
#ifndef REGRESS_KEY_H
#define REGRESS_KEY_H

#include "base/text.h"

enum key_kind { KEY_USER, KEY_KERNEL, KEY_JIT };

/* Adds the key of a demangled function name. */
void key_function(struct text *t, const char *name, size_t n, enum key_kind kind);
/* Adds the key of code without a name: "[libfoo.so]" for /usr/lib/libfoo.so.1.2.3. */
void key_module(struct text *t, const char *path, size_t n);
/* Is it work that the kernel does when it suits it: interrupts, page clearing, scheduling? Such
 * functions are not to blame for what runs beneath them. */
bool key_is_async(const char *key, size_t n);

#endif
