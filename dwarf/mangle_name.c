/* mangle_name.c - names, scopes and template arguments in linkage names. */
#include <stdlib.h>
#include <string.h>

#include "dwarf/mangler.h"

/* ---- declarations ------------------------------------------------------------------------ */

/* Makes *d the declaration it refers to, which stands in the scopes that count. */
bool mangler_declaration(struct mangler *m, struct dwarf_ref at, struct dwarf_die *d)
{
	const char *name = NULL, *linkage_name = NULL;
	bool external = false, found = false;
	unsigned i;

	for (i = 0; i < MANGLER_LINKS_MAX && at.file && mangler_read(m, at, d); i++) {
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

/* Appends them. */
bool mangler_scopes(struct mangler *m, struct dwarf_ref at, struct mangler_scopes *s)
{
	struct dwarf_die *d = s->v + s->n;

	s->function = (struct dwarf_ref){NULL, 0};
	while (true) {
		at = dwarf_namer_scope(m->n, at, &m->rc);
		if (!at.file)
			return true;
		if (s->n == MANGLER_SCOPES_MAX || !mangler_declaration(m, at, d))
			return false;
		if (d->tag == DW_TAG_subprogram) {
			s->function = at;
			return true;
		}
		at = d->at;
		d++;
		s->n++;
	}
}

/* ---- names ------------------------------------------------------------------------------- */

static bool is_template_argument(const struct dwarf_die *d)
{
	return d->tag == DW_TAG_template_type_parameter ||
	       d->tag == DW_TAG_template_value_parameter ||
	       d->tag == DW_TAG_GNU_template_template_param ||
	       d->tag == DW_TAG_GNU_template_parameter_pack;
}

/* <literal> of an integer, a character or an enumerator. */
static void put_value(struct mangler *m, const struct dwarf_die *d)
{
	if (!d->has_value)
		mangler_fail(m);
	mangler_put(m, "L");
	mangler_put_type(m, d->type, false);
	mangler_put(m, d->is_negative ? "n" : "");
	mangled_put_number(&m->out, d->is_negative ? -d->value : d->value);
	mangler_put(m, "E");
}

static void put_template_argument(struct mangler *m, const struct dwarf_die *d)
{
	if (d->tag == DW_TAG_template_type_parameter)
		mangler_put_type(m, d->type, false);
	else if (d->tag == DW_TAG_template_value_parameter)
		put_value(m, d);
	else if (d->tag == DW_TAG_GNU_template_template_param && d->template_name)
		mangler_put_identifier(m, d->template_name);
	else
		mangler_fail(m);
}

static void put_pack(struct mangler *m, const struct dwarf_die *d)
{
	struct dwarf_die child;

	mangler_put(m, "J");
	MANGLER_EACH (m, d, &child)
		put_template_argument(m, &child);
	mangler_put(m, "E");
}

bool mangler_is_body(const struct dwarf_die *d)
{
	switch (d->tag) {
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

/* The template arguments below a DIE; false when there are none. */
bool mangler_put_template_arguments(struct mangler *m, const struct dwarf_die *d)
{
	struct dwarf_die child;
	bool any = false;

	MANGLER_EACH (m, d, &child) {
		if (d->tag == DW_TAG_subprogram && mangler_is_body(&child))
			break;
		if (!is_template_argument(&child))
			continue;
		mangler_put(m, any ? "" : "I");
		any = true;
		if (child.tag == DW_TAG_GNU_template_parameter_pack)
			put_pack(m, &child);
		else
			put_template_argument(m, &child);
	}
	mangler_put(m, any ? "E" : "");
	return any;
}

/* Whether two encodings differ only in the types of numbers: Li3E and Lm3E. */
static bool equal_but_for_numbers(const char *a, size_t n_a, const char *b, size_t n_b)
{
	const char *end_a = a + n_a, *end_b = b + n_b, *digits;

	for (; a < end_a && b < end_b; a++, b++) {
		if (*a == *b)
			continue;
		/* "Li" is before a and b, but for the type in b. */
		digits = memchr(b, *++a, (size_t)(end_b - b));
		if (a[-1] != 'i' || a[-2] != 'L' || a == end_a || !digits)
			return false;
		b = digits;
	}
	return a == end_a && b == end_b;
}

/* The type of a number stands in the children only; they are the arguments unless the template is
 * a partial specialization. */
static void type_numbers(struct mangler *m, const struct dwarf_die *d, size_t name)
{
	size_t end = m->out.len, length;
	const char *text = m->out.text;

	mangled_put_identifier(&m->out, d->name, mangler_plain_length(d->name));
	if (mangler_put_template_arguments(m, d) && !m->out.failed &&
	    equal_but_for_numbers(text + name, end - name, text + end, m->out.len - end)) {
		length = m->out.len - end;
		memmove(m->out.text + name, text + end, length);
		m->out.len = name + length;
		return;
	}
	m->out.failed = false;
	m->out.len = end;
}

/* A class's instance has all arguments in its name. */
static void put_class_name(struct mangler *m, const struct dwarf_die *d)
{
	static const char va_list[] = "typedef __va_list_tag ";
	size_t before = m->out.len, n = strlen(d->name);

	if (!strncmp(d->name, va_list, sizeof va_list - 1))
		mangler_put_identifier(m, d->name + sizeof va_list - 1); /* gcc's */
	else if (!mangled_put_name(&m->out, d->name, n))
		mangler_put_identifier(m, d->name);
	else if (m->out.untyped)
		type_numbers(m, d, before);
}

static const char *unnamed(struct mangler *m, const struct dwarf_die *d)
{
	struct dwarf_die child;

	if (d->tag == DW_TAG_namespace)
		return "_GLOBAL__N_1";
	MANGLER_EACH (m, d, &child)
		if (child.name && !strcmp(child.name, "operator()"))
			return "{lambda}";
	return "{unnamed type}";
}

static void put_scope(struct mangler *m, const struct dwarf_die *d)
{
	if (!d->name)
		mangler_put_identifier(m, unnamed(m, d));
	else if (d->tag == DW_TAG_namespace)
		mangler_put_identifier(m, d->name);
	else
		put_class_name(m, d);
}

/* What the two outermost scopes are together. */
const char *mangler_std_class(const struct mangler_scopes *s)
{
	const char *outer, *inner;

	if (s->function.file || s->n < 2)
		return NULL;
	outer = s->v[s->n - 1].name;
	inner = s->v[s->n - 2].name;
	return outer && inner && !strcmp(outer, "std") ? mangled_std_class(inner, strlen(inner))
						       : NULL;
}

/* The beginning of a <nested-name>, or of one in a <local-name>: what is around. */
void mangler_put_scopes(struct mangler *m, const struct mangler_scopes *s, const char *qualifiers)
{
	const char *abbreviation = mangler_std_class(s);
	size_t i = s->n;

	if (s->function.file) {
		mangler_put(m, "Z");
		mangler_put_function(m, s->function);
		mangler_put(m, "E");
	}
	mangler_put(m, "N");
	mangler_put(m, qualifiers);
	if (abbreviation) {
		mangler_put(m, abbreviation);
		i -= 2;
	}
	while (i--)
		put_scope(m, &s->v[i]);
}
