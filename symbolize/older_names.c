/* older_names.c - names; see older.h. */
#include "symbolize/older.h"

#include <ctype.h>
#include <string.h>

bool older_abi_tags(struct older *o)
{
	while (older_take(o, 'B'))
		if (!older_source_name(o))
			return false;
	return true;
}

bool older_constraint(struct older *o)
{
	bool ok;

	if (older_peek(o, 0) != 'Q')
		return true;
	o->muted++;
	older_drop(o, 1);
	ok = older_expression(o);
	o->muted--;
	return ok;
}

static bool is_param_decl(const struct older *o)
{
	return older_peek(o, 0) == 'T' && older_peek(o, 1) && strchr("yntpk", older_peek(o, 1));
}

/* Ty, Tn TYPE, Tt DECL... E, Tp DECL, Tk CONCEPT */
static bool param_decl(struct older *o)
{
	char what = older_peek(o, 1);
	bool ok = true;

	if (!older_enter(o))
		return false;
	older_copy(o, 2);
	if (what == 'n')
		ok = older_type(o);
	else if (what == 'p')
		ok = is_param_decl(o) && param_decl(o);
	else if (what == 'k')
		ok = older_name_part(o);
	else if (what == 't') {
		while (ok && is_param_decl(o))
			ok = param_decl(o);
		ok = ok && older_constraint(o) && older_take(o, 'E');
	}
	return older_leave(o, ok);
}

bool older_param_decls(struct older *o)
{
	bool ok = true;

	o->muted++;
	while (ok && is_param_decl(o))
		ok = param_decl(o);
	o->muted--;
	return ok;
}

bool older_types_until(struct older *o, const char *ends)
{
	while (older_peek(o, 0) && !strchr(ends, older_peek(o, 0)))
		if (!older_type(o))
			return false;
	return true;
}

/* Ul ... E_, Ut_ */
static bool unnamed(struct older *o)
{
	bool is_lambda = older_peek(o, 1) == 'l';

	older_copy(o, 2);
	if (is_lambda &&
	    (!older_param_decls(o) || !older_constraint(o) || !older_types_until(o, "EQ") ||
	     !older_constraint(o) || !older_take(o, 'E')))
		return false;
	return older_number_end(o);
}

bool older_operator_name(struct older *o)
{
	char a = older_peek(o, 0);

	if (older_at(o, 'c', 'v')) {
		older_copy(o, 2);
		return older_type(o);
	}
	if (older_at(o, 'l', 'i')) {
		older_copy(o, 2);
		return older_source_name(o);
	}
	if (a == 'v' && isdigit((unsigned char)older_peek(o, 1))) {
		older_copy(o, 2);
		return older_source_name(o);
	}
	if (!islower((unsigned char)a) || !isalpha((unsigned char)older_peek(o, 1)))
		return false;
	older_copy(o, 2);
	return true;
}

/* C1, CI1 TYPE, D0 */
static bool structor(struct older *o)
{
	bool inherits = older_at(o, 'C', 'I');

	older_copy(o, inherits ? 2 : 1);
	if (!isdigit((unsigned char)older_peek(o, 0)))
		return false;
	older_copy(o, 1);
	return !inherits || older_type(o);
}

/* DC NAME... E */
static bool structured_binding(struct older *o)
{
	older_copy(o, 2);
	while (isdigit((unsigned char)older_peek(o, 0)))
		if (!older_source_name(o))
			return false;
	return older_take(o, 'E');
}

/* Of a constructor, destructor or conversion. Where template arguments follow, libiberty does not
 * see behind a tag that the name tells no type to return: there they are left out. */
static bool structor_tags(struct older *o)
{
	const char *p = o->p;
	bool ok;

	o->muted++;
	ok = older_abi_tags(o);
	o->muted--;
	if (!ok || older_peek(o, 0) == 'I')
		return ok;
	o->p = p;
	return older_abi_tags(o);
}

/* A member-like friend is a member, and where it has no external linkage does not matter. */
static bool unqualified(struct older *o)
{
	bool ok, has_no_return = false;

	if (!older_enter(o))
		return false;
	if (older_peek(o, 0) == 'F')
		older_drop(o, 1);
	older_take(o, 'L');
	if (isdigit((unsigned char)older_peek(o, 0)))
		ok = older_source_name(o);
	else if (older_at(o, 'U', 'l') || older_at(o, 'U', 't'))
		ok = unnamed(o);
	else if (older_at(o, 'D', 'C'))
		ok = structured_binding(o);
	else if (older_peek(o, 0) == 'C' || older_peek(o, 0) == 'D')
		ok = has_no_return = structor(o);
	else {
		has_no_return = older_at(o, 'c', 'v');
		ok = older_operator_name(o);
	}
	ok = ok && (has_no_return ? structor_tags(o) : older_abi_tags(o));
	return older_leave(o, ok);
}

bool older_unscoped(struct older *o)
{
	if (older_at(o, 'S', 't'))
		older_copy(o, 2);
	return unqualified(o);
}

/* One of a nested name's; *is_new: it can be referred to. */
static bool component(struct older *o, bool *is_new)
{
	char c = older_peek(o, 0);

	*is_new = true;
	if (c == 'I')
		return older_template_args(o);
	if (c == 'T')
		return older_template_param(o);
	if (older_at(o, 'D', 't') || older_at(o, 'D', 'T')) {
		older_copy(o, 2);
		return older_expression(o) && older_take(o, 'E');
	}
	if (c != 'S')
		return unqualified(o);
	*is_new = false;
	if (islower((unsigned char)older_peek(o, 1))) {
		older_copy(o, 2);
		return older_abi_tags(o);
	}
	return older_reference_part(o, true, is_new);
}

bool older_prefix(struct older *o, const char *stop)
{
	const char *start = o->p;
	unsigned first = older_next(o);
	bool is_new = false;

	while (stop ? o->p < stop : older_peek(o, 0) != 'E') {
		if (older_take(o, 'M'))
			continue;
		if (!component(o, &is_new))
			return false;
		if (is_new && (stop || older_peek(o, 0) != 'E') &&
		    !older_add(o, start, first, OLDER_PREFIX))
			return false;
	}
	return o->p > start;
}

/* N [H] [qualifiers] ... E */
static bool nested(struct older *o)
{
	older_copy(o, 1);
	if (older_peek(o, 0) == 'H')
		older_drop(o, 1);
	while (older_peek(o, 0) && strchr("rVKRO", older_peek(o, 0)))
		older_copy(o, 1);
	return older_prefix(o, NULL) && older_take(o, 'E');
}

static bool discriminator(struct older *o)
{
	if (older_at(o, '_', '_')) {
		older_copy(o, 2);
		return older_number_end(o);
	}
	if (older_peek(o, 0) == '_' && isdigit((unsigned char)older_peek(o, 1)))
		older_copy(o, 2);
	return true;
}

/* Z FUNCTION E NAME, Z FUNCTION Es, Z FUNCTION Ed [n]_ NAME */
static bool local(struct older *o)
{
	older_copy(o, 1);
	if (!older_encoding(o) || !older_take(o, 'E'))
		return false;
	if (older_take(o, 's'))
		return discriminator(o);
	if (older_peek(o, 0) == 'd' && (older_peek(o, 1) == '_' || older_peek(o, 1) == 'n' ||
					isdigit((unsigned char)older_peek(o, 1)))) {
		older_copy(o, 1);
		if (!older_number_end(o))
			return false;
	}
	return older_name_part(o) && discriminator(o);
}

bool older_name_part(struct older *o)
{
	const char *start = o->p;
	unsigned first = older_next(o);
	bool ok, is_new = false;

	if (!older_enter(o))
		return false;
	if (*start == 'N')
		ok = nested(o);
	else if (*start == 'Z')
		ok = local(o);
	else if (*start == 'S' && !islower((unsigned char)older_peek(o, 1)))
		ok = older_reference_part(o, false, &is_new);
	else if (*start == 'S' && older_peek(o, 1) != 't') {
		older_copy(o, 2);
		ok = older_abi_tags(o) && (older_peek(o, 0) != 'I' || older_template_args(o));
	} else {
		ok = older_unscoped(o);
		if (ok && older_peek(o, 0) == 'I')
			ok = older_add(o, start, first, OLDER_TEMPLATE) && older_template_args(o);
	}
	return older_leave(o, ok);
}

bool older_template_param(struct older *o)
{
	older_copy(o, 1);
	if (older_peek(o, 0) == 'L') { /* of a lambda: which one is not told apart */
		older_drop(o, 1);
		while (isdigit((unsigned char)older_peek(o, 0)))
			older_drop(o, 1);
		if (older_peek(o, 0) != '_')
			return false;
		older_drop(o, 1);
	}
	while (isdigit((unsigned char)older_peek(o, 0)))
		older_copy(o, 1);
	return older_take(o, '_');
}

bool older_template_arg(struct older *o)
{
	bool ok = older_param_decls(o);

	if (!ok || !older_enter(o))
		return false;
	if (older_take(o, 'X')) {
		ok = older_expression(o) && older_take(o, 'E');
	} else if (older_peek(o, 0) == 'L') {
		ok = older_expression(o);
	} else if (older_take(o, 'J')) {
		while (ok && older_peek(o, 0) != 'E')
			ok = older_template_arg(o);
		ok = ok && older_take(o, 'E');
	} else {
		ok = older_type(o);
	}
	return older_leave(o, ok);
}

bool older_template_args(struct older *o)
{
	if (!older_take(o, 'I'))
		return false;
	while (older_peek(o, 0) != 'E' && older_peek(o, 0) != 'Q')
		if (!older_template_arg(o))
			return false;
	return older_constraint(o) && older_take(o, 'E');
}
