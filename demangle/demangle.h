/* demangle.h - makes readable names from symbol names.
 *
 * C++ (Itanium ABI; the newest names without constraints, see cxx20.h), Rust (legacy and v0) and D,
 * through libiberty; Java, OCaml, GHC. Bounded in time, memory and stack for any input. A name that
 * cannot be demangled stays as it is. */
#ifndef DEMANGLE_DEMANGLE_H
#define DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* A string that grows up to a limit. A zeroed one is empty. */
struct namebuf {
	char *s; /* NUL-terminated when not NULL */
	size_t len, cap;
	bool failed; /* out of memory, or too long: the text must not be used */
	bool nomem;  /* out of memory, now or for an earlier text */
};

/* How names are shown. */
enum sym_demangle {
	SYM_DEMANGLE_FULL,   /* ns::W<int>::run(int) [clone .isra.0] */
	SYM_DEMANGLE_SIMPLE, /* ns::W<...>::run: so that instances and clones merge */
	SYM_DEMANGLE_NONE,   /* as in the file */
};

/* Compilers whose names could also be C functions' names: they are decoded only in what that
 * compiler made. */
enum name_compiler { COMPILER_OTHER, COMPILER_OCAML, COMPILER_GHC };

/* How names are written. */
struct name_style {
	enum sym_demangle demangle;
	bool fold_clones;	 /* without .isra.0, .cold and their like */
	bool cut_templates;	 /* arguments deeper than template_depth levels become <...> */
	unsigned template_depth; /* 0: no arguments at all */
	enum name_compiler compiler;
};

/* Working memory for one thread, to be reused from name to name. Zeroed at first. */
struct demangler {
	struct namebuf base, full, text, cxx20;
};

/* Returns a symbol's name in this style: in the demangler's memory, valid until its next use, or
 * `name` itself. When out of memory the name may stay less readable; demangler_is_out_of_memory()
 * is true from then on. */
const char *demangle(struct demangler *d, const char *name, const struct name_style *style);
/* The same for a name made from DWARF, which is readable already. */
const char *restyle(struct demangler *d, const char *name, const struct name_style *style);
bool demangler_is_out_of_memory(const struct demangler *d);
void demangler_done(struct demangler *d);

#endif
