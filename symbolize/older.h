/* older.h - C++ names as compilers wrote them before constraints were part of them. Private to
 * symbolize/: demangle.c asks older_name(), the rest is between the files of that name.
 *
 * Law: Itanium C++ ABI, chapter 5.1 (with what was added for C++20 and later), and what clang 23
 * and gcc 16 write. libiberty of binutils 2.40 knows nothing of <template-param-decl>s before
 * template arguments, constraints, member-like friends and more, and later ones know some of it.
 * The name is read with the whole grammar and written without these. Back references count what was
 * read, so they are numbered anew, and what only the left out parts had is written where it is
 * referred to.
 */
#ifndef SYMBOLIZE_OLDER_H
#define SYMBOLIZE_OLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/demangle.h"

/* More than names of NAME_MAX_BYTES (demangle.c) have in practice. */
enum {
	OLDER_REFERENCES_MAX = 1024,
	OLDER_DEPTH_MAX = 512,
	OLDER_STEPS_MAX = 1 << 16,
	OLDER_LOOKS_MAX = 4096
};

/* What a back reference (<substitution>) may stand for. */
struct older_reference {
	const char *start, *end;
	uint16_t first; /* number of the first reference in it */
	int16_t out;	/* its number in what is written; -1: none */
	uint8_t kind;	/* enum older_kind */
};

enum older_kind { OLDER_TYPE, OLDER_PREFIX, OLDER_TEMPLATE };

struct older {
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
	struct older_reference references[OLDER_REFERENCES_MAX];
};

/* The name for libiberty; false, with anything in out: nothing is known of it. */
bool older_name(struct namebuf *out, const char *name);

/* All of these read one thing at p and write it; false: there is none. */
bool older_type(struct older *o);
bool older_name_part(struct older *o);
bool older_encoding(struct older *o);
bool older_template_args(struct older *o);
bool older_template_arg(struct older *o);
bool older_template_param(struct older *o);
bool older_source_name(struct older *o);
bool older_operator_name(struct older *o);
bool older_expression(struct older *o);
/* Q and an expression, which are left out, if they are there. */
bool older_constraint(struct older *o);

/* Names as a part of another: [St] NAME; of a nested name up to `stop`, else to its E, what is
 * before which being for the caller to count. */
bool older_unscoped(struct older *o);
bool older_prefix(struct older *o, const char *stop);
bool older_abi_tags(struct older *o);
/* The ones that stand here, which are left out. */
bool older_param_decls(struct older *o);
/* Up to one of these characters, or the end. */
bool older_types_until(struct older *o, const char *ends);

/* The number of the next reference. */
unsigned older_next(const struct older *o);
/* From here on what began at `start`, with reference `first`, can be referred to. */
bool older_add(struct older *o, const char *start, unsigned first, enum older_kind kind);
/* A back reference; outside of nested names with the template arguments that follow it, and then
 * *is_new. */
bool older_reference_part(struct older *o, bool in_prefix, bool *is_new);

bool older_enter(struct older *o);
/* n bytes, or those that are left: in front of the end a part of an operator may stand alone. */
void older_copy(struct older *o, size_t n);
/* The same, left out. */
void older_drop(struct older *o, size_t n);
void older_write(struct older *o, const char *s);

static inline bool older_leave(struct older *o, bool ok)
{
	o->depth--;
	return ok;
}

static inline char older_peek(const struct older *o, size_t i)
{
	return (size_t)(o->end - o->p) > i ? o->p[i] : 0;
}

static inline bool older_at(const struct older *o, char a, char b)
{
	return older_peek(o, 0) == a && older_peek(o, 1) == b;
}

static inline bool older_take(struct older *o, char c)
{
	if (older_peek(o, 0) != c)
		return false;
	older_copy(o, 1);
	return true;
}

/* [n] [digits]; and an underscore */
void older_number(struct older *o);
bool older_number_end(struct older *o);

#endif
