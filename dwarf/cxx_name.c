/* cxx_name.c - prints C++ functions from their DIEs; cxx_type.c prints the types.
 *
 * gcc gives functions of internal linkage no DW_AT_linkage_name. If they are inlined everywhere,
 * they have no symbol either, but DWARF has their scopes, template arguments and parameters. They
 * are spelled as libiberty's demangler spells them, so that such names merge with others. What
 * DWARF does not have is left out: ABI tags, and the numbers of lambdas and unnamed types, which
 * are marked with the place of their declaration instead (dwarf.h). Expressions in a template's
 * signature have been evaluated. */
#include "dwarf/cxx_name.h"

#include <stdio.h>
#include <string.h>

#include "dwarf/cxx_printer.h"
#include "dwarf/cxx_spelling.h"
#include "dwarf/die.h"
#include "dwarf/dwarf.h"

bool cxx_read_die(struct cxx_printer *p, struct dwarf_ref at, struct dwarf_die *d)
{
	return !p->out.failed && dwarf_die_at(p->n, at, d, &p->rc) &&
	       (!d->name || strnlen(d->name, CXX_TEXT_MAX + 1) <= CXX_TEXT_MAX);
}

bool cxx_declaration(struct cxx_printer *p, struct dwarf_ref at, struct dwarf_die *d)
{
	const char *name = NULL, *linkage_name = NULL;
	bool external = false, found = false;
	unsigned i;

	for (i = 0; i < LINKS_MAX && at.file && cxx_read_die(p, at, d); i++) {
		found = true;
		name = name ? name : d->name;
		linkage_name = linkage_name ? linkage_name : d->linkage_name;
		external |= d->external;
		at = d->origin;
	}
	d->name = name;
	d->linkage_name = linkage_name;
	d->external = external;
	return found && !at.file;
}

static void put_function(struct cxx_printer *p, const struct dwarf_die *d, bool whole);

/* ---- template arguments ------------------------------------------------------------------ */

static bool is_parameter_of_template(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_template_type_parameter:
	case DW_TAG_template_value_parameter:
	case DW_TAG_GNU_template_template_param:
	case DW_TAG_GNU_template_parameter_pack:
		return true;
	}
	return false;
}

/* Writes an integer, a character or an enumerator: 3, 3ul, true, (char)97. */
static void put_value(struct cxx_printer *p, const struct dwarf_die *d)
{
	static const char *const suffixes[][2] = {
		{"int", ""},	     {"unsigned int", "u"},
		{"long", "l"},	     {"unsigned long", "ul"},
		{"long long", "ll"}, {"unsigned long long", "ull"}};
	size_t before = p->out.len, i, n;
	char number[24];

	if (!d->has_value) {
		p->out.failed = true;
		return;
	}
	snprintf(number, sizeof number, d->is_negative ? "%lld" : "%llu",
		 (unsigned long long)d->value);
	cxx_put(&p->out, "(");
	cxx_put_type(p, d->type, true);
	n = p->out.len - before - 1;
	for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (n == strlen(suffixes[i][0]) &&
		    !memcmp(p->out.text + before + 1, suffixes[i][0], n)) {
			p->out.len = before;
			cxx_put(&p->out, number);
			cxx_put(&p->out, suffixes[i][1]);
			return;
		}
	if (n == 4 && !memcmp(p->out.text + before + 1, "bool", n)) {
		p->out.len = before;
		cxx_put(&p->out, d->value ? "true" : "false");
		return;
	}
	cxx_put(&p->out, ")");
	cxx_put(&p->out, number);
}

/* gcc repeats the parameters of generic lambdas: auto:1, auto:2, auto:1, auto:2. Returns true for
 * the first one that comes again; *first is the name of the list's first, NULL at its beginning. */
static bool is_repeated(const struct dwarf_die *parameter, const char **first)
{
	if (!*first) {
		*first = parameter->name ? parameter->name : "";
		return false;
	}
	return **first && parameter->name && !strcmp(*first, parameter->name);
}

/* Writes the arguments that are children of a DIE, or of a pack. `n` were written before; returns
 * the new number. */
static size_t put_arguments(struct cxx_printer *p, const struct dwarf_die *d, size_t n)
{
	const char *first = NULL;
	struct dwarf_die child;

	EACH_CHILD(p, d, &child)
	{
		const char *before = n ? ", " : "<";

		if (d->tag == DW_TAG_subprogram && is_parameter_of_template(child.tag) &&
		    is_repeated(&child, &first))
			return n;
		switch (child.tag) {
		case DW_TAG_template_type_parameter:
			cxx_put(&p->out, before);
			cxx_put_type(p, child.type, false);
			n++;
			break;
		case DW_TAG_template_value_parameter:
			cxx_put(&p->out, before);
			put_value(p, &child);
			n++;
			break;
		case DW_TAG_GNU_template_template_param:
			cxx_put(&p->out, before);
			p->out.failed |= !child.template_name;
			cxx_put(&p->out, child.template_name ? child.template_name : "");
			n++;
			break;
		case DW_TAG_GNU_template_parameter_pack:
			n = put_arguments(p, &child, n);
			break;
		/* Of a function: template parameters come before these. */
		case DW_TAG_formal_parameter:
		case DW_TAG_variable:
		case DW_TAG_lexical_block:
			if (d->tag == DW_TAG_subprogram)
				return n;
			break;
		}
	}
	return n;
}

/* Returns false if there are none. */
static bool put_template_arguments(struct cxx_printer *p, const struct dwarf_die *d)
{
	bool is_empty_pack = false;
	struct dwarf_die child;

	if (!put_arguments(p, d, 0)) {
		EACH_CHILD(p, d, &child)
		is_empty_pack |= child.tag == DW_TAG_GNU_template_parameter_pack;
		cxx_put(&p->out, is_empty_pack ? "<>" : "");
		return is_empty_pack;
	}
	cxx_put(&p->out, p->out.len && p->out.text[p->out.len - 1] == '>' ? " >" : ">");
	return true;
}

/* Is it an instance of a function template? */
static bool is_template(struct cxx_printer *p, const struct dwarf_die *d)
{
	struct dwarf_die child;

	EACH_CHILD(p, d, &child)
	if (is_parameter_of_template(child.tag) || child.tag == DW_TAG_formal_parameter)
		return child.tag != DW_TAG_formal_parameter;
	return false;
}

/* ---- scopes ------------------------------------------------------------------------------ */

/* Writes the name of a class. DW_AT_name of a class template's instance has all its arguments. Its
 * children have the same arguments as types, which can be spelled as wanted, except for a partial
 * specialization: then they are only the arguments that it leaves open. */
static void put_class_name(struct cxx_printer *p, const struct dwarf_die *d)
{
	static const char va_list[] = "typedef __va_list_tag "; /* gcc's spelling */
	size_t before = p->out.len, n = strlen(d->name), plain = cxx_plain_length(d->name), end;
	unsigned nesting = p->nesting;
	bool failed, same;

	if (!strncmp(d->name, va_list, sizeof va_list - 1)) {
		cxx_put(&p->out, d->name + sizeof va_list - 1);
		return;
	}
	cxx_put_n(&p->out, d->name, plain);
	put_template_arguments(p, d);
	if (p->rc || plain == n)
		return;
	end = p->out.len;
	failed = p->out.failed;
	p->out.failed = false;
	p->nesting = nesting;
	cxx_put_respelled(&p->out, d->name, d->name + n);
	same = !failed && cxx_same_spelling(p->out.text + before, p->out.text + end,
					    p->out.text + end, p->out.text + p->out.len);
	if (!same && !p->out.failed)
		memmove(p->out.text + before, p->out.text + end, p->out.len - end);
	p->out.len = same ? end : before + p->out.len - end;
}

/* Marks which of the lambdas or unnamed types of a function this is. Its number is not in DWARF,
 * and cannot be counted: lambdas that are never called have no DIE, and before gcc 13 all lambdas
 * of a function were counted together. */
static void put_mark(struct cxx_printer *p, const struct dwarf_die *d)
{
	char mark[48];

	if (!d->line)
		return;
	snprintf(mark, sizeof mark, DWARF_LAMBDA_MARK "%llu:%llu", (unsigned long long)d->line,
		 (unsigned long long)d->column);
	cxx_put(&p->out, mark);
}

/* Writes a class without name; if it has a call operator, it is the type of a lambda. */
static void put_unnamed(struct cxx_printer *p, const struct dwarf_die *d)
{
	struct dwarf_die child;

	EACH_CHILD(p, d, &child)
	if (child.name && cxx_plain_length(child.name) == 10 &&
	    !strncmp(child.name, "operator()", 10)) {
		cxx_put(&p->out, "{lambda");
		if (!is_template(p, &child))
			cxx_put_parameters(p, &child);
		put_mark(p, d);
		cxx_put(&p->out, "}");
		return;
	}
	cxx_put(&p->out, "{unnamed type");
	put_mark(p, d);
	cxx_put(&p->out, "}");
}

/* Limit on what comes between a class and its typedef. */
enum { SIBLINGS_MAX = 256 };

/* For typedef struct {} name: the name is in a DIE after the class. */
static const char *typedef_of(struct cxx_printer *p, const struct dwarf_die *class)
{
	struct dwarf_die d = *class;
	unsigned i;

	for (i = 0; i < SIBLINGS_MAX && dwarf_die_next(p->n, &d, &p->rc); i++)
		if (d.tag == DW_TAG_typedef && d.type.file == class->at.file &&
		    d.type.off == class->at.off)
			return d.name;
	return NULL;
}

void cxx_put_scope(struct cxx_printer *p, const struct dwarf_die *d)
{
	const char *alias;

	if (d->tag == DW_TAG_subprogram)
		put_function(p, d, false);
	else if (d->tag == DW_TAG_namespace)
		cxx_put(&p->out, d->name ? d->name : "(anonymous namespace)");
	else if (d->name && strncmp(d->name, "<lambda", 7))
		put_class_name(p, d);
	else if (d->linkage_name && (alias = typedef_of(p, d)))
		cxx_put(&p->out, alias);
	else
		put_unnamed(p, d);
}

void cxx_put_scopes(struct cxx_printer *p, struct dwarf_ref at)
{
	struct dwarf_ref around = dwarf_namer_scope(p->n, at, &p->rc);
	struct dwarf_die d;

	if (!around.file)
		return;
	if (++p->nesting > NESTING_MAX || !cxx_declaration(p, around, &d)) {
		p->out.failed = true;
		return;
	}
	if (d.tag != DW_TAG_subprogram) /* a function writes its own scopes */
		cxx_put_scopes(p, d.at);
	cxx_put_scope(p, &d);
	cxx_put(&p->out, "::");
	p->nesting--;
}

/* ---- functions --------------------------------------------------------------------------- */

/* Does this DIE come after the function's parameters and the types made for them? */
static bool is_body(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_variable:
	case DW_TAG_label:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		return true;
	}
	return false;
}

/* Is it a parameter that the compiler added: `this`, or in classes with virtual bases two that are
 * not marked as artificial? */
static bool is_hidden(const struct dwarf_die *d)
{
	return d->artificial ||
	       (d->name && (!strcmp(d->name, "__in_chrg") || !strcmp(d->name, "__vtt_parm")));
}

static size_t put_some_parameters(struct cxx_printer *p, const struct dwarf_die *d, size_t n)
{
	struct dwarf_die child;

	EACH_CHILD(p, d, &child)
	{
		if (is_body(child.tag))
			break;
		if (child.tag == DW_TAG_GNU_formal_parameter_pack) {
			n = put_some_parameters(p, &child, n);
		} else if (child.tag == DW_TAG_unspecified_parameters) {
			cxx_put(&p->out, n++ ? ", ..." : "...");
		} else if (child.tag == DW_TAG_formal_parameter && !is_hidden(&child)) {
			cxx_put(&p->out, n++ ? ", " : "");
			cxx_put_type(p, child.type, true);
		}
	}
	return n;
}

void cxx_put_parameters(struct cxx_printer *p, const struct dwarf_die *d)
{
	cxx_put(&p->out, "(");
	put_some_parameters(p, d, 0);
	cxx_put(&p->out, ")");
}

/* Finds the first parameter, if the source does not have it: `this` of a member function. */
static bool find_this(struct cxx_printer *p, const struct dwarf_die *d, struct dwarf_die *ret)
{
	EACH_CHILD(p, d, ret)
	{
		if (ret->tag == DW_TAG_formal_parameter)
			return ret->artificial;
		if (is_body(ret->tag))
			break;
	}
	return false;
}

void cxx_put_method_qualifiers(struct cxx_printer *p, const struct dwarf_die *d)
{
	struct dwarf_die this;
	struct cxx_bare_type t;

	if (!find_this(p, d, &this))
		return;
	cxx_find_bare(p, this.type, &t);
	if (t.d.tag == DW_TAG_pointer_type)
		cxx_find_bare(p, t.d.type, &t);
	cxx_put(&p->out, t.is_const ? " const" : "");
	cxx_put(&p->out, t.is_volatile ? " volatile" : "");
	cxx_put(&p->out, d->rvalue_only ? " &&" : d->lvalue_only ? " &" : "");
}

static bool is_conversion(const char *name)
{
	return !strncmp(name, "operator ", 9) && strncmp(name + 9, "new", 3) &&
	       strncmp(name + 9, "delete", 6) && strncmp(name + 9, "co_await", 8) && name[9] != '"';
}

/* Writes the name with its template arguments. */
static void put_function_name(struct cxx_printer *p, const struct dwarf_die *d)
{
	size_t plain = cxx_plain_length(d->name), n = strlen(d->name);

	if (is_conversion(d->name)) {
		cxx_put(&p->out, "operator ");
		cxx_put_type(p, d->type, false);
		plain = n;
	} else if (plain > 3 && !strcmp(d->name + plain - 3, " []")) { /* operator new [] */
		cxx_put_n(&p->out, d->name, plain - 3);
		cxx_put(&p->out, "[]");
	} else {
		cxx_put_n(&p->out, d->name, plain);
	}
	if (plain && d->name[plain - 1] == '<' && plain < n)
		cxx_put(&p->out, " ");
	if (!put_template_arguments(p, d))
		/* DWARF has the arguments only in the name. */
		cxx_put_respelled(&p->out, d->name + plain, d->name + n);
}

/* Does the function have a return type? Constructors and destructors do not, even as templates. */
static bool returns(struct cxx_printer *p, const struct dwarf_die *d)
{
	struct dwarf_ref around = dwarf_namer_scope(p->n, d->at, &p->rc);
	size_t n = cxx_plain_length(d->name);
	struct dwarf_die c;

	if (d->name[0] == '~' || is_conversion(d->name))
		return false;
	return !around.file || !cxx_declaration(p, around, &c) || !c.name ||
	       c.tag == DW_TAG_namespace || cxx_plain_length(c.name) != n ||
	       strncmp(c.name, d->name, n);
}

/* Writes the return type up to the function's name. */
static void put_return_type(struct cxx_printer *p, const struct cxx_bare_type *t)
{
	cxx_put_before(p, t);
	if (p->out.len && !strchr("*&", p->out.text[p->out.len - 1]))
		cxx_put(&p->out, " ");
	else if (p->out.len > 1 && p->out.text[p->out.len - 2] != '(')
		cxx_put(&p->out, " ");
}

static void put_signature(struct cxx_printer *p, const struct dwarf_die *d, bool whole)
{
	struct cxx_bare_type t;

	whole = whole && is_template(p, d) && returns(p, d);
	if (whole) {
		cxx_find_bare(p, d->type, &t);
		put_return_type(p, &t);
	}
	cxx_put_scopes(p, d->at);
	put_function_name(p, d);
	if (d->name[0] == '~')
		cxx_put(&p->out, "()");
	else
		cxx_put_parameters(p, d);
	cxx_put_method_qualifiers(p, d);
	if (whole)
		cxx_put_after(p, &t);
}

/* `whole`: with the return type, which the names of templates have. */
static void put_function(struct cxx_printer *p, const struct dwarf_die *d, bool whole)
{
	bool is_c = d->external && !d->linkage_name; /* or main() */

	if (++p->nesting > NESTING_MAX || !d->name || (whole && is_c))
		p->out.failed = true;
	else if (is_c)
		cxx_put(&p->out, d->name);
	else
		put_signature(p, d, whole);
	p->nesting--;
}

const char *dwarf_cxx_name(struct dwarf_namer *n, struct dwarf_ref function, int *rc)
{
	struct cxx_printer p;
	struct dwarf_die d;
	const char *s;

	p.n = n;
	p.nesting = 0;
	p.rc = 0;
	p.out.failed = false;
	p.out.len = 0;
	if (!cxx_declaration(&p, function, &d))
		p.out.failed = true;
	else
		put_function(&p, &d, true);
	if (p.rc || p.out.failed || p.out.len >= n->budget) {
		*rc = p.rc;
		return NULL;
	}
	n->budget -= p.out.len;
	s = arena_strndup(n->strings, p.out.text, p.out.len);
	if (!s)
		*rc = -ERR_NOMEM;
	return s;
}
