/* mangle.c - writes names of C++ functions as compilers do for linkers.
 *
 * gcc gives functions of internal linkage no DW_AT_linkage_name. Where they are inlined everywhere
 * no symbol is left either, but DWARF has their scopes, template arguments and parameters. Written
 * as a linkage name they take the same way as all other names: the demangler spells them, so that
 * they look and merge as others do. What is left out is what never shows: substitutions and
 * T_ for template parameters. What DWARF does not tell does: lambdas have no number, expressions in
 * a template's signature have been evaluated.
 *
 * An identifier may hold any characters, since its length stands before it: that is how operators
 * and names with template arguments that are not told one by one get through. */
#include "dwarf/mangle.h"

#include <stdlib.h>
#include <string.h>

#include "dwarf/mangler.h"

enum { SIBLINGS_MAX = 256 };

/* ---- types ------------------------------------------------------------------------------- */

/* typedef struct {} name: a DIE behind the class's own. */
static const char *typedef_of(struct mangler *m, const struct dwarf_die *class)
{
	struct dwarf_die d = *class;
	unsigned i;

	for (i = 0; i < SIBLINGS_MAX && dwarf_die_next(m->n, &d, &m->rc); i++)
		if (d.tag == DW_TAG_typedef && d.type.file == class->at.file &&
		    d.type.off == class->at.off)
			return d.name;
	return NULL;
}

/* A class or enumeration; `alias` names it if it has no name itself. */
static void put_class(struct mangler *m, struct dwarf_ref at, const char *alias)
{
	struct mangler_scopes *s = malloc(sizeof *s);

	if (!s)
		m->rc = -ERR_NOMEM;
	if (!s || !mangler_declaration(m, at, s->v)) {
		mangler_fail(m);
		free(s);
		return;
	}
	s->n = 1;
	/* gcc calls one that a typedef names <anon> there. */
	if (!s->v[0].name && !alias && s->v[0].linkage_name)
		alias = typedef_of(m, &s->v[0]);
	if (!s->v[0].name)
		s->v[0].name = alias;
	if (!mangler_scopes(m, s->v[0].at, s)) {
		mangler_fail(m);
	} else if (s->n == 2 && mangler_std_class(s)) {
		mangler_put(m, mangler_std_class(s));
	} else {
		mangler_put_scopes(m, s, "");
		mangler_put(m, "E");
	}
	free(s);
}

/* Parameters with their types but for those that the source does not have. True: there was one. */
static bool put_some_parameters(struct mangler *m, const struct dwarf_die *d)
{
	bool any = false, is_pack = d->tag == DW_TAG_GNU_formal_parameter_pack;
	struct dwarf_die child;

	MANGLER_EACH (m, d, &child) {
		if (mangler_is_body(&child))
			break;
		if (child.tag == DW_TAG_GNU_formal_parameter_pack && !is_pack) {
			any |= put_some_parameters(m, &child);
		} else if (child.tag == DW_TAG_unspecified_parameters) {
			mangler_put(m, "z");
			any = true;
		} else if (child.tag == DW_TAG_formal_parameter && !child.artificial) {
			mangler_put_type(m, child.type, true);
			any = true;
		}
	}
	return any;
}

static void put_parameters(struct mangler *m, const struct dwarf_die *d)
{
	if (!put_some_parameters(m, d))
		mangler_put(m, "v");
}

/* The parameter that the source does not have: `this` of a member function. */
static bool find_this(struct mangler *m, const struct dwarf_die *d, struct dwarf_die *ret)
{
	MANGLER_EACH (m, d, ret) {
		if (ret->tag == DW_TAG_formal_parameter)
			return ret->artificial;
		if (mangler_is_body(ret))
			break;
	}
	return false;
}

/* How a member function may be called: what `this` points to, & and &&. */
static const char *method_qualifiers(struct mangler *m, const struct dwarf_die *d)
{
	static const char *const codes[3][4] = {
		{"", "K", "V", "VK"}, {"R", "KR", "VR", "VKR"}, {"O", "KO", "VO", "VKO"}};
	unsigned qualifiers = 0, links = 0;
	struct dwarf_die t;
	bool pointer = false;

	if (!find_this(m, d, &t))
		return "";
	while (links++ < MANGLER_LINKS_MAX && t.type.file && mangler_read(m, t.type, &t)) {
		if (t.tag == DW_TAG_pointer_type)
			pointer = true;
		else if (t.tag == DW_TAG_const_type)
			qualifiers |= pointer;
		else if (t.tag == DW_TAG_volatile_type)
			qualifiers |= pointer * 2u;
		else
			break;
	}
	return codes[d->rvalue_only ? 2 : d->lvalue_only][qualifiers];
}

static void put_function_type(struct mangler *m, const struct dwarf_die *d)
{
	mangler_put(m, method_qualifiers(m, d));
	mangler_put(m, "F");
	mangler_put_type(m, d->type, false);
	put_parameters(m, d);
	mangler_put(m, "E");
}

static void put_array(struct mangler *m, const struct dwarf_die *d)
{
	struct dwarf_die child;

	MANGLER_EACH (m, d, &child) {
		if (child.tag != DW_TAG_subrange_type)
			continue;
		mangler_put(m, "A");
		if (child.has_count)
			mangled_put_number(&m->out, child.count);
		mangler_put(m, "_");
	}
	mangler_put_type(m, d->type, false);
}

static void put_base_type(struct mangler *m, const struct dwarf_die *d)
{
	if (!d->name)
		mangler_fail(m);
	else if (!mangled_put_base_type(&m->out, d->name, strlen(d->name)))
		mangler_put_identifier(m, d->name);
}

static void put_made_type(struct mangler *m, const struct dwarf_die *d, const char *code)
{
	mangler_put(m, code);
	mangler_put_type(m, d->type, false);
}

static void put_unqualified_type(struct mangler *m, const struct dwarf_die *d, const char *alias)
{
	switch (d->tag) {
	case DW_TAG_pointer_type:
		put_made_type(m, d, "P");
		break;
	case DW_TAG_reference_type:
		put_made_type(m, d, "R");
		break;
	case DW_TAG_rvalue_reference_type:
		put_made_type(m, d, "O");
		break;
	case DW_TAG_ptr_to_member_type:
		mangler_put(m, "M");
		mangler_put_type(m, d->containing_type, false);
		mangler_put_type(m, d->type, false);
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		put_class(m, d->at, alias);
		break;
	case DW_TAG_subroutine_type:
		put_function_type(m, d);
		break;
	case DW_TAG_array_type:
		put_array(m, d);
		break;
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		put_base_type(m, d);
		break;
	default:
		mangler_fail(m);
	}
}

/* Behind typedefs; of a parameter's type const and volatile do not belong to the signature. */
void mangler_put_type(struct mangler *m, struct dwarf_ref type, bool is_parameter)
{
	struct dwarf_die d = {.tag = DW_TAG_unspecified_type, .name = "void"};
	const char *alias = NULL;
	bool k = false, v = false;
	unsigned links = 0;

	if (++m->nesting > MANGLER_NESTING_MAX)
		mangler_fail(m);
	for (; type.file && !m->out.failed; type = d.type) {
		if (links++ == MANGLER_NESTING_MAX || !mangler_read(m, type, &d))
			mangler_fail(m);
		else if (d.tag == DW_TAG_const_type)
			k = true;
		else if (d.tag == DW_TAG_volatile_type)
			v = true;
		else if (d.tag == DW_TAG_typedef || d.tag == DW_TAG_template_alias)
			alias = d.name;
		else if (d.tag != DW_TAG_restrict_type)
			break;
	}
	if (!type.file)
		d = (struct dwarf_die){.tag = DW_TAG_unspecified_type, .name = "void"};
	if (!is_parameter) {
		mangler_put(m, v ? "V" : "");
		mangler_put(m, k ? "K" : "");
	}
	if (!m->out.failed)
		put_unqualified_type(m, &d, alias);
	m->nesting--;
}

/* ---- functions --------------------------------------------------------------------------- */

static bool is_class(const struct dwarf_die *d)
{
	return d->tag == DW_TAG_class_type || d->tag == DW_TAG_structure_type ||
	       d->tag == DW_TAG_union_type;
}

/* Constructors and destructors have no return type, even as templates. */
static const char *special_name(const char *name, const struct mangler_scopes *s)
{
	const struct dwarf_die *c = s->v;
	bool tilde = name[0] == '~';
	size_t n = mangler_plain_length(name + tilde);

	if (!s->n || !is_class(c) || !c->name || mangler_plain_length(c->name) != n ||
	    strncmp(c->name, name + tilde, n))
		return NULL;
	return tilde ? "D1" : "C1";
}

static bool is_conversion(const char *name)
{
	return !strncmp(name, "operator ", 9) && strncmp(name + 9, "new", 3) &&
	       strncmp(name + 9, "delete", 6) && strncmp(name + 9, "co_await", 8);
}

/* True: a return type has to follow. Names of functions leave default arguments out. */
static bool put_function_name(struct mangler *m, const struct dwarf_die *d,
			      const struct mangler_scopes *s)
{
	const char *special = special_name(d->name, s);
	size_t n = strlen(d->name);
	bool array = n > 3 && !strcmp(d->name + n - 3, " []"); /* operator new [] */

	if (is_conversion(d->name)) {
		mangler_put(m, "cv");
		mangler_put_type(m, d->type, false);
		return false;
	}
	if (special)
		mangler_put(m, special);
	else if (array)
		mangler_put(m, !strncmp(d->name, "operator new", 12) ? "na" : "da");
	else
		mangled_put_identifier(&m->out, d->name, mangler_plain_length(d->name));
	if (mangler_put_template_arguments(m, d))
		return !special;
	if (mangler_plain_length(d->name) < n)
		mangler_fail(m);
	return false;
}

/* The whole <encoding> from what DWARF says. */
static void put_signature(struct mangler *m, const struct dwarf_die *d,
			  const struct mangler_scopes *s)
{
	bool returns;

	mangler_put_scopes(m, s, method_qualifiers(m, d));
	returns = put_function_name(m, d, s);
	mangler_put(m, "E");
	if (returns)
		mangler_put_type(m, d->type, false);
	if (d->name[0] == '~')
		mangler_put(m, "v");
	else
		put_parameters(m, d);
}

void mangler_put_function(struct mangler *m, struct dwarf_ref function)
{
	bool outermost = !m->nesting, is_c;
	struct mangler_scopes *s = malloc(sizeof *s);
	struct dwarf_die d;

	if (s)
		s->n = 0;
	else
		m->rc = -ERR_NOMEM;
	if (++m->nesting > MANGLER_NESTING_MAX || !s || !mangler_declaration(m, function, &d) ||
	    !d.name || !mangler_scopes(m, d.at, s))
		mangler_fail(m);
	is_c = !m->out.failed && d.external && !d.linkage_name; /* or main() */
	if (m->out.failed || (outermost && is_c))
		mangler_fail(m);
	else if (is_c)
		mangler_put_identifier(m, d.name);
	else if (!outermost && d.linkage_name && !strncmp(d.linkage_name, "_Z", 2))
		mangler_put(m, d.linkage_name + 2);
	else
		put_signature(m, &d, s);
	m->nesting--;
	free(s);
}

const char *dwarf_mangle(struct dwarf_namer *n, struct dwarf_ref function, int *rc)
{
	struct mangler m;
	const char *s;

	m.n = n;
	m.nesting = 0;
	m.rc = 0;
	m.out.len = m.out.nesting = 0;
	m.out.failed = false;
	mangler_put(&m, "_Z");
	mangler_put_function(&m, function);
	if (m.rc || m.out.failed || m.out.len >= n->budget) {
		*rc = m.rc;
		return NULL;
	}
	n->budget -= m.out.len;
	s = arena_strndup(n->strings, m.out.text, m.out.len);
	if (!s)
		*rc = -ERR_NOMEM;
	return s;
}
