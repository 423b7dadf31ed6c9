/* cxx20.h - C++ names as compilers wrote them before constraints were part of them. Private to
 * demangle/: demangle.c asks cxx20_name(), the rest is between the files of that name.
 *
 * Source of truth: Itanium C++ ABI, chapter 5.1 (with what was added for C++20 and later), and what
 * clang 23 and gcc 16 write. libiberty of binutils 2.40 knows nothing of <template-param-decl>s
 * before template arguments, constraints, member-like friends and more, and later ones know some of
 * it. The name is read with the whole grammar and written without these. Back references count what
 * was read, so they are numbered anew, and what only the left out parts had is written where it is
 * referred to.
 */
#ifndef DEMANGLE_CXX20_H
#define DEMANGLE_CXX20_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "demangle/language.h"

/* More than names of NAME_MAX_BYTES (demangle.c) have in practice. */
enum {
	OLDER_REFERENCES_MAX = 1024,
	OLDER_DEPTH_MAX = 512,
	OLDER_STEPS_MAX = 1 << 16,
	OLDER_LOOKS_MAX = 4096
};

/* What a back reference (<substitution>) may stand for. */
struct cxx20_reference {
	const char *start, *end;
	uint16_t first; /* number of the first reference in it */
	int16_t out;	/* its number in what is written; -1: none */
	uint8_t kind;	/* enum cxx20_kind */
};

enum cxx20_kind { OLDER_TYPE, OLDER_PREFIX, OLDER_TEMPLATE };

struct cxx20 {
	const char *name, *p, *end;
	struct namebuf *out;
	unsigned muted; /* > 0: what is read is left out */
	unsigned depth, steps;
	/* Of those read, and while what was left out is written after all, the next of them. */
	unsigned n, again;
	bool is_again;
	unsigned n_out;
	/* By place in the name, a bit each: see begins_with_levels(). */
	uint64_t looked[OLDER_LOOKS_MAX / 64], levels[OLDER_LOOKS_MAX / 64];
	struct cxx20_reference references[OLDER_REFERENCES_MAX];
};

/* The name for libiberty; false, with anything in out: nothing is known of it. */
bool cxx20_name(struct namebuf *out, const char *name);

/* All of these read one thing at p and write it; false: there is none. */
bool cxx20_type(struct cxx20 *o);
bool cxx20_name_part(struct cxx20 *o);
bool cxx20_encoding(struct cxx20 *o);
bool cxx20_template_args(struct cxx20 *o);
bool cxx20_template_arg(struct cxx20 *o);
bool cxx20_template_param(struct cxx20 *o);
bool cxx20_source_name(struct cxx20 *o);
bool cxx20_operator_name(struct cxx20 *o);
bool cxx20_expression(struct cxx20 *o);
/* Q and an expression, which are left out, if they are there. */
bool cxx20_constraint(struct cxx20 *o);

/* Names as a part of another: [St] NAME; of a nested name up to `stop`, else to its E, what is
 * before which being for the caller to count. */
bool cxx20_unscoped(struct cxx20 *o);
bool cxx20_prefix(struct cxx20 *o, const char *stop);
bool cxx20_abi_tags(struct cxx20 *o);
/* The ones that stand here, which are left out. */
bool cxx20_param_decls(struct cxx20 *o);
/* Up to one of these characters, or the end. */
bool cxx20_types_until(struct cxx20 *o, const char *ends);

/* The number of the next reference. */
unsigned cxx20_next(const struct cxx20 *o);
/* From here on what began at `start`, with reference `first`, can be referred to. */
bool cxx20_add(struct cxx20 *o, const char *start, unsigned first, enum cxx20_kind kind);
/* A back reference; outside of nested names with the template arguments that follow it, and then
 * *is_new. */
bool cxx20_reference_part(struct cxx20 *o, bool in_prefix, bool *is_new);

bool cxx20_enter(struct cxx20 *o);
/* n bytes, or those that are left: in front of the end a part of an operator may stand alone. */
void cxx20_copy(struct cxx20 *o, size_t n);
/* The same, left out. */
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

/* [n] [digits]; and an underscore */
void cxx20_number(struct cxx20 *o);
bool cxx20_number_end(struct cxx20 *o);

#endif
