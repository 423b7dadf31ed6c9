/* cxx20_types.c - types; see cxx20.h. */
#include "demangle/cxx20.h"

#include <ctype.h>
#include <string.h>

/* A type of the compiler's own, which may have template arguments; with these it is written as a
 * class. */
static bool vendor_type(struct cxx20 *o, const char *start, unsigned first)
{
	const char *p = o->p;
	bool ok;

	o->muted++;
	cxx20_drop(o, 1);
	ok = cxx20_source_name(o);
	o->muted--;
	if (!ok)
		return false;
	if (cxx20_peek(o, 0) != 'I') {
		o->p = p;
		cxx20_copy(o, 1);
		return cxx20_source_name(o) && cxx20_add(o, start, first, OLDER_TYPE);
	}
	o->p = p + 1;
	cxx20_source_name(o);
	if (!o->muted)
		o->n_out++; /* libiberty counts its name as a reference */
	return cxx20_template_args(o) && cxx20_add(o, start, first, OLDER_TYPE);
}

/* F [Y] ... E, after the qualifiers and exception specifications */
static bool function(struct cxx20 *o)
{
	if (!cxx20_take(o, 'F'))
		return false;
	cxx20_take(o, 'Y');
	while (cxx20_peek(o, 0) != 'E') {
		if ((cxx20_peek(o, 0) == 'R' || cxx20_peek(o, 0) == 'O') && cxx20_peek(o, 1) == 'E')
			cxx20_copy(o, 1);
		else if (!cxx20_type(o))
			return false;
	}
	return cxx20_take(o, 'E');
}

/* Dk CONCEPT and DK CONCEPT are auto and decltype(auto). */
static bool constrained_auto(struct cxx20 *o)
{
	bool ok;

	cxx20_write(o, cxx20_peek(o, 1) == 'k' ? "Da" : "Dc");
	o->muted++;
	cxx20_drop(o, 2);
	ok = cxx20_name_part(o);
	o->muted--;
	return ok;
}

/* Types that begin with D. *is_new: it becomes a reference. */
static bool d_type(struct cxx20 *o, bool *is_new)
{
	char c = cxx20_peek(o, 1);

	*is_new = c == 't' || c == 'T' || c == 'p' || c == 'v' || c == 'o' || c == 'O' ||
		  c == 'w' || c == 'x';
	if (c == 'k' || c == 'K')
		return constrained_auto(o);
	cxx20_copy(o, 2);
	switch (c) {
	case 't':
	case 'T':
		return cxx20_expression(o) && cxx20_take(o, 'E');
	case 'p':
		return cxx20_type(o);
	case 'v':
		if (isdigit((unsigned char)cxx20_peek(o, 0)))
			cxx20_number(o);
		else if (cxx20_take(o, '_') && !cxx20_expression(o))
			return false;
		return cxx20_take(o, '_') && cxx20_type(o);
	case 'F':
		cxx20_number(o);
		return cxx20_take(o, '_') || cxx20_take(o, 'b') || cxx20_take(o, 'x');
	case 'B':
	case 'U':
		if (isdigit((unsigned char)cxx20_peek(o, 0)))
			cxx20_number(o);
		else if (!cxx20_expression(o))
			return false;
		return cxx20_take(o, '_');
	case 'O':
		return cxx20_expression(o) && cxx20_take(o, 'E') && function(o);
	case 'w':
		return cxx20_types_until(o, "E") && cxx20_take(o, 'E') && function(o);
	case 'o':
	case 'x':
		return function(o);
	}
	return c && strchr("adefhincsu", c);
}

/* A [n | EXPRESSION] _ TYPE */
static bool array(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (isdigit((unsigned char)cxx20_peek(o, 0)))
		cxx20_number(o);
	else if (cxx20_peek(o, 0) != '_' && !cxx20_expression(o))
		return false;
	return cxx20_take(o, '_') && cxx20_type(o);
}

static bool qualified(struct cxx20 *o)
{
	while (cxx20_peek(o, 0) && strchr("rVK", cxx20_peek(o, 0)))
		cxx20_copy(o, 1);
	if (cxx20_peek(o, 0) == 'F')
		return function(o);
	return cxx20_type(o);
}

/* U NAME [ARGUMENTS] TYPE */
static bool vendor_qualified(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	return cxx20_source_name(o) && (cxx20_peek(o, 0) != 'I' || cxx20_template_args(o)) &&
	       cxx20_type(o);
}

static bool template_param_type(struct cxx20 *o, const char *start, unsigned first)
{
	if (cxx20_peek(o, 1) && strchr("sue", cxx20_peek(o, 1))) {
		cxx20_copy(o, 2);
		return cxx20_name_part(o);
	}
	if (!cxx20_template_param(o))
		return false;
	return cxx20_peek(o, 0) != 'I' ||
	       (cxx20_add(o, start, first, OLDER_TYPE) && cxx20_template_args(o));
}

static bool substitution_type(struct cxx20 *o, bool *is_new)
{
	if (!islower((unsigned char)cxx20_peek(o, 1)))
		return cxx20_reference_part(o, false, is_new);
	if (cxx20_peek(o, 1) == 't')
		return cxx20_name_part(o);
	cxx20_copy(o, 2);
	if (!cxx20_abi_tags(o))
		return false;
	*is_new = cxx20_peek(o, 0) == 'I';
	return !*is_new || cxx20_template_args(o);
}

static bool type(struct cxx20 *o, bool *is_new)
{
	char c = cxx20_peek(o, 0);
	const char *start = o->p;
	unsigned first = cxx20_next(o);

	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return qualified(o);
	case 'P':
	case 'R':
	case 'O':
	case 'C':
	case 'G':
		cxx20_copy(o, 1);
		return cxx20_type(o);
	case 'F':
		return function(o);
	case 'A':
		return array(o);
	case 'M':
		cxx20_copy(o, 1);
		return cxx20_type(o) && cxx20_type(o);
	case 'T':
		return template_param_type(o, start, first);
	case 'S':
		return substitution_type(o, is_new);
	case 'D':
		return d_type(o, is_new);
	case 'U':
		if (!cxx20_at(o, 'U', 'l') && !cxx20_at(o, 'U', 't'))
			return vendor_qualified(o);
		return cxx20_name_part(o);
	case 'u':
		*is_new = false;
		return vendor_type(o, start, first);
	}
	if (c && strchr("vwbcahstijlmxynofdegz", c)) {
		*is_new = false;
		cxx20_copy(o, 1);
		return true;
	}
	return cxx20_name_part(o);
}

bool cxx20_type(struct cxx20 *o)
{
	const char *start = o->p;
	unsigned first = cxx20_next(o);
	bool is_new = true;

	if (!cxx20_enter(o))
		return false;
	return cxx20_leave(o,
			   type(o, &is_new) && (!is_new || cxx20_add(o, start, first, OLDER_TYPE)));
}
