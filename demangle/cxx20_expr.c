/* cxx20_expr.c - expressions; see cxx20.h. */
#include "demangle/cxx20.h"

#include <ctype.h>
#include <string.h>

typedef bool part_fn(struct cxx20 *o);

static bool expressions_until_end(struct cxx20 *o)
{
	while (cxx20_peek(o, 0) != 'E')
		if (!cxx20_expression(o))
			return false;
	return cxx20_take(o, 'E');
}

/* L TYPE VALUE E, L _Z ENCODING E */
static bool literal(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (cxx20_at(o, '_', 'Z') || cxx20_peek(o, 0) == 'Z') {
		cxx20_copy(o, cxx20_peek(o, 0) == 'Z' ? 1 : 2);
		return cxx20_encoding(o) && cxx20_take(o, 'E');
	}
	if (!cxx20_type(o))
		return false;
	while (isalnum((unsigned char)cxx20_peek(o, 0)) || cxx20_peek(o, 0) == '_') {
		if (cxx20_take(o, 'E'))
			return true;
		cxx20_copy(o, 1);
	}
	return false;
}

/* fp [qualifiers] [n] _, fpT, fL n p [qualifiers] [n] _ */
static bool function_param(struct cxx20 *o)
{
	bool outer = cxx20_peek(o, 1) == 'L';

	cxx20_copy(o, 2);
	if (!outer && cxx20_take(o, 'T'))
		return true;
	if (outer) {
		cxx20_number(o);
		if (!cxx20_take(o, 'p'))
			return false;
	}
	while (cxx20_peek(o, 0) && strchr("rVK", cxx20_peek(o, 0)))
		cxx20_copy(o, 1);
	cxx20_number(o);
	return cxx20_take(o, '_');
}

/* fl OP X, fr OP X, fL OP X Y, fR OP X Y */
static bool fold(struct cxx20 *o)
{
	bool both = isupper((unsigned char)cxx20_peek(o, 1));

	cxx20_copy(o, 4);
	return cxx20_expression(o) && (!both || cxx20_expression(o));
}

/* NAME [ARGUMENTS] */
static bool simple_id(struct cxx20 *o)
{
	return cxx20_source_name(o) && (cxx20_peek(o, 0) != 'I' || cxx20_template_args(o));
}

static bool base_unresolved_name(struct cxx20 *o)
{
	if (cxx20_at(o, 'd', 'n')) {
		cxx20_copy(o, 2);
		return isdigit((unsigned char)cxx20_peek(o, 0)) ? simple_id(o) : cxx20_type(o);
	}
	if (isdigit((unsigned char)cxx20_peek(o, 0)))
		return simple_id(o);
	if (cxx20_at(o, 'o', 'n'))
		cxx20_copy(o, 2);
	return cxx20_operator_name(o) && (cxx20_peek(o, 0) != 'I' || cxx20_template_args(o));
}

/* Levels in the nested name of a type: libiberty counts each of them as a reference. */
static bool levels_of_type(struct cxx20 *o)
{
	while (cxx20_peek(o, 0) != 'E') {
		if (!cxx20_source_name(o))
			return false;
		o->n_out += !o->muted;
		if (cxx20_peek(o, 0) != 'I')
			continue;
		if (!cxx20_template_args(o))
			return false;
		o->n_out += !o->muted;
	}
	return cxx20_take(o, 'E');
}

static bool look_for_levels(struct cxx20 *o)
{
	const char *p = o->p;
	unsigned depth = o->depth, n = o->n, again = o->again;
	bool ok;

	o->muted++;
	ok = levels_of_type(o) && (isdigit((unsigned char)cxx20_peek(o, 0)) ||
				   cxx20_at(o, 'o', 'n') || cxx20_at(o, 'd', 'n'));
	o->muted--;
	o->p = p;
	o->depth = depth;
	o->n = n;
	o->again = again;
	return ok;
}

/* Is it clang's LEVEL... E NAME after sr, in which no part can be referred to? gcc has a type
 * there, and no E. The result is remembered: levels have arguments with other levels in them, and
 * parsing each of them again would double the time with each level. */
static bool begins_with_levels(struct cxx20 *o)
{
	size_t at = (size_t)(o->p - o->name);
	uint64_t bit = 1ull << at % 64;

	if (at >= OLDER_LOOKS_MAX)
		return look_for_levels(o);
	if (!(o->looked[at / 64] & bit)) {
		o->looked[at / 64] |= bit;
		if (look_for_levels(o))
			o->levels[at / 64] |= bit;
	}
	return o->levels[at / 64] & bit;
}

/* sr TYPE NAME, and clang's sr LEVEL... E NAME and srN TYPE LEVEL... E NAME. libiberty expects a
 * type after sr. */
static bool unresolved_name(struct cxx20 *o)
{
	char in_nested = cxx20_peek(o, 3);
	bool is_levels;

	cxx20_copy(o, 2);
	if (cxx20_peek(o, 0) == 'N' && (in_nested == 'T' || in_nested == 'D' ||
					(in_nested == 'S' && cxx20_peek(o, 2) != 't'))) {
		cxx20_copy(o, 1);
		return cxx20_type(o) && levels_of_type(o) && base_unresolved_name(o);
	}
	is_levels = isdigit((unsigned char)cxx20_peek(o, 0)) && begins_with_levels(o);
	if (is_levels)
		cxx20_write(o, "N");
	return (is_levels ? levels_of_type(o) : cxx20_type(o)) && base_unresolved_name(o);
}

/* nw ARG... _ TYPE (E | pi ARG... E) */
static bool new_expression(struct cxx20 *o)
{
	cxx20_copy(o, 2);
	while (cxx20_peek(o, 0) != '_')
		if (!cxx20_expression(o))
			return false;
	cxx20_copy(o, 1);
	if (!cxx20_type(o))
		return false;
	if (cxx20_at(o, 'p', 'i')) {
		cxx20_copy(o, 2);
		return expressions_until_end(o);
	}
	return cxx20_peek(o, 0) == 'i' ? cxx20_expression(o) : cxx20_take(o, 'E');
}

/* X EXPRESSION [N] [R CONCEPT], T TYPE, Q EXPRESSION; until E */
static bool requirements(struct cxx20 *o)
{
	bool ok = true;

	while (ok && !cxx20_take(o, 'E')) {
		if (cxx20_take(o, 'X')) {
			ok = cxx20_expression(o);
			cxx20_take(o, 'N');
			if (ok && cxx20_take(o, 'R'))
				ok = cxx20_name_part(o);
		} else if (cxx20_take(o, 'T')) {
			ok = cxx20_type(o);
		} else {
			ok = cxx20_take(o, 'Q') && cxx20_expression(o);
		}
	}
	return ok;
}

/* rq REQUIREMENTS, rQ PARAMETER... _ REQUIREMENTS */
static bool requires_expression(struct cxx20 *o)
{
	bool params = cxx20_peek(o, 1) == 'Q';

	cxx20_copy(o, 2);
	while (params && !cxx20_take(o, '_'))
		if (!cxx20_type(o))
			return false;
	return requirements(o);
}

/* cv TYPE X, cv TYPE _ X... E */
static bool conversion(struct cxx20 *o)
{
	cxx20_copy(o, 2);
	if (!cxx20_type(o))
		return false;
	return cxx20_take(o, '_') ? expressions_until_end(o) : cxx20_expression(o);
}

/* u NAME ARGUMENT... E */
static bool vendor_expression(struct cxx20 *o)
{
	cxx20_copy(o, 1);
	if (!cxx20_source_name(o))
		return false;
	while (cxx20_peek(o, 0) != 'E')
		if (!cxx20_template_arg(o))
			return false;
	return cxx20_take(o, 'E');
}

/* so TYPE X [OFFSET] [_ N]... [p] E, mc TYPE X [OFFSET] E */
static bool subobject(struct cxx20 *o)
{
	cxx20_copy(o, 2);
	if (!cxx20_type(o) || !cxx20_expression(o))
		return false;
	cxx20_number(o);
	while (cxx20_take(o, '_'))
		cxx20_number(o);
	cxx20_take(o, 'p');
	return cxx20_take(o, 'E');
}

static bool pack_arguments(struct cxx20 *o)
{
	cxx20_copy(o, 2);
	while (cxx20_peek(o, 0) != 'E')
		if (!cxx20_template_arg(o))
			return false;
	return cxx20_take(o, 'E');
}

/* Parses the operands of an operator: x an expression, t a type, n a name after . or ->, *
 * expressions up to E, _ an optional underscore. */
static bool operands(struct cxx20 *o, const char *what)
{
	bool ok = true;

	cxx20_copy(o, 2);
	for (; ok && *what; what++) {
		switch (*what) {
		case 'x':
			ok = cxx20_expression(o);
			break;
		case 't':
			ok = cxx20_type(o);
			break;
		case 'n':
			if (cxx20_at(o, 's', 'r') || cxx20_peek(o, 0) == 'T' ||
			    cxx20_at(o, 'c', 'v'))
				ok = cxx20_expression(o);
			else
				ok = base_unresolved_name(o);
			break;
		case '*':
			ok = expressions_until_end(o);
			break;
		case '_':
			cxx20_take(o, '_');
			break;
		}
	}
	return ok;
}

static const struct operation {
	char code[3];
	const char *operands; /* NULL: parsed by `read` */
	part_fn *read;
} operations[] = {
	{"ps", "x", NULL},
	{"ng", "x", NULL},
	{"ad", "x", NULL},
	{"de", "x", NULL},
	{"co", "x", NULL},
	{"pp", "_x", NULL},
	{"mm", "_x", NULL},
	{"nt", "x", NULL},
	{"da", "x", NULL},
	{"dl", "x", NULL},
	{"te", "x", NULL},
	{"sz", "x", NULL},
	{"az", "x", NULL},
	{"nx", "x", NULL},
	{"tw", "x", NULL},
	{"sp", "x", NULL},
	{"aw", "x", NULL},
	{"an", "xx", NULL},
	{"aN", "xx", NULL},
	{"aS", "xx", NULL},
	{"aa", "xx", NULL},
	{"pl", "xx", NULL},
	{"pL", "xx", NULL},
	{"mi", "xx", NULL},
	{"mI", "xx", NULL},
	{"ml", "xx", NULL},
	{"mL", "xx", NULL},
	{"dv", "xx", NULL},
	{"dV", "xx", NULL},
	{"rm", "xx", NULL},
	{"rM", "xx", NULL},
	{"or", "xx", NULL},
	{"oR", "xx", NULL},
	{"eo", "xx", NULL},
	{"eO", "xx", NULL},
	{"eq", "xx", NULL},
	{"ne", "xx", NULL},
	{"lt", "xx", NULL},
	{"gt", "xx", NULL},
	{"le", "xx", NULL},
	{"ge", "xx", NULL},
	{"ls", "xx", NULL},
	{"lS", "xx", NULL},
	{"rs", "xx", NULL},
	{"rS", "xx", NULL},
	{"ss", "xx", NULL},
	{"oo", "xx", NULL},
	{"cm", "xx", NULL},
	{"pm", "xx", NULL},
	{"ix", "xx", NULL},
	{"ds", "xx", NULL},
	{"qu", "xxx", NULL},
	{"di", "nx", NULL},
	{"dx", "xx", NULL},
	{"dX", "xxx", NULL},
	{"ti", "t", NULL},
	{"st", "t", NULL},
	{"at", "t", NULL},
	{"dc", "tx", NULL},
	{"sc", "tx", NULL},
	{"cc", "tx", NULL},
	{"rc", "tx", NULL},
	{"dt", "xn", NULL},
	{"pt", "xn", NULL},
	{"cl", "*", NULL},
	{"cp", "*", NULL},
	{"tl", "t*", NULL},
	{"il", "*", NULL},
	{"tr", "", NULL},
	{"gs", "x", NULL},
	{"sZ", "x", NULL},
	{"on", NULL, base_unresolved_name},
	{"sr", NULL, unresolved_name},
	{"nw", NULL, new_expression},
	{"na", NULL, new_expression},
	{"rq", NULL, requires_expression},
	{"rQ", NULL, requires_expression},
	{"cv", NULL, conversion},
	{"so", NULL, subobject},
	{"mc", NULL, subobject},
	{"sP", NULL, pack_arguments},
	{"dn", NULL, base_unresolved_name},
};

static bool expression(struct cxx20 *o)
{
	char a = cxx20_peek(o, 0), b = cxx20_peek(o, 1);
	size_t i;

	if (a == 'L')
		return literal(o);
	if (a == 'T')
		return cxx20_type(o);
	if (isdigit((unsigned char)a))
		return simple_id(o);
	if (a == 'u')
		return vendor_expression(o);
	if (a == 'f' && (b == 'p' || (b == 'L' && isdigit((unsigned char)cxx20_peek(o, 2)))))
		return function_param(o);
	if (a == 'f' && b && strchr("lrLR", b))
		return fold(o);
	for (i = 0; i < sizeof operations / sizeof *operations; i++) {
		if (!cxx20_at(o, operations[i].code[0], operations[i].code[1]))
			continue;
		return operations[i].read ? operations[i].read(o)
					  : operands(o, operations[i].operands);
	}
	return false;
}

bool cxx20_expression(struct cxx20 *o)
{
	return cxx20_enter(o) && cxx20_leave(o, expression(o));
}
