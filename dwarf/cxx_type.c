/* cxx_type.c - prints C++ types from their DIEs: what comes before the name of a variable of the
 * type, and what comes after it, as "void (*" and ")(int)". */
#include <stdio.h>
#include <string.h>

#include "dwarf/cxx_printer.h"
#include "dwarf/cxx_spelling.h"
#include "dwarf/die.h"

/* Replaces the names of some classes by those that the demangler has for them. */
static void abbreviate(struct cxx_printer *p, size_t begin)
{
	static const char *const rows[][2] = {
		{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		 "std::string"},
		{"std::basic_istream<char, std::char_traits<char> >", "std::istream"},
		{"std::basic_ostream<char, std::char_traits<char> >", "std::ostream"},
		{"std::basic_iostream<char, std::char_traits<char> >", "std::iostream"},
	};
	size_t n = p->out.len - begin, i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (n == strlen(rows[i][0]) && !memcmp(p->out.text + begin, rows[i][0], n)) {
			p->out.len = begin;
			cxx_put(&p->out, rows[i][1]);
		}
}

/* Writes a class or enumeration; `alias` is its name if it has none. */
static void put_class(struct cxx_printer *p, struct dwarf_ref at, const char *alias)
{
	size_t begin = p->out.len;
	struct dwarf_die d;

	if (!cxx_declaration(p, at, &d)) {
		p->out.failed = true;
		return;
	}
	cxx_put_scopes(p, d.at);
	if (!d.name && alias)
		cxx_put(&p->out, alias);
	else
		cxx_put_scope(p, &d);
	abbreviate(p, begin);
}

static void put_base_type(struct cxx_printer *p, const struct dwarf_die *d)
{
	p->out.failed |= !d->name;
	if (d->name &&
	    cxx_put_respelled_word(&p->out, d->name, d->name + strlen(d->name)) == d->name)
		cxx_put(&p->out, d->name);
}

void cxx_find_bare(struct cxx_printer *p, struct dwarf_ref type, struct cxx_bare_type *t)
{
	unsigned links = 0;

	*t = (struct cxx_bare_type){.d = {.tag = DW_TAG_unspecified_type, .name = "void"}};
	for (; type.file && !p->out.failed; type = t->d.type) {
		if (links++ == LINKS_MAX || !cxx_read_die(p, type, &t->d)) {
			p->out.failed = true;
			return;
		}
		if (t->d.tag == DW_TAG_const_type)
			t->is_const = true;
		else if (t->d.tag == DW_TAG_volatile_type)
			t->is_volatile = true;
		else if (t->d.tag == DW_TAG_typedef || t->d.tag == DW_TAG_template_alias)
			t->alias = t->d.name;
		else if (t->d.tag != DW_TAG_restrict_type)
			return;
	}
	t->d = (struct dwarf_die){.tag = DW_TAG_unspecified_type, .name = "void"};
}

static bool goes_on_behind(uint16_t tag)
{
	return tag == DW_TAG_subroutine_type || tag == DW_TAG_array_type;
}

/* Writes pointers and references, up to and including their sign. */
static void put_made(struct cxx_printer *p, const struct dwarf_die *d, const char *sign)
{
	struct cxx_bare_type to;

	cxx_find_bare(p, d->type, &to);
	cxx_put_before(p, &to);
	cxx_put(&p->out, goes_on_behind(to.d.tag)	       ? " ("
			 : d->tag == DW_TAG_ptr_to_member_type ? " "
							       : "");
	if (d->tag == DW_TAG_ptr_to_member_type) {
		cxx_put_type(p, d->containing_type, false);
		cxx_put(&p->out, "::");
	}
	cxx_put(&p->out, sign);
}

static const char *sign_of(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
	case DW_TAG_ptr_to_member_type:
		return "*";
	case DW_TAG_reference_type:
		return "&";
	case DW_TAG_rvalue_reference_type:
		return "&&";
	}
	return NULL;
}

static void put_named_type(struct cxx_printer *p, const struct cxx_bare_type *t)
{
	switch (t->d.tag) {
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		put_class(p, t->d.at, t->alias);
		break;
	case DW_TAG_base_type:
	case DW_TAG_unspecified_type:
		put_base_type(p, &t->d);
		break;
	default:
		p->out.failed = true;
	}
}

void cxx_put_before(struct cxx_printer *p, const struct cxx_bare_type *t)
{
	const char *sign = sign_of(t->d.tag);
	struct cxx_bare_type of;

	if (++p->nesting > NESTING_MAX)
		p->out.failed = true;
	if (p->out.failed) {
		;
	} else if (goes_on_behind(t->d.tag)) {
		cxx_find_bare(p, t->d.type, &of);
		cxx_put_before(p, &of);
	} else if (sign) {
		put_made(p, &t->d, sign);
	} else {
		put_named_type(p, t);
	}
	cxx_put(&p->out, t->is_const ? " const" : "");
	cxx_put(&p->out, t->is_volatile ? " volatile" : "");
	p->nesting--;
}

static void put_dimensions(struct cxx_printer *p, const struct dwarf_die *d)
{
	struct dwarf_die child;
	char number[24];

	cxx_put(&p->out, " ");
	EACH_CHILD(p, d, &child)
	{
		if (child.tag != DW_TAG_subrange_type)
			continue;
		snprintf(number, sizeof number, "[%llu]", (unsigned long long)child.count);
		cxx_put(&p->out, child.has_count ? number : "[]");
	}
}

void cxx_put_after(struct cxx_printer *p, const struct cxx_bare_type *t)
{
	struct cxx_bare_type of;

	if (p->out.failed || (!sign_of(t->d.tag) && !goes_on_behind(t->d.tag)))
		return;
	if (++p->nesting > NESTING_MAX)
		p->out.failed = true;
	cxx_find_bare(p, t->d.type, &of);
	if (sign_of(t->d.tag)) {
		cxx_put(&p->out, goes_on_behind(of.d.tag) ? ")" : "");
	} else if (t->d.tag == DW_TAG_array_type) {
		put_dimensions(p, &t->d);
	} else {
		cxx_put_parameters(p, &t->d);
		cxx_put_method_qualifiers(p, &t->d);
	}
	cxx_put_after(p, &of);
	p->nesting--;
}

void cxx_put_type(struct cxx_printer *p, struct dwarf_ref type, bool is_parameter)
{
	struct cxx_bare_type t;

	cxx_find_bare(p, type, &t);
	if (is_parameter)
		t.is_const = t.is_volatile = false;
	cxx_put_before(p, &t);
	cxx_put(&p->out, t.d.tag == DW_TAG_subroutine_type ? " " : "");
	cxx_put_after(p, &t);
}
