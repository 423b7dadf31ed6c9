/* cxx20.h - rewrites C++ names into the form that compilers used before constraints were part of
 * names. Private to demangle/: demangle.c calls cxx20_name(), the rest is shared by the cxx20*.c
 * files.
 *
 * Source of truth: Itanium C++ ABI, chapter 5.1 (with what was added for C++20 and later), and what
 * clang 23 and gcc 16 write. libiberty of binutils 2.40 does not know <template-param-decl>s before
 * template arguments, constraints, member-like friends and more; later versions know some of them.
 * The name is parsed with the whole grammar and written without these. Back references count what
 * was parsed, so they are renumbered; a part that only occurs in something left out is written out
 * where it is referred to. */
#ifndef DEMANGLE_CXX20_H
#define DEMANGLE_CXX20_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demangle/language.h"

/* Limits; names of NAME_MAX_BYTES (demangle.c) stay below them in practice. */
enum {
	OLDER_REFERENCES_MAX = 1024,
	OLDER_DEPTH_MAX = 512,
	OLDER_STEPS_MAX = 1 << 16,
	OLDER_LOOKS_MAX = 4096
};

/* A part of the name that a back reference (<substitution>) may refer to. */
struct cxx20_reference {
	const char *start, *end;
	uint16_t first; /* number of the first reference inside of it */
	int16_t out;	/* its number in the output; -1: not in the output */
	uint8_t kind;	/* enum cxx20_kind */
};

enum cxx20_kind { OLDER_TYPE, OLDER_PREFIX, OLDER_TEMPLATE };

struct cxx20 {
	const char *name, *p, *end;
	struct namebuf *out;
	unsigned muted; /* > 0: what is parsed is left out */
	unsigned depth, steps;
	/* Number of references so far; `again`: number of the next one while a part that was left
	 * out is parsed again to be written. */
	unsigned n, again;
	bool is_again;
	unsigned n_out;
	/* One bit per offset in the name: see begins_with_levels(). */
	uint64_t looked[OLDER_LOOKS_MAX / 64], levels[OLDER_LOOKS_MAX / 64];
	struct cxx20_reference references[OLDER_REFERENCES_MAX];
};

/* Writes the name for libiberty. Returns false, with an incomplete text in out, if it cannot be
 * parsed. */
bool cxx20_name(struct namebuf *out, const char *name);

/* Each parses one construct at p and writes it. Returns false if there is none. */
bool cxx20_type(struct cxx20 *o);
bool cxx20_name_part(struct cxx20 *o);
bool cxx20_encoding(struct cxx20 *o);
bool cxx20_template_args(struct cxx20 *o);
bool cxx20_template_arg(struct cxx20 *o);
bool cxx20_template_param(struct cxx20 *o);
bool cxx20_source_name(struct cxx20 *o);
bool cxx20_operator_name(struct cxx20 *o);
bool cxx20_expression(struct cxx20 *o);
/* Skips Q and an expression, if they are there. */
bool cxx20_constraint(struct cxx20 *o);

/* Parts of names. cxx20_unscoped(): [St] NAME. cxx20_prefix(): a nested name up to `stop` or, if
 * that is NULL, to its E; the caller adds the reference to the whole name. */
bool cxx20_unscoped(struct cxx20 *o);
bool cxx20_prefix(struct cxx20 *o, const char *stop);
bool cxx20_abi_tags(struct cxx20 *o);
/* Types up to one of these characters, or to the end. */
bool cxx20_types_until(struct cxx20 *o, const char *ends);

/* The number that the next reference will have. */
unsigned cxx20_next(const struct cxx20 *o);
/* Makes the part that begins at `start` and ends here a reference; `first` is the first reference
 * inside of it. */
bool cxx20_add(struct cxx20 *o, const char *start, unsigned first, enum cxx20_kind kind);
/* A back reference. Outside of nested names also the template arguments that follow it; with these
 * it is a new reference, and *is_new is set. */
bool cxx20_reference_part(struct cxx20 *o, bool in_prefix, bool *is_new);

bool cxx20_enter(struct cxx20 *o);
/* Copies n bytes, or as many as are left: at the end of the name half an operator may be left. */
void cxx20_copy(struct cxx20 *o, size_t n);
/* Skips n bytes, or as many as are left. */
void cxx20_drop(struct cxx20 *o, size_t n);
void cxx20_write(struct cxx20 *o, const char *s);

static inline bool cxx20_leave(struct cxx20 *o, bool ok)
{
	o->depth--;
	return ok;
}

static inline char cxx20_peek(const struct cxx20 *o, size_t i)
{
	return (size_t)(o->end - o->p) > i ? o->p[i] : 0;
}

static inline bool cxx20_at(const struct cxx20 *o, char a, char b)
{
	return cxx20_peek(o, 0) == a && cxx20_peek(o, 1) == b;
}

static inline bool cxx20_take(struct cxx20 *o, char c)
{
	if (cxx20_peek(o, 0) != c)
		return false;
	cxx20_copy(o, 1);
	return true;
}

/* [n] [digits]; cxx20_number_end() also an underscore. */
void cxx20_number(struct cxx20 *o);
bool cxx20_number_end(struct cxx20 *o);

#endif
