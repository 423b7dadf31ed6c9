/* cxx20_names.c - names; see cxx20.h. */
#include "demangle/cxx20.h"

#include <ctype.h>
#include <string.h>

bool cxx20_abi_tags(struct cxx20 *o)
{
	while (cxx20_take(o, 'B'))
		if (!cxx20_source_name(o))
			return false;
	return true;
}

bool cxx20_constraint(struct cxx20 *o)
{
	bool ok;

	if (cxx20_peek(o, 0) != 'Q')
		return true;
	o->muted++;
	cxx20_drop(o, 1);
	ok = cxx20_expression(o);
	o->muted--;
	return ok;
}

static bool is_param_decl(const struct cxx20 *o)
{
	return cxx20_peek(o, 0) == 'T' && cxx20_peek(o, 1) && strchr("yntpk", cxx20_peek(o, 1));
}

/* Ty, Tn TYPE, Tt DECL... E, Tp DECL, Tk CONCEPT */
static bool param_decl(struct cxx20 *o)
{
	char what = cxx20_peek(o, 1);
	bool ok = true;

	if (!cxx20_enter(o))
		return false;
	cxx20_copy(o, 2);
	if (what == 'n')
		ok = cxx20_type(o);
	else if (what == 'p')
		ok = is_param_decl(o) && param_decl(o);
	else if (what == 'k')
		ok = cxx20_name_part(o);
	else if (what == 't') {
		while (ok && is_param_decl(o))
			ok = param_decl(o);
		ok = ok && cxx20_constraint(o) && cxx20_take(o, 'E');
	}
	return cxx20_leave(o, ok);
}

/* Skips the declarations of template parameters that are here. */
static bool param_decls(struct cxx20 *o)
{
	bool ok = true;

	o->muted++;
	while (ok && is_param_decl(o))
		ok = param_decl(o);
	o->muted--;
	return ok;
}

bool cxx20_types_until(struct cxx20 *o, const char *ends)
{
	while (cxx20_peek(o, 0) && !strchr(ends, cxx20_peek(o, 0)))
		if (!cxx20_type(o))
			return false;
	return true;
}

/* Ul ... E_, Ut_ */
static bool unnamed(struct cxx20 *o)
{
	bool is_lambda = cxx20_peek(o, 1) == 'l';

	cxx20_copy(o, 2);
	if (is_lambda && (!param_decls(o) || !cxx20_constraint(o) || !cxx20_types_until(o, "EQ") ||
			  !cxx20_constraint(o) || !cxx20_take(o, 'E')))
		return false;
	return cxx20_number_end(o);
}

bool cxx20_operator_name(struct cxx20 *o)
{
	char a = cxx20_peek(o, 0);

	if (cxx20_at(o, 'c', 'v')) {
		cxx20_copy(o, 2);
		return cxx20_type(o);
	}
	if (cxx20_at(o, 'l', 'i')) {
		cxx20_copy(o, 2);
		return cxx20_source_name(o);
	}
	if (a == 'v' && isdigit((unsigned char)cxx20_peek(o, 1))) {
		cxx20_copy(o, 2);
		return cxx20_source_name(o);
	}
	if (!islower((unsigned char)a) || !isalpha((unsigned char)cxx20_peek(o, 1)))
		return false;
	cxx20_copy(o, 2);
	return true;
}

/* C1, CI1 TYPE, D0 */
static bool structor(struct cxx20 *o)
{
	bool inherits = cxx20_at(o, 'C', 'I');

	cxx20_copy(o, inherits ? 2 : 1);
	if (!isdigit((unsigned char)cxx20_peek(o, 0)))
		return false;
	cxx20_copy(o, 1);
	return !inherits || cxx20_type(o);
}

/* DC NAME... E */
static bool structured_binding(struct cxx20 *o)
{
	cxx20_copy(o, 2);
	while (isdigit((unsigned char)cxx20_peek(o, 0)))
		if (!cxx20_source_name(o))
			return false;
	return cxx20_take(o, 'E');
}

/* ABI tags of a constructor, destructor or conversion. If template arguments follow, libiberty does
 * not notice after a tag that the name has no return type, so the tags are left out there. */
static bool structor_tags(struct cxx20 *o)
{
	const char *p = o->p;
	bool ok;

	o->muted++;
	ok = cxx20_abi_tags(o);
	o->muted--;
	if (!ok || cxx20_peek(o, 0) == 'I')
		return ok;
	o->p = p;
	return cxx20_abi_tags(o);
}

/* A member-like friend is written as a member; the mark of internal linkage is kept. */
static bool unqualified(struct cxx20 *o)
{
	bool ok, has_no_return = false;

	if (!cxx20_enter(o))
		return false;
	if (cxx20_peek(o, 0) == 'F')
		cxx20_drop(o, 1);
	cxx20_take(o, 'L');
	if (isdigit((unsigned char)cxx20_peek(o, 0)))
		ok = cxx20_source_name(o);
	else if (cxx20_at(o, 'U', 'l') || cxx20_at(o, 'U', 't'))
		ok = unnamed(o);
	else if (cxx20_at(o, 'D', 'C'))
		ok = structured_binding(o);
	else if (cxx20_peek(o, 0) == 'C' || cxx20_peek(o, 0) == 'D')
		ok = has_no_return = structor(o);
	else {
		has_no_return = cxx20_at(o, 'c', 'v');
		ok = cxx20_operator_name(o);
	}
	ok = ok && (has_no_return ? structor_tags(o) : cxx20_abi_tags(o));
	return cxx20_leave(o, ok);
}

bool cxx20_unscoped(struct cxx20 *o)
{
	if (cxx20_at(o, 'S', 't'))
		cxx20_copy(o, 2);
	return unqualified(o);
}

/* A component of a nested name; *is_new: it becomes a reference. */
static bool component(struct cxx20 *o, bool *is_new)
{
	char c = cxx20_peek(o, 0);

	*is_new = true;
	if (c == 'I')
		return cxx20_template_args(o);
	if (c == 'T')
		return cxx20_template_param(o);
	if (cxx20_at(o, 'D', 't') || cxx20_at(o, 'D', 'T')) {
		cxx20_copy(o, 2);
		return cxx20_expression(o) && cxx20_take(o, 'E');
	}
	if (c != 'S')
		return unqualified(o);
	*is_new = false;
	if (islower((unsigned char)cxx20_peek(o, 1))) {
		cxx20_copy(o, 2);
		return cxx20_abi_tags(o);
	}
	return cxx20_reference_part(o, true, is_new);
}

bool cxx20_prefix(struct cxx20 *o, const char *stop)
{
	const char *start = o->p;
	unsigned first = cxx20_next(o);
	bool is_new = false;

	while (stop ? o->p < stop : cxx20_peek(o, 0) != 'E') {
		if (cxx20_take(o, 'M'))
			continue;
		if (!component(o, &is_new))
			return false;
		if (is_new && (stop || cxx20_peek(o, 0) != 'E') &&
		    !cxx20_add(o, start, first, OLDER_PREFIX))
			return false;
	}
	return o->p > start;
}

/* N [H] [qualifiers] ... E */
static bool nested(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (cxx20_peek(o, 0) == 'H')
		cxx20_drop(o, 1);
	while (cxx20_peek(o, 0) && strchr("rVKRO", cxx20_peek(o, 0)))
		cxx20_copy(o, 1);
	return cxx20_prefix(o, NULL) && cxx20_take(o, 'E');
}

static bool discriminator(struct cxx20 *o)
{
	if (cxx20_at(o, '_', '_')) {
		cxx20_copy(o, 2);
		return cxx20_number_end(o);
	}
	if (cxx20_peek(o, 0) == '_' && isdigit((unsigned char)cxx20_peek(o, 1)))
		cxx20_copy(o, 2);
	return true;
}

/* Z FUNCTION E NAME, Z FUNCTION Es, Z FUNCTION Ed [n]_ NAME */
static bool local(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (!cxx20_encoding(o) || !cxx20_take(o, 'E'))
		return false;
	if (cxx20_take(o, 's'))
		return discriminator(o);
	if (cxx20_peek(o, 0) == 'd' && (cxx20_peek(o, 1) == '_' || cxx20_peek(o, 1) == 'n' ||
					isdigit((unsigned char)cxx20_peek(o, 1)))) {
		cxx20_copy(o, 1);
		if (!cxx20_number_end(o))
			return false;
	}
	return cxx20_name_part(o) && discriminator(o);
}

bool cxx20_name_part(struct cxx20 *o)
{
	const char *start = o->p;
	unsigned first = cxx20_next(o);
	bool ok, is_new = false;

	if (!cxx20_enter(o))
		return false;
	if (*start == 'N')
		ok = nested(o);
	else if (*start == 'Z')
		ok = local(o);
	else if (*start == 'S' && !islower((unsigned char)cxx20_peek(o, 1)))
		ok = cxx20_reference_part(o, false, &is_new);
	else if (*start == 'S' && cxx20_peek(o, 1) != 't') {
		cxx20_copy(o, 2);
		ok = cxx20_abi_tags(o) && (cxx20_peek(o, 0) != 'I' || cxx20_template_args(o));
	} else {
		ok = cxx20_unscoped(o);
		if (ok && cxx20_peek(o, 0) == 'I')
			ok = cxx20_add(o, start, first, OLDER_TEMPLATE) && cxx20_template_args(o);
	}
	return cxx20_leave(o, ok);
}

bool cxx20_template_param(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (cxx20_peek(o, 0) == 'L') { /* parameter of a lambda: its level is left out */
		cxx20_drop(o, 1);
		while (isdigit((unsigned char)cxx20_peek(o, 0)))
			cxx20_drop(o, 1);
		if (cxx20_peek(o, 0) != '_')
			return false;
		cxx20_drop(o, 1);
	}
	while (isdigit((unsigned char)cxx20_peek(o, 0)))
		cxx20_copy(o, 1);
	return cxx20_take(o, '_');
}

bool cxx20_template_arg(struct cxx20 *o)
{
	bool ok = param_decls(o);

	if (!ok || !cxx20_enter(o))
		return false;
	if (cxx20_take(o, 'X')) {
		ok = cxx20_expression(o) && cxx20_take(o, 'E');
	} else if (cxx20_peek(o, 0) == 'L') {
		ok = cxx20_expression(o);
	} else if (cxx20_take(o, 'J')) {
		while (ok && cxx20_peek(o, 0) != 'E')
			ok = cxx20_template_arg(o);
		ok = ok && cxx20_take(o, 'E');
	} else {
		ok = cxx20_type(o);
	}
	return cxx20_leave(o, ok);
}

bool cxx20_template_args(struct cxx20 *o)
{
	if (!cxx20_take(o, 'I'))
		return false;
	while (cxx20_peek(o, 0) != 'E' && cxx20_peek(o, 0) != 'Q')
		if (!cxx20_template_arg(o))
			return false;
	return cxx20_constraint(o) && cxx20_take(o, 'E');
}
