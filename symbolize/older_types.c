/* older_types.c - types; see older.h. */
#include "symbolize/older.h"

#include <ctype.h>
#include <string.h>

/* An extended one of the compiler's, which may have template arguments: written as a class then. */
static bool vendor_type(struct older *o, const char *start, unsigned first)
{
	const char *p = o->p;
	bool ok;

	o->muted++;
	older_drop(o, 1);
	ok = older_source_name(o);
	o->muted--;
	if (!ok)
		return false;
	if (older_peek(o, 0) != 'I') {
		o->p = p;
		older_copy(o, 1);
		return older_source_name(o) && older_add(o, start, first, OLDER_TYPE);
	}
	o->p = p + 1;
	older_source_name(o);
	if (!o->muted)
		o->n_out++; /* its name, for libiberty */
	return older_template_args(o) && older_add(o, start, first, OLDER_TYPE);
}

/* F [Y] ... E, behind the qualifiers and exception specifications */
static bool function(struct older *o)
{
	if (!older_take(o, 'F'))
		return false;
	older_take(o, 'Y');
	while (older_peek(o, 0) != 'E') {
		if ((older_peek(o, 0) == 'R' || older_peek(o, 0) == 'O') && older_peek(o, 1) == 'E')
			older_copy(o, 1);
		else if (!older_type(o))
			return false;
	}
	return older_take(o, 'E');
}

/* Dk CONCEPT and DK CONCEPT are auto and decltype(auto). */
static bool constrained_auto(struct older *o)
{
	bool ok;

	older_write(o, older_peek(o, 1) == 'k' ? "Da" : "Dc");
	o->muted++;
	older_drop(o, 2);
	ok = older_name_part(o);
	o->muted--;
	return ok;
}

/* Those that begin with D. *is_new: it can be referred to. */
static bool d_type(struct older *o, bool *is_new)
{
	char c = older_peek(o, 1);

	*is_new = c == 't' || c == 'T' || c == 'p' || c == 'v' || c == 'o' || c == 'O' ||
		  c == 'w' || c == 'x';
	if (c == 'k' || c == 'K')
		return constrained_auto(o);
	older_copy(o, 2);
	switch (c) {
	case 't':
	case 'T':
		return older_expression(o) && older_take(o, 'E');
	case 'p':
		return older_type(o);
	case 'v':
		if (isdigit((unsigned char)older_peek(o, 0)))
			older_number(o);
		else if (older_take(o, '_') && !older_expression(o))
			return false;
		return older_take(o, '_') && older_type(o);
	case 'F':
		older_number(o);
		return older_take(o, '_') || older_take(o, 'b') || older_take(o, 'x');
	case 'B':
	case 'U':
		if (isdigit((unsigned char)older_peek(o, 0)))
			older_number(o);
		else if (!older_expression(o))
			return false;
		return older_take(o, '_');
	case 'O':
		return older_expression(o) && older_take(o, 'E') && function(o);
	case 'w':
		return older_types_until(o, "E") && older_take(o, 'E') && function(o);
	case 'o':
	case 'x':
		return function(o);
	}
	return c && strchr("adefhincsu", c);
}

/* A [n | EXPRESSION] _ TYPE */
static bool array(struct older *o)
{
	older_copy(o, 1);
	if (isdigit((unsigned char)older_peek(o, 0)))
		older_number(o);
	else if (older_peek(o, 0) != '_' && !older_expression(o))
		return false;
	return older_take(o, '_') && older_type(o);
}

static bool qualified(struct older *o)
{
	while (older_peek(o, 0) && strchr("rVK", older_peek(o, 0)))
		older_copy(o, 1);
	if (older_peek(o, 0) == 'F')
		return function(o);
	return older_type(o);
}

/* U NAME [ARGUMENTS] TYPE */
static bool vendor_qualified(struct older *o)
{
	older_copy(o, 1);
	return older_source_name(o) && (older_peek(o, 0) != 'I' || older_template_args(o)) &&
	       older_type(o);
}

static bool template_param_type(struct older *o, const char *start, unsigned first)
{
	if (older_peek(o, 1) && strchr("sue", older_peek(o, 1))) {
		older_copy(o, 2);
		return older_name_part(o);
	}
	if (!older_template_param(o))
		return false;
	return older_peek(o, 0) != 'I' ||
	       (older_add(o, start, first, OLDER_TYPE) && older_template_args(o));
}

static bool substitution_type(struct older *o, bool *is_new)
{
	if (!islower((unsigned char)older_peek(o, 1)))
		return older_reference_part(o, false, is_new);
	if (older_peek(o, 1) == 't')
		return older_name_part(o);
	older_copy(o, 2);
	if (!older_abi_tags(o))
		return false;
	*is_new = older_peek(o, 0) == 'I';
	return !*is_new || older_template_args(o);
}

static bool type(struct older *o, bool *is_new)
{
	char c = older_peek(o, 0);
	const char *start = o->p;
	unsigned first = older_next(o);

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
		older_copy(o, 1);
		return older_type(o);
	case 'F':
		return function(o);
	case 'A':
		return array(o);
	case 'M':
		older_copy(o, 1);
		return older_type(o) && older_type(o);
	case 'T':
		return template_param_type(o, start, first);
	case 'S':
		return substitution_type(o, is_new);
	case 'D':
		return d_type(o, is_new);
	case 'U':
		if (!older_at(o, 'U', 'l') && !older_at(o, 'U', 't'))
			return vendor_qualified(o);
		return older_name_part(o);
	case 'u':
		*is_new = false;
		return vendor_type(o, start, first);
	}
	if (c && strchr("vwbcahstijlmxynofdegz", c)) {
		*is_new = false;
		older_copy(o, 1);
		return true;
	}
	return older_name_part(o);
}

bool older_type(struct older *o)
{
	const char *start = o->p;
	unsigned first = older_next(o);
	bool is_new = true;

	if (!older_enter(o))
		return false;
	return older_leave(o,
			   type(o, &is_new) && (!is_new || older_add(o, start, first, OLDER_TYPE)));
}
