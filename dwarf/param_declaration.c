/* param_declaration.c - functions as people declare them: types and names of parameters. */
#include "base/err.h"
#include "base/text.h"
#include "dwarf/params.h"

#include <string.h>

enum {
	TEXT_MAX = 500, /* of a type; longer ones end in ".." */
	DEPTH_MAX = 16, /* of pointers to pointers to .. */
	NAMED_MAX = 256,
};

struct speller {
	struct dwarf_params *p;
	struct dwarf_param_unit *u; /* of the DIE that is spelled */
	unsigned depth;
	size_t len;
	char text[TEXT_MAX + 4];
};

void dwarf_param_children(struct dwarf_params *p, const struct dwarf_param_unit *u,
			  const struct dwarf_any_die *d,
			  bool (*each)(void *arg, const struct dwarf_any_die *child), void *arg)
{
	struct dwarf_any_die child;
	uint64_t off = d->end;

	while (d->children && off != UINT64_MAX && p->budget && !p->failed &&
	       dwarf_any_die_read(u->cu, off, &child)) {
		p->budget--;
		if (!each(arg, &child))
			return;
		off = dwarf_any_die_behind(u->cu, &child, &p->budget);
	}
}

/* ---- types ---------------------------------------------------------------------------------- */

static void put_type(struct speller *s, const struct dwarf_any_die *d);

static void put(struct speller *s, const char *text)
{
	const size_t n = strlen(text);

	if (s->len > TEXT_MAX)
		return;
	if (n > TEXT_MAX - s->len) {
		memcpy(s->text + s->len, "..", 3);
		s->len = TEXT_MAX + 1;
		return;
	}
	memcpy(s->text + s->len, text, n + 1);
	s->len += n;
}

/* Signs of pointers stand together: "char **". */
static void put_sign(struct speller *s, const char *sign)
{
	if (s->len && s->len <= TEXT_MAX && s->text[s->len - 1] != '*')
		put(s, " ");
	put(s, sign);
}

/* The DIE that DW_AT_type leads to. *is_void: there is no such attribute. */
static bool type_of(struct speller *s, const struct dwarf_any_die *d, struct dwarf_any_die *ret,
		    bool *is_void)
{
	struct dwarf_param_unit *u = s->u;
	struct dwarf_attribute a = dwarf_param_inherited(s->p, d, &u, DWARF_AT_TYPE);

	*is_void = !a.v.form;
	if (!a.v.form || !s->p->budget ||
	    !dwarf_param_die(s->p, dwarf_value_ref(u->cu, a.v), ret, &u))
		return false;
	s->p->budget--;
	s->u = u;
	return true;
}

static void put_type_of(struct speller *s, const struct dwarf_any_die *d)
{
	struct dwarf_param_unit *const u = s->u;
	struct dwarf_any_die type;
	bool is_void = false;

	if (s->depth < DEPTH_MAX && type_of(s, d, &type, &is_void)) {
		s->depth++;
		put_type(s, &type);
		s->depth--;
	} else {
		put(s, is_void ? "void" : "?");
	}
	s->u = u;
}

static const struct type_word {
	uint16_t tag;
	const char *before, *after;
} words[] = {
	{DW_TAG_pointer_type, NULL, "*"},	    {DW_TAG_reference_type, NULL, "&"},
	{DW_TAG_rvalue_reference_type, NULL, "&&"}, {DW_TAG_array_type, NULL, "[]"},
	{DW_TAG_ptr_to_member_type, NULL, "::*"},   {DW_TAG_subroutine_type, NULL, "(*)()"},
	{DW_TAG_const_type, "const ", "const"},	    {DW_TAG_volatile_type, "volatile ", "volatile"},
	{DW_TAG_restrict_type, NULL, "restrict"},   {DW_TAG_atomic_type, "_Atomic ", "_Atomic"},
	{DW_TAG_structure_type, "struct ", NULL},   {DW_TAG_union_type, "union ", NULL},
	{DW_TAG_enumeration_type, "enum ", NULL},
};

static const struct type_word *word_of(uint16_t tag)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (words[i].tag == tag)
			return &words[i];
	return NULL;
}

static bool is_pointer(uint16_t tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* A pointer to a function is said by the function: "int (*)()". */
static bool points_to_function(struct speller *s, const struct dwarf_any_die *d)
{
	struct dwarf_param_unit *const u = s->u;
	struct dwarf_any_die to;
	bool is_void;
	const bool does = d->tag == DW_TAG_pointer_type && type_of(s, d, &to, &is_void) &&
			  to.tag == DW_TAG_subroutine_type;

	s->u = u;
	return does;
}

/* "const char *", but "char *const". */
static bool stands_before(struct speller *s, const struct dwarf_any_die *d)
{
	struct dwarf_param_unit *const u = s->u;
	struct dwarf_any_die to;
	bool is_void;
	const bool is = !type_of(s, d, &to, &is_void) || !is_pointer(to.tag);

	s->u = u;
	return is;
}

static void put_type(struct speller *s, const struct dwarf_any_die *d)
{
	const struct type_word *w = word_of(d->tag);
	const char *name = dwarf_value_string(s->u->cu, d->a[DWARF_AT_NAME].v);
	const bool is_plain_c = dwarf_language_is_flat(s->u->main.language) &&
				dwarf_param_is_c(s->u->main.language);

	if (name) { /* of pointers, too, in Go and Rust */
		if (w && w->before && is_plain_c)
			put(s, w->before);
		put(s, name);
	} else if (w && !w->after) {
		put(s, w->before);
		put(s, "{..}");
	} else if (w && w->before && stands_before(s, d)) {
		put(s, w->before);
		put_type_of(s, d);
	} else if (w) {
		put_type_of(s, d);
		if (!points_to_function(s, d))
			put_sign(s, w->after);
	} else {
		put(s, "?");
	}
}

static const char *spelled(struct dwarf_params *p, struct dwarf_param_unit *u,
			   const struct dwarf_any_die *d)
{
	struct speller s = {.p = p, .u = u};
	const char *ret;

	put_type_of(&s, d);
	ret = arena_strndup(&p->memory, s.text, strlen(s.text));
	p->failed |= !ret;
	return ret;
}

/* ---- functions ------------------------------------------------------------------------------ */

struct declaring {
	struct dwarf_params *p;
	struct dwarf_param_unit *u;
	VEC(struct dwarf_declared) params;
	bool is_variadic;
	struct text results; /* of Go, which lists them among the parameters */
};

static bool add_child(void *arg, const struct dwarf_any_die *d)
{
	struct declaring *g = arg;
	struct dwarf_param_unit *u = g->u;
	struct dwarf_declared one = {0};
	struct dwarf_attribute a;

	g->is_variadic |= d->tag == DW_TAG_unspecified_parameters;
	if (d->tag != DW_TAG_formal_parameter)
		return true;
	a = dwarf_param_inherited(g->p, d, &u, DWARF_AT_NAME);
	one.name = a.v.form ? dwarf_value_string(u->cu, a.v) : NULL;
	one.type = spelled(g->p, g->u, d);
	if (g->u->main.language == DW_LANG_Go && dwarf_flag_is_set(d->a[DWARF_AT_IS_RESULT].v)) {
		text_str(&g->results, g->results.n ? ", " : "");
		text_str(&g->results, one.type ? one.type : "?");
		return true;
	}
	g->p->failed |= vec_push(&g->params, one) != 0;
	return !g->p->failed && g->params.n < NAMED_MAX;
}

static const char *result_of(struct dwarf_params *p, struct dwarf_param_unit *u,
			     const struct dwarf_any_die *d)
{
	struct dwarf_param_unit *owner = u;
	struct dwarf_attribute a = dwarf_param_inherited(p, d, &owner, DWARF_AT_TYPE);

	if (u->main.language == DW_LANG_Mips_Assembler)
		return NULL;
	if (!a.v.form)
		return u->main.language != DW_LANG_Go ? "void" : NULL;
	return spelled(p, u, d);
}

int dwarf_params_declaration(struct dwarf_params *p, uint64_t vaddr,
			     const struct dwarf_declaration **ret)
{
	struct declaring g = {.p = p};
	const struct dwarf_function_range *f = dwarf_param_function_at(p, vaddr, &g.u);
	struct dwarf_declaration *made = NULL;
	const struct dwarf_row *row;
	struct dwarf_any_die d;

	*ret = NULL;
	if (f && dwarf_any_die_read(g.u->cu, f->off, &d)) {
		made = arena_alloc(&p->memory, sizeof *made);
		dwarf_param_children(p, g.u, &d, add_child, &g);
		p->failed |= !made;
	}
	if (made && !p->failed) {
		made->params =
			arena_memdup(&p->memory, g.params.v, g.params.n * sizeof *g.params.v);
		made->n = g.params.n;
		made->is_variadic = g.is_variadic;
		made->result = g.results.n ? arena_strndup(&p->memory, g.results.s, g.results.n)
					   : result_of(p, g.u, &d);
		row = dwarf_param_row(p, g.u, f->lo);
		if (row)
			made->file =
				dwarf_lines_path(&g.u->lines, row->file, &p->memory, &p->failed);
		made->line = row ? row->line : 0;
		p->failed |= made->n && !made->params;
	}
	p->failed |= g.results.failed;
	text_done(&g.results);
	vec_done(&g.params);
	*ret = made;
	return p->failed ? -ERR_NOMEM : 0;
}
