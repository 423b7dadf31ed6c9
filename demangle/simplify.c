/* simplify.c - shortens readable names to what a person calls the function.
 *
 * Works on libiberty's output and on names made from DWARF, not on source code: the grammar of what
 * d_print_comp(), rust-demangle and the D demangler print is small. For a name of unexpected form
 * the output stays empty. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/text.h"
#include "demangle/language.h"

enum { NESTING_MAX = 200 }; /* limit on nested brackets; 60 was the most in four million names */

/* The output, and whether text is added to it. */
struct cut {
	struct namebuf *out;
	unsigned muted; /* nothing is added while not 0 */
	bool rust;	/* angle brackets are always brackets, also around <Type as Trait> */
};

static void add(struct cut *c, const char *s, size_t n)
{
	if (!c->muted)
		namebuf_add(c->out, s, n);
}

static bool is_ident(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool follows(const char *begin, const char *s, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(s - begin) >= n && !memcmp(s - n, word, n);
}

/* Skips all of these words, in any order. */
static const char *skip_words(const char *s, const char *const *words)
{
	const char *const *w = words;

	while (*w)
		if (str_starts_with(s, *w)) {
			s += strlen(*w);
			w = words;
		} else {
			w++;
		}
	return s;
}

/* ---- brackets ------------------------------------------------------------------------------ */

/* Returns the end of "operator" and the symbol after it; s itself if it is not the name of an
 * operator. libiberty puts a space between a symbol and template arguments. */
static const char *operator_end(const char *begin, const char *s)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",	 "->",	"<",   ">"};
	const char *end = s + strlen("operator");
	size_t i;

	if (!str_starts_with(s, "operator") || (s > begin && is_ident(s[-1])) || is_ident(*end))
		return s;
	for (i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (str_starts_with(end, symbols[i])) {
			end += strlen(symbols[i]);
			return end[0] == ' ' && end[1] == '<' ? end + 1 : end;
		}
	return end + strspn(end, "+-*/%^&|~!=,");
}

/* Does the '<' at s begin arguments? In an expression it is a comparison. `after` is the end of the
 * last operator's name. */
static bool begins_arguments(const char *begin, const char *s, const char *after)
{
	return s > begin && (s == after || is_ident(s[-1]) || s[-1] == ']' || s[-1] == ':');
}

static const char *copy_until(struct cut *c, const char *begin, const char *s, char close,
			      unsigned level, unsigned nesting);

/* Copies a group with its brackets; template arguments down to `level` more levels. Returns NULL if
 * the group is not closed. */
static const char *copy_group(struct cut *c, const char *begin, const char *s, unsigned level,
			      unsigned nesting)
{
	char close = *s == '<' ? '>' : *s == '(' ? ')' : *s == '[' ? ']' : '}';
	bool counts = *s == '<' && !(c->rust && !begins_arguments(begin, s, NULL));
	bool hide = counts && !level;

	if (!nesting)
		return NULL;
	add(c, s, 1);
	if (hide)
		add(c, "...", 3);
	c->muted += hide;
	s = copy_until(c, begin, s + 1, close, counts && level ? level - 1 : level, nesting - 1);
	c->muted -= hide;
	if (!s || *s != close)
		return NULL;
	add(c, s, 1);
	return s + 1;
}

/* Copies up to the closing bracket, or the end of the text. */
static const char *copy_until(struct cut *c, const char *begin, const char *s, char close,
			      unsigned level, unsigned nesting)
{
	const char *after = NULL;

	while (s && *s && *s != close) {
		const char *end = operator_end(begin, s);

		if (end > s) {
			add(c, s, (size_t)(end - s));
			after = s = end;
		} else if (str_starts_with(s, "->")) {
			add(c, s, 2);
			s += 2;
		} else if (strchr("([{", *s) ||
			   (*s == '<' && (c->rust || begins_arguments(begin, s, after)))) {
			s = copy_group(c, begin, s, level, nesting);
		} else {
			add(c, s++, 1);
		}
	}
	return s;
}

/* Returns the end of the group at s; NULL if it is not closed. */
static const char *skip_group(const char *begin, const char *s, bool rust)
{
	struct cut silent = {.muted = 1, .rust = rust};

	return copy_group(&silent, begin, s, UINT_MAX, NESTING_MAX);
}

bool cut_templates(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth)
{
	struct cut c = {.out = out, .rust = mangling == MANGLING_RUST};
	size_t before = out->len;
	const char *end = copy_until(&c, s, s, '\0', depth, NESTING_MAX);

	if (end && out->len > before)
		return true;
	out->len = before;
	return false;
}

/* ---- C++ ----------------------------------------------------------------------------------- */

/* Skips an inline namespace that stands for an ABI, as tags do: std::__cxx11:: of libstdc++,
 * std::__1:: of libc++. Returns s if there is none. */
static const char *skip_abi_namespace(const char *begin, const char *s)
{
	static const char *const names[] = {"__cxx11::", "__1::"};
	size_t i;

	for (i = 0; *s == '_' && i < sizeof names / sizeof *names; i++)
		if (str_starts_with(s, names[i]) && follows(begin, s, "std::"))
			return s + strlen(names[i]);
	return s;
}

static const char *skip_qualifiers(const char *s)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept", NULL};

	return skip_words(s, words);
}

/* Skips an argument list at the top level and its qualifiers. Returns NULL if the text after them
 * is not understood. */
static const char *skip_arguments(const char *begin, const char *s)
{
	s = skip_group(begin, s, false);
	if (!s)
		return NULL;
	s = skip_qualifiers(s);
	if (*s && !str_starts_with(s, "::") && !str_starts_with(s, " [clone ") &&
	    !str_starts_with(s, "[abi:"))
		return NULL;
	return s;
}

/* Are the parentheses at s the argument list? */
static bool ends_function(const char *begin, const char *s)
{
	return skip_arguments(begin, s) != NULL;
}

/* Copies the text from the word "operator" up to the argument list; NULL if it is not an operator.
 */
static const char *copy_operator(struct cut *c, const char *begin, const char *s, unsigned depth)
{
	const char *end = operator_end(begin, s), *word = s + strlen("operator");

	add(c, s, (size_t)(end - s));
	if (end > word)
		return end;
	/* new, delete[], co_await, "" _literal, or the type of a conversion: that type may contain
	 * parentheses, and its function has no arguments. */
	while (end && *end && !(*end == '(' && ends_function(begin, end))) {
		end = skip_abi_namespace(begin, end);
		if (*end == '<' || *end == '(')
			end = copy_group(c, begin, end, depth, NESTING_MAX);
		else
			add(c, end++, 1);
	}
	return end && *end && end > word ? end : NULL;
}

/* {lambda(int)#1} -> {lambda#1} */
static const char *copy_braces(struct cut *c, const char *begin, const char *s)
{
	const char *end = skip_group(begin, s, false);

	while (s && end && s < end) {
		if (*s == '(' || *s == '<')
			s = skip_group(begin, s, false);
		else
			add(c, s++, 1);
	}
	return s ? end : NULL;
}

/* A function that returns a pointer to a function has its name inside of the type, as in int
 * (*f<int>(int))(). Returns the text after "(*"; NULL if it is something else. */
static const char *declarator(const char *begin, const char *s)
{
	const char *p = s + 1;

	/* (Class<int>::* is a pointer to a member. */
	while (is_ident(*p) || *p == ':' || *p == '<') {
		p = *p == '<' ? skip_group(begin, p, false) : p + 1;
		if (!p)
			return NULL;
	}
	if (*p != '*' && *p != '&')
		return NULL;
	while (*p == '*' || *p == '&')
		p = skip_qualifiers(p + 1);
	return p + (*p == ' ');
}

static const char *copy_special_prefix(struct cut *c, const char *s)
{
	static const char *const prefixes[] = {"vtable for ",
					       "VTT for ",
					       "guard variable for ",
					       "initializer for module ",
					       "non-virtual thunk to ",
					       "virtual thunk to ",
					       "covariant return thunk to ",
					       "TLS init function for ",
					       "TLS wrapper function for ",
					       "transaction clone for ",
					       "reference temporary #0 for ",
					       "construction vtable for "};
	size_t i;

	for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (str_starts_with(s, prefixes[i])) {
			add(c, s, strlen(prefixes[i]));
			return s + strlen(prefixes[i]);
		}
	return s;
}

/* The state while one name is shortened. */
struct cxx {
	struct cut c;
	const char *begin;
	size_t name;	 /* offset of the function's name in the output */
	bool declarator; /* the name is inside of its return type */
	unsigned depth;
};

static const char *cxx_parenthesis(struct cxx *x, const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *inner;

	if (str_starts_with(s, anonymous)) {
		add(&x->c, s, sizeof anonymous - 1);
		return s + sizeof anonymous - 1;
	}
	if (follows(x->begin, s, "decltype") || follows(x->begin, s, "decltype "))
		return skip_group(x->begin, s, false);
	if (x->c.out->len > x->name) {
		s = x->declarator ? skip_group(x->begin, s, false) : skip_arguments(x->begin, s);
		/* After the arguments of such a function comes the rest of its return type. */
		return s && x->declarator && *(s = skip_qualifiers(s)) == ')' ? s + strlen(s) : s;
	}
	inner = declarator(x->begin, s);
	x->declarator = inner != NULL;
	return inner;
}

static const char *cxx_step(struct cxx *x, const char *s)
{
	const char *after = skip_abi_namespace(x->begin, s);

	if (after > s)
		return after;
	if (*s == '<')
		return copy_group(&x->c, x->begin, s, x->depth, NESTING_MAX);
	if (str_starts_with(s, "[abi:"))
		return skip_group(x->begin, s, false);
	if (*s == '{')
		return copy_braces(&x->c, x->begin, s);
	if (*s == '(')
		return cxx_parenthesis(x, s);
	if (*s == ' ') {
		x->c.out->len = x->name; /* that was the return type */
		return s + 1;
	}
	if (operator_end(x->begin, s) > s || str_starts_with(s, "operator ") ||
	    str_starts_with(s, "operator\""))
		if (s == x->begin || !is_ident(s[-1]))
			return copy_operator(&x->c, x->begin, s, x->depth);
	add(&x->c, s, 1);
	return s + 1;
}

static bool simplify_cxx(struct namebuf *out, const char *s, unsigned depth)
{
	struct cxx x = {.c = {.out = out}, .depth = depth};
	const char *text = s;
	size_t before = out->len;

	if (str_starts_with(s, "typeinfo "))
		return cut_templates(out, s, MANGLING_CXX, depth); /* of a type */
	x.begin = s = copy_special_prefix(&x.c, s);
	x.name = out->len;
	while (s && *s && !str_starts_with(s, " [clone "))
		s = cxx_step(&x, s);
	if (!s || out->len == x.name) {
		out->len = before;
		return cut_templates(out, text, MANGLING_CXX, depth);
	}
	add(&x.c, s, strlen(s));
	return true;
}

/* ---- Rust ---------------------------------------------------------------------------------- */

/* <alloc::vec::Vec<T>>::push is an inherent method in v0 mangling; legacy mangling writes it
 * without the brackets. <T as Trait>::method and <impl ...> need theirs. */
static bool is_plain_path(const char *s, const char *end)
{
	if (!is_ident(*s) || str_starts_with(s, "impl ") || str_starts_with(s, "dyn "))
		return false;
	return !memmem(s, (size_t)(end - s), " as ", 4);
}

/* Generic arguments follow an identifier or "::"; other angle brackets are <Type as Trait>. */
static const char *rust_angle(struct cut *c, const char *begin, const char *s, unsigned depth)
{
	const char *end = skip_group(begin, s, true);

	if (!end)
		return NULL;
	if (follows(begin, s, "::") && !depth) {
		c->out->len -= 2;
		return end;
	}
	if (s > begin && (is_ident(s[-1]) || s[-1] == ':'))
		return copy_group(c, begin, s, depth, NESTING_MAX);
	if (s == begin && str_starts_with(end, "::") && is_plain_path(s + 1, end - 1)) {
		struct namebuf *out = c->out;
		size_t mark = out->len;

		/* Copies the type and removes its brackets. */
		s = copy_group(c, begin, s, depth, NESTING_MAX);
		if (!s || out->failed)
			return NULL;
		memmove(out->s + mark, out->s + mark + 1, out->len - mark - 2);
		out->len -= 2;
		return end;
	}
	add(c, s, 1);
	return s + 1;
}

static bool simplify_rust(struct namebuf *out, const char *s, unsigned depth)
{
	struct cut c = {.out = out, .rust = true};
	const char *begin = s;

	while (s && *s) {
		if (str_starts_with(s, "->")) {
			add(&c, s, 2);
			s += 2;
		} else if (*s == '<') {
			s = rust_angle(&c, begin, s, depth);
		} else {
			add(&c, s++, 1);
		}
	}
	return s;
}

/* ---- D ------------------------------------------------------------------------------------- */

/* Returns the end of a group. Template arguments may be values, even strings: "a(b". */
static const char *d_group_end(const char *s)
{
	unsigned open = 0;

	for (; *s; s++) {
		if (*s == '"' || *s == '\'' || *s == '`') {
			char quote = *s++;

			for (; *s && *s != quote; s++)
				if (*s == '\\' && s[1])
					s++;
			if (!*s)
				return NULL;
		} else if (*s == '(') {
			open++;
		} else if (*s == ')' && !--open) {
			return s + 1;
		}
	}
	return NULL;
}

/* Skips the qualifiers of the object that a member function is called on. */
static const char *d_skip_qualifiers(const char *s)
{
	static const char *const words[] = {" const", " immutable", " inout", " shared", NULL};

	return skip_words(s, words);
}

static bool simplify_d(struct namebuf *out, const char *s, unsigned depth)
{
	struct cut c = {.out = out};
	const char *begin = s, *end;

	while (*s) {
		if (*s != '(') {
			add(&c, s++, 1);
			continue;
		}
		end = d_group_end(s);
		if (!end)
			return false;
		if (s > begin && s[-1] == '!') {
			add(&c, depth ? s : "(...)", depth ? (size_t)(end - s) : 5);
			s = end;
		} else {
			s = d_skip_qualifiers(end);
		}
	}
	return true;
}

bool simplify_name(struct namebuf *out, const char *s, enum mangling mangling, unsigned depth)
{
	size_t before = out->len;
	bool ok = mangling == MANGLING_CXX    ? simplify_cxx(out, s, depth)
		  : mangling == MANGLING_RUST ? simplify_rust(out, s, depth)
					      : simplify_d(out, s, depth);

	if (!ok)
		out->len = before;
	if (out->s)
		out->s[out->len] = 0;
	return ok && out->len > before && !out->failed;
}
