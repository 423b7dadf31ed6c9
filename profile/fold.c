/* fold.c - spells function names as stackcollapse-perf.pl and inferno-collapse-perf do, except
 * where these lose information: lambdas keep their own name instead of the enclosing function's,
 * and names that begin with "(anonymous namespace)" are kept. The return type, which demanglers
 * write only for instances of function templates, is removed with the argument list. */
#include "profile/profile.h"

#include <ctype.h>

struct scan {
	const char *s;
	size_t n;
};

static bool at_word(const struct scan *c, size_t i, const char *word)
{
	size_t n = strlen(word);

	return c->n - i >= n && !memcmp(c->s + i, word, n);
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/* Returns the index after "operator" and its symbol at i ("operator<<", "operator()"), or i if
 * there is none. The demangler writes a space between such a symbol and template arguments. */
static size_t skip_operator(const struct scan *c, size_t i)
{
	size_t end = i + strlen("operator");

	if (!at_word(c, i, "operator") || (i && is_name_char(c->s[i - 1])))
		return i;
	if (at_word(c, end, "()") || at_word(c, end, "[]"))
		return end + 2;
	while (end < c->n && strchr("<>=!+-*/%^&|~,", c->s[end]))
		end++;
	return end;
}

/* Returns the index after the parenthesis that closes the one at i, or n if it is not closed. */
static size_t skip_parentheses(const struct scan *c, size_t i)
{
	size_t depth = 0;

	for (; i < c->n; i++) {
		if (c->s[i] == '(')
			depth++;
		else if (c->s[i] == ')' && !--depth)
			return i + 1;
	}
	return c->n;
}

/* Do these parentheses belong to a name or a type, rather than to an argument list? */
static bool is_kept_group(const struct scan *c, size_t i)
{
	char before = i ? c->s[i - 1] : '.';
	char after = i + 1 < c->n ? c->s[i + 1] : 0;
	size_t word = strlen("decltype");

	return at_word(c, i, "(anonymous namespace)") || before == '.' || after == '*' ||
	       after == '&' || (i >= word && at_word(c, i - word, "decltype")) ||
	       (i > word && at_word(c, i - word - 1, "decltype "));
}

/* The mark "[+2]" of functions that the linker has merged is part of the name, and so is that of a
 * stub, which is no part of the function that it leads to. */
static bool at_mark(const struct scan *c, size_t i)
{
	return (at_word(c, i, " [+") && c->s[c->n - 1] == ']') || at_word(c, i, "@plt");
}

/* After an argument list: returns the index of the "::" of a name declared inside of that function
 * ("f(int) const::{lambda()#1}"), or of a mark, or n if neither follows. */
static size_t find_inner_name(const struct scan *c, size_t i)
{
	static const char *const qualifiers[] = {" const", " volatile", " &", "&"};
	size_t k = 0;

	while (k < sizeof qualifiers / sizeof *qualifiers)
		if (at_word(c, i, qualifiers[k])) {
			i += strlen(qualifiers[k]);
			k = 0;
		} else {
			k++;
		}
	while (at_word(c, i, " [clone "))
		while (i < c->n && c->s[i++] != ']')
			;
	return at_word(c, i, "::") || at_mark(c, i) ? i : c->n;
}

/* Returns the index after the item at i: a character, an operator's name, or parentheses with their
 * contents. */
static size_t skip_one(const struct scan *c, size_t i, size_t *depth)
{
	size_t end = skip_operator(c, i);

	if (end > i)
		return end;
	switch (c->s[i]) {
	case '<':
	case '{':
	case '[':
		++*depth;
		break;
	case '>': /* not that of "->" */
		*depth -= *depth && !(i && c->s[i - 1] == '-');
		break;
	case '}':
	case ']':
		*depth -= *depth > 0;
		break;
	case '(':
		return skip_parentheses(c, i);
	}
	return i + 1;
}

/* Does an argument list, of those from the one at i on, follow template arguments? */
static bool has_template(const struct scan *c, size_t i)
{
	size_t depth = 0;

	while (i < c->n) {
		if (c->s[i] != '(' || depth || is_kept_group(c, i)) {
			i = skip_one(c, i, &depth);
			continue;
		}
		if (i && c->s[i - 1] == '>')
			return true;
		i = find_inner_name(c, skip_parentheses(c, i));
	}
	return false;
}

/* The method of a Java class behind its type, "int[] java.util.Map.get": returns where it begins,
 * or 0. No function of C++ has a dot in its name before its arguments. */
static size_t skip_java_type(const struct scan *c, size_t end)
{
	const char *space = memchr(c->s, ' ', end);
	const size_t begin = space ? (size_t)(space - c->s) + 1 : end;

	for (size_t i = 0; i < end; i++)
		if (i + 1 != begin && !is_name_char(c->s[i]) && !strchr("./+<>-[]", c->s[i]))
			return 0;
	return begin < end && memchr(c->s + begin, '.', end - begin) ? begin : 0;
}

/* Returns the index after the return type of the function whose first argument list is at `end`, or
 * 0 if it has none. In C++ only instances of templates have one, "void f<int>(int)", "auto
 * f(int)::{lambda(auto:1)#1}::operator()<int>(int) const"; the part after the word operator may
 * have spaces, too. */
static size_t skip_return_type(const struct scan *c, size_t end)
{
	size_t i = 0, depth = 0, begin = 0;

	if (!has_template(c, end))
		return skip_java_type(c, end);
	while (i < end && !(at_word(c, i, "operator") && !(i && is_name_char(c->s[i - 1])))) {
		if (c->s[i] == ' ' && !depth)
			begin = i + 1;
		i = skip_one(c, i, &depth);
	}
	return begin;
}

void fold_function(struct text *t, const char *name, size_t n)
{
	struct scan c = {name, n};
	size_t i = 0, from = 0, depth = 0;
	bool first = true;

	while (i < n) {
		if (name[i] == '(' && !depth && !is_kept_group(&c, i)) {
			from = first ? skip_return_type(&c, i) : from;
			first = false;
			text_clean(t, name + from, i - from);
			from = i = find_inner_name(&c, skip_parentheses(&c, i));
		} else {
			i = skip_one(&c, i, &depth);
		}
	}
	text_clean(t, name + from, n - from);
}

bool fold_is_rust(const char *system_name)
{
	size_t n = strlen(system_name);

	/* v0 mangling, or the legacy one: an Itanium name whose last part is h and 16 hex digits.
	 */
	if (!strncmp(system_name, "_R", 2))
		return true;
	return !strncmp(system_name, "_ZN", 3) && n > 23 && system_name[n - 1] == 'E' &&
	       !memcmp(system_name + n - 20, "17h", 3) &&
	       strspn(system_name + n - 17, "0123456789abcdef") == 16;
}

bool fold_is_java(const char *name, size_t n)
{
	const char *semicolon = memchr(name, ';', n), *end;
	bool has_package = false;
	const char *s;

	/* perf-map-agent's older form is "Lcom/example/Main::run". */
	end = semicolon ? semicolon : memmem(name, n, "::", 2);
	if (!end || *name != 'L')
		return false;
	for (s = name + 1; s < end; s++) {
		if (*s == '/')
			has_package = true;
		else if (!is_name_char(*s) && *s != '.' && *s != '-')
			return false;
	}
	return has_package;
}

void fold_finish(struct text *t, size_t start)
{
	char *s, *end, *p;

	if (t->failed)
		return;
	while (t->n > start && t->s[t->n - 1] == ' ')
		t->n--;
	if (t->n == start) {
		text_str(t, "[unknown]");
		return;
	}
	s = t->s + start;
	end = t->s + t->n;
	for (p = s; p < end; p++)
		if (*p == ';')
			*p = ':';
	for (p = end; p > s && (isdigit((unsigned char)p[-1]) || p[-1] == '.'); p--)
		;
	if (p < end && p > s && p[-1] == ' ')
		p[-1] = '_';
}
