/* older_expr.c - expressions; see older.h. */
#include "symbolize/older.h"

#include <ctype.h>
#include <string.h>

typedef bool part_fn(struct older *o);

static bool expressions_until_end(struct older *o)
{
	while (older_peek(o, 0) != 'E')
		if (!older_expression(o))
			return false;
	return older_take(o, 'E');
}

/* L TYPE VALUE E, L _Z ENCODING E */
static bool literal(struct older *o)
{
	older_copy(o, 1);
	if (older_at(o, '_', 'Z') || older_peek(o, 0) == 'Z') {
		older_copy(o, older_peek(o, 0) == 'Z' ? 1 : 2);
		return older_encoding(o) && older_take(o, 'E');
	}
	if (!older_type(o))
		return false;
	while (isalnum((unsigned char)older_peek(o, 0)) || older_peek(o, 0) == '_') {
		if (older_take(o, 'E'))
			return true;
		older_copy(o, 1);
	}
	return false;
}

/* fp [qualifiers] [n] _, fpT, fL n p [qualifiers] [n] _ */
static bool function_param(struct older *o)
{
	bool outer = older_peek(o, 1) == 'L';

	older_copy(o, 2);
	if (!outer && older_take(o, 'T'))
		return true;
	if (outer) {
		older_number(o);
		if (!older_take(o, 'p'))
			return false;
	}
	while (older_peek(o, 0) && strchr("rVK", older_peek(o, 0)))
		older_copy(o, 1);
	older_number(o);
	return older_take(o, '_');
}

/* fl OP X, fr OP X, fL OP X Y, fR OP X Y */
static bool fold(struct older *o)
{
	bool both = isupper((unsigned char)older_peek(o, 1));

	older_copy(o, 4);
	return older_expression(o) && (!both || older_expression(o));
}

/* NAME [ARGUMENTS] */
static bool simple_id(struct older *o)
{
	return older_source_name(o) && (older_peek(o, 0) != 'I' || older_template_args(o));
}

static bool base_unresolved_name(struct older *o)
{
	if (older_at(o, 'd', 'n')) {
		older_copy(o, 2);
		return isdigit((unsigned char)older_peek(o, 0)) ? simple_id(o) : older_type(o);
	}
	if (isdigit((unsigned char)older_peek(o, 0)))
		return simple_id(o);
	if (older_at(o, 'o', 'n'))
		older_copy(o, 2);
	return older_operator_name(o) && (older_peek(o, 0) != 'I' || older_template_args(o));
}

/* In the nested name of a type, all parts of which libiberty can refer to. */
static bool levels_of_type(struct older *o)
{
	while (older_peek(o, 0) != 'E') {
		if (!older_source_name(o))
			return false;
		o->n_out += !o->muted;
		if (older_peek(o, 0) != 'I')
			continue;
		if (!older_template_args(o))
			return false;
		o->n_out += !o->muted;
	}
	return older_take(o, 'E');
}

static bool look_for_levels(struct older *o)
{
	const char *p = o->p;
	unsigned depth = o->depth, n = o->n, again = o->again;
	bool ok;

	o->muted++;
	ok = levels_of_type(o) && (isdigit((unsigned char)older_peek(o, 0)) ||
				   older_at(o, 'o', 'n') || older_at(o, 'd', 'n'));
	o->muted--;
	o->p = p;
	o->depth = depth;
	o->n = n;
	o->again = again;
	return ok;
}

/* Behind sr: LEVEL... E NAME as clang has it, in which nothing can be referred to? gcc's has a type
 * there, and no E. The answer is remembered: levels have arguments with others in them, and to look
 * at each anew would take twice the time for each level. */
static bool begins_with_levels(struct older *o)
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

/* sr TYPE NAME, and clang's sr LEVEL... E NAME and srN TYPE LEVEL... E NAME. libiberty wants a type
 * behind sr. */
static bool unresolved_name(struct older *o)
{
	char in_nested = older_peek(o, 3);
	bool is_levels;

	older_copy(o, 2);
	if (older_peek(o, 0) == 'N' && (in_nested == 'T' || in_nested == 'D' ||
					(in_nested == 'S' && older_peek(o, 2) != 't'))) {
		older_copy(o, 1);
		return older_type(o) && levels_of_type(o) && base_unresolved_name(o);
	}
	is_levels = isdigit((unsigned char)older_peek(o, 0)) && begins_with_levels(o);
	if (is_levels)
		older_write(o, "N");
	return (is_levels ? levels_of_type(o) : older_type(o)) && base_unresolved_name(o);
}

/* nw ARG... _ TYPE (E | pi ARG... E) */
static bool new_expression(struct older *o)
{
	older_copy(o, 2);
	while (older_peek(o, 0) != '_')
		if (!older_expression(o))
			return false;
	older_copy(o, 1);
	if (!older_type(o))
		return false;
	if (older_at(o, 'p', 'i')) {
		older_copy(o, 2);
		return expressions_until_end(o);
	}
	return older_peek(o, 0) == 'i' ? older_expression(o) : older_take(o, 'E');
}

/* X EXPRESSION [N] [R CONCEPT], T TYPE, Q EXPRESSION; until E */
static bool requirements(struct older *o)
{
	bool ok = true;

	while (ok && !older_take(o, 'E')) {
		if (older_take(o, 'X')) {
			ok = older_expression(o);
			older_take(o, 'N');
			if (ok && older_take(o, 'R'))
				ok = older_name_part(o);
		} else if (older_take(o, 'T')) {
			ok = older_type(o);
		} else {
			ok = older_take(o, 'Q') && older_expression(o);
		}
	}
	return ok;
}

/* rq REQUIREMENTS, rQ PARAMETER... _ REQUIREMENTS */
static bool requires_expression(struct older *o)
{
	bool params = older_peek(o, 1) == 'Q';

	older_copy(o, 2);
	while (params && !older_take(o, '_'))
		if (!older_type(o))
			return false;
	return requirements(o);
}

/* cv TYPE X, cv TYPE _ X... E */
static bool conversion(struct older *o)
{
	older_copy(o, 2);
	if (!older_type(o))
		return false;
	return older_take(o, '_') ? expressions_until_end(o) : older_expression(o);
}

/* u NAME ARGUMENT... E */
static bool vendor_expression(struct older *o)
{
	older_copy(o, 1);
	if (!older_source_name(o))
		return false;
	while (older_peek(o, 0) != 'E')
		if (!older_template_arg(o))
			return false;
	return older_take(o, 'E');
}

/* so TYPE X [OFFSET] [_ N]... [p] E, mc TYPE X [OFFSET] E */
static bool subobject(struct older *o)
{
	older_copy(o, 2);
	if (!older_type(o) || !older_expression(o))
		return false;
	older_number(o);
	while (older_take(o, '_'))
		older_number(o);
	older_take(o, 'p');
	return older_take(o, 'E');
}

static bool pack_arguments(struct older *o)
{
	older_copy(o, 2);
	while (older_peek(o, 0) != 'E')
		if (!older_template_arg(o))
			return false;
	return older_take(o, 'E');
}

/* What follows an operator: x an expression, t a type, n a name behind . or ->, * expressions and
 * E, _ an underscore that may be. */
static bool operands(struct older *o, const char *what)
{
	bool ok = true;

	older_copy(o, 2);
	for (; ok && *what; what++) {
		switch (*what) {
		case 'x':
			ok = older_expression(o);
			break;
		case 't':
			ok = older_type(o);
			break;
		case 'n':
			if (older_at(o, 's', 'r') || older_peek(o, 0) == 'T' ||
			    older_at(o, 'c', 'v'))
				ok = older_expression(o);
			else
				ok = base_unresolved_name(o);
			break;
		case '*':
			ok = expressions_until_end(o);
			break;
		case '_':
			older_take(o, '_');
			break;
		}
	}
	return ok;
}

static const struct operation {
	char code[3];
	const char *operands; /* NULL: by `read` */
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

static bool expression(struct older *o)
{
	char a = older_peek(o, 0), b = older_peek(o, 1);
	size_t i;

	if (a == 'L')
		return literal(o);
	if (a == 'T')
		return older_type(o);
	if (isdigit((unsigned char)a))
		return simple_id(o);
	if (a == 'u')
		return vendor_expression(o);
	if (a == 'f' && (b == 'p' || (b == 'L' && isdigit((unsigned char)older_peek(o, 2)))))
		return function_param(o);
	if (a == 'f' && b && strchr("lrLR", b))
		return fold(o);
	for (i = 0; i < sizeof operations / sizeof *operations; i++) {
		if (!older_at(o, operations[i].code[0], operations[i].code[1]))
			continue;
		return operations[i].read ? operations[i].read(o)
					  : operands(o, operations[i].operands);
	}
	return false;
}

bool older_expression(struct older *o)
{
	return older_enter(o) && older_leave(o, expression(o));
}
