/* values.h - what the parameters of functions were, for every frame of a sample: from its
 *registers, its copy of the stack and the debug information of the binaries.
 *
 * A value is told only where it is known: not where a parameter has no place any more, where a call
 * may have overwritten it, or where it lies in memory that was not recorded. Sources of truth:
 * DWARF5 2.5, 2.6, 3.4; how values are spelled: gdb's manual, "Data" and "Frame Info".
 *
 *	rc = values_new(&v, modules, unwinder, &opt, &err);
 *	unwind_samples(unwinder, samples, n, traces);	(opened with .registers)
 *	rc = values_find(v, samples, traces, n, &err);
 *	use(traces[i].values), use(traces[i].labels), skip if traces[i].is_left_out
 *	values_free(v);
 */
#ifndef VALUES_VALUES_H
#define VALUES_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "modules/modules.h"
#include "unwind/unwind.h"

enum value_test {
	VALUE_EQUAL,
	VALUE_DIFFERENT,
	VALUE_LESS,
	VALUE_LESS_OR_EQUAL,
	VALUE_GREATER,
	VALUE_GREATER_OR_EQUAL,
};

/* "NAME OP VALUE": of the innermost parameter of that name whose value is known. */
struct value_condition {
	const char *name, *text; /* not terminated */
	size_t name_len, text_len;
	enum value_test test;
	bool is_number; /* the value, in `number`; else it is a text or the name of an enumerator */
	bool is_negative;
	uint64_t number; /* two's complement */
};

struct value_conditions {
	struct value_condition *v;
	size_t n, cap;
}; /* a VEC(): all of them must hold */

enum { VALUE_CONDITIONS_MAX = 32 }; /* bits of struct stack_trace's names_seen */

/* Parses "depth > 4 && name == 'x'", whose text must outlive *ret. Returns 0, or -ERR_USAGE with
 * *err, which has the column. */
int value_conditions_parse(struct value_conditions *ret, const char *text, struct err *err);

struct values_options {
	bool all;	/* fill traces[].values */
	bool shallow;	/* .all: of no callers */
	bool innermost; /* likewise, only for the innermost frame */
	bool results;	/* likewise, only what the innermost function returns */
	const char *by; /* fill traces[].labels: "arg:NAME"; NULL: no */
	struct value_conditions where;
};

static inline bool values_are_wanted(const struct values_options *o)
{
	return o->all || o->innermost || o->results || o->by || o->where.n;
}

struct values; /* opaque; for one thread */

/* The modules and the unwinder must outlive it; `opt` too. Returns 0 or -ERR_NOMEM. */
int values_new(struct values **ret, struct modules *modules, const struct unwinder *u,
	       const struct values_options *opt, struct err *err);
void values_free(struct values *v); /* NULL is allowed */

/* Fills these fields of n <= UNWIND_BATCH traces, which are valid until the next call:
 *
 * values: a line for each frame, innermost first, with '\n' behind it. A line has the parameters of
 *	each function that was inlined there, innermost first, and then those of the function
 *	itself, with '\t' between functions: "a=1, b=?". "a@entry=1" is what the caller passed,
 *	where `a` itself is not known.
 *
 *	The first line may have two parts more. Behind '\r', with .results or .innermost: the type
 *	of what the innermost frame's function returns, a letter and the size in bytes; not there
 *	if the function has no debug information.
 *		"i4" "u8"	signed and unsigned integers
 *		"c1" "C1"	signed and unsigned characters
 *		"b1" "p8"	truth values and pointers
 *		"e4" "E4"	enumerations, with " NAME VALUE" for each of their names
 *		"v" "x"		nothing, and any other type
 *		"?"		the debug information of its language does not say
 *		"!"		what is in the register need not be it: the compiler may have
 *				removed the result
 *	Behind '\v': the names of its parameters that are pointers to characters, a space before
 *	and behind each.
 * labels: of the profile (profile_label_add()): the value of `by`.
 * is_left_out: a condition does not hold, or is not known to.
 * is_undecided: the latter: a parameter of that name is there, but its value is not known.
 * names_seen: bit i: condition i names a parameter that a function in the stack has.
 *
 * Returns 0 or -ERR_NOMEM. */
int values_find(struct values *v, const struct perf_sample *const *samples,
		struct stack_trace *traces, size_t n, struct err *err);

#endif
