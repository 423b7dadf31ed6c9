/* simplify.c - demangled names cut down to what a person calls the function.
 *
 * Works on libiberty's output, not on C++: the grammar of what d_print_comp() and rust-demangle
 * print is small. A name of unexpected shape is left alone by leaving the output empty. */
#include <ctype.h>
#include <string.h>

#include "symbolize/demangle.h"

static bool is_ident(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* The character after the bracket that closes the one at s, or NULL. Inside of angle brackets,
 * "->" and operator names do not close; inside of round ones, angle brackets are comparisons. */
static const char *skip_group(const char *s)
{
	char open = *s, close = open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}';
	unsigned depth = 0;

	while (*s) {
		if (open == '<' && (*s == '(' || *s == '{')) {
			s = skip_group(s);
			if (!s)
				return NULL;
			continue;
		}
		if (open == '<' && starts(s, "operator") && (s[8] == '<' || s[8] == '>')) {
			s += 8 + strspn(s + 8, "<>=");
			continue;
		}
		if (*s == open)
			depth++;
		else if (*s == close && !(close == '>' && s[-1] == '-') && !--depth)
			return s + 1;
		s++;
	}
	return NULL;
}

/* Copies an operator's name from behind the word "operator"; NULL when nothing sensible follows. */
static const char *copy_operator(struct namebuf *out, const char *s)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<",
					      ">>", "<=", ">=",	 "->",	"<",   ">"};
	size_t i, n;

	for (i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (starts(s, symbols[i])) {
			n = strlen(symbols[i]);
			namebuf_add(out, s, n);
			s += n;
			if (s[0] != ' ' || s[1] != '<')
				return s;
			namebuf_add(out, s++, 1); /* "operator<< <char>": as printed */
			return s;
		}
	n = strspn(s, "+-*/%^&|~!=,");
	if (n) {
		namebuf_add(out, s, n);
		return s + n;
	}
	/* new, delete[], co_await, "" _literal, or the type that is converted to */
	while (*s && *s != '(') {
		if (*s == '<') {
			s = skip_group(s);
			if (!s)
				return NULL;
			namebuf_add(out, "<...>", 5);
			continue;
		}
		namebuf_add(out, s++, 1);
	}
	return *s ? s : NULL;
}

/* {lambda(int)#1} -> {lambda#1} */
static const char *copy_braces(struct namebuf *out, const char *s)
{
	const char *end = skip_group(s);

	if (!end)
		return NULL;
	while (s < end) {
		if (*s == '(' || *s == '<') {
			s = skip_group(s);
			if (!s || s > end)
				return NULL;
		} else {
			namebuf_add(out, s++, 1);
		}
	}
	return s;
}

static bool follows(const char *begin, const char *s, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(s - begin) >= n && !memcmp(s - n, word, n);
}

static const char *skip_qualifiers(const char *s)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " noexcept"};
	size_t i = 0;

	while (i < sizeof words / sizeof *words) {
		if (starts(s, words[i])) {
			s += strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	}
	return s;
}

/* An argument list at the top level: skipped with what qualifies it. NULL when the name goes on in
 * a way that makes this something else (a function that returns a pointer to a function). */
static const char *skip_arguments(const char *s)
{
	s = skip_group(s);
	if (!s)
		return NULL;
	s = skip_qualifiers(s);
	if (*s && !starts(s, "::") && !starts(s, " [clone ") && !starts(s, "[abi:"))
		return NULL;
	return s;
}

static const char *copy_special_prefix(struct namebuf *out, const char *s)
{
	static const char *const prefixes[] = {"vtable for ",
					       "VTT for ",
					       "typeinfo for ",
					       "typeinfo name for ",
					       "guard variable for ",
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
		if (starts(s, prefixes[i])) {
			namebuf_add(out, s, strlen(prefixes[i]));
			return s + strlen(prefixes[i]);
		}
	return s;
}

static bool simplify_cxx(struct namebuf *out, const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *begin = s = copy_special_prefix(out, s);
	size_t name = out->len; /* where the function's name starts: what is before is kept */

	while (s && *s && !starts(s, " [clone ")) {
		if (*s == '<') {
			s = skip_group(s);
			namebuf_add(out, "<...>", 5);
		} else if (starts(s, "[abi:")) {
			s = skip_group(s);
		} else if (*s == '{') {
			s = copy_braces(out, s);
		} else if (starts(s, anonymous)) {
			namebuf_add(out, s, sizeof anonymous - 1);
			s += sizeof anonymous - 1;
		} else if (*s == '(' &&
			   (follows(begin, s, "decltype") || follows(begin, s, "decltype "))) {
			s = skip_group(s);
		} else if (*s == '(') {
			if (out->len == name)
				return false;
			s = skip_arguments(s);
		} else if (*s == ' ') {
			out->len = name; /* that was the return type */
			s++;
		} else if (starts(s, "operator") && (s == begin || !is_ident(s[-1])) &&
			   !is_ident(s[8])) {
			namebuf_add(out, s, 8);
			s = copy_operator(out, s + 8);
		} else {
			namebuf_add(out, s++, 1);
		}
	}
	return s && out->len > name;
}

/* Generic arguments follow an identifier or "::"; other angle brackets are <Type as Trait>. */
static bool simplify_rust(struct namebuf *out, const char *s)
{
	const char *begin = s;

	while (s && *s) {
		if (*s == '<' && follows(begin, s, "::")) {
			out->len -= 2;
			s = skip_group(s);
		} else if (*s == '<' && s > begin && is_ident(s[-1])) {
			s = skip_group(s);
			namebuf_add(out, "<...>", 5);
		} else {
			namebuf_add(out, s++, 1);
		}
	}
	return s;
}

static bool simplify_d(struct namebuf *out, const char *s)
{
	const char *begin = s;

	while (s && *s) {
		if (*s == '(' && s > begin && s[-1] == '!') {
			s = skip_group(s);
			namebuf_add(out, "(...)", 5);
		} else if (*s == '(') {
			s = skip_group(s);
		} else {
			namebuf_add(out, s++, 1);
		}
	}
	return s;
}

void simplify_name(struct namebuf *out, const char *s, enum mangling mangling)
{
	size_t before = out->len;
	bool ok = mangling == MANGLING_CXX    ? simplify_cxx(out, s)
		  : mangling == MANGLING_RUST ? simplify_rust(out, s)
					      : simplify_d(out, s);

	if (!ok)
		out->len = before;
	if (out->s)
		out->s[out->len] = 0;
}
