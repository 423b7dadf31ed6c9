/* key.h - the name by which a function is found in another build. Private to regress/.
 *
 * Compilers add counters and hashes to names (.isra.0, .llvm.123, ::h0123456789abcdef), developers
 * change parameters. A key leaves out everything that can differ between builds of the same source.
 */
#ifndef REGRESS_KEY_H
#define REGRESS_KEY_H

#include "base/text.h"

enum key_kind { KEY_USER, KEY_KERNEL, KEY_JIT };

/* Appends the key of a demangled function name. */
void key_function(struct text *t, const char *name, size_t n, enum key_kind kind);
/* Appends the key of code without a name: "[libfoo.so]" for /usr/lib/libfoo.so.1.2.3, "[perf.map]"
 * for the code of a JIT compiler, whose file has a process's number in its name. */
void key_module(struct text *t, const char *path, size_t n);
/* Is it asynchronous work of the kernel: interrupts, page clearing, scheduling? The growth of such
 * functions is no regression (VERDICT_ENVIRONMENT): the kernel, not
 * the program, decides when it does this work. */
bool key_is_async(const char *key, size_t n);
/* What a function of the kernel says of all that it calls. */
enum key_entry {
	ENTRY_NONE,
	ENTRY_INTERRUPT, /* an interrupt, or what one has put off: not work of the program */
	ENTRY_PROGRAM,	 /* a system call, a page fault, a signal, work put off for the program */
};
enum key_entry key_entry(const char *key, size_t n);
/* Is it a name that only the kernel's entries have? */
bool key_is_entry(const char *key, size_t n);
/* How much of two names is the same at their beginnings and ends, of the longer one; 0: so little
 * that neither was made of the other. */
double key_likeness(const char *a, const char *b);

#endif
