/* mangle_text.c - reads types from right to left: "char const*" is a pointer to const char.
 *
 * Knows what gcc and clang write into DW_AT_name; what is of another shape fails. */
#include "dwarf/mangle_text.h"

#include <ctype.h>
#include <string.h>

enum { NESTING_MAX = 64 };

void mangled_put_n(struct mangled *m, const char *s, size_t n)
{
	if (n > MANGLED_MAX - m->len) {
		m->failed = true;
		return;
	}
	memcpy(m->text + m->len, s, n);
	m->len += n;
}

void mangled_put(struct mangled *m, const char *s)
{
	mangled_put_n(m, s, strlen(s));
}

void mangled_put_number(struct mangled *m, uint64_t number)
{
	char s[20];
	size_t at = sizeof s;

	do {
		s[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	mangled_put_n(m, s + at, sizeof s - at);
}

void mangled_put_identifier(struct mangled *m, const char *s, size_t n)
{
	mangled_put_number(m, n);
	mangled_put_n(m, s, n);
}

static bool is(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && !memcmp(s, word, n);
}

static bool begins(const char *s, size_t n, const char *word)
{
	size_t k = strlen(word);

	return n >= k && !memcmp(s, word, k);
}

static bool ends(const char *s, size_t n, const char *word)
{
	size_t k = strlen(word);

	return n > k && !memcmp(s + n - k, word, k);
}

bool mangled_put_base_type(struct mangled *m, const char *s, size_t n)
{
	static const char *const rows[][2] = {
		{"void", "v"},
		{"bool", "b"},
		{"char", "c"},
		{"signed char", "a"},
		{"unsigned char", "h"},
		{"short", "s"},
		{"short int", "s"},
		{"unsigned short", "t"},
		{"short unsigned int", "t"},
		{"int", "i"},
		{"unsigned int", "j"},
		{"long", "l"},
		{"long int", "l"},
		{"unsigned long", "m"},
		{"long unsigned int", "m"},
		{"long long", "x"},
		{"long long int", "x"},
		{"unsigned long long", "y"},
		{"long long unsigned int", "y"},
		{"__int128", "n"},
		{"unsigned __int128", "o"},
		{"__int128 unsigned", "o"},
		{"float", "f"},
		{"double", "d"},
		{"long double", "e"},
		{"wchar_t", "w"},
		{"char8_t", "Du"},
		{"char16_t", "Ds"},
		{"char32_t", "Di"},
		{"decltype(nullptr)", "Dn"},
		{"std::nullptr_t", "Dn"},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (is(s, n, rows[i][0])) {
			mangled_put(m, rows[i][1]);
			return true;
		}
	return false;
}

size_t mangled_arguments_at(const char *s, size_t n)
{
	static const char *const operators[] = {"operator<=>", "operator<<=", "operator>>=",
						"operator->*", "operator<<",  "operator>>",
						"operator<=",  "operator>=",  "operator->",
						"operator<",   "operator>"};
	size_t at = 0, i;
	const char *p;

	if (n && s[0] == '<') /* gcc's <lambda(int)> */
		return n;
	for (i = 0; !at && i < sizeof operators / sizeof *operators; i++)
		if (begins(s, n, operators[i]))
			at = strlen(operators[i]);
	p = memchr(s + at, '<', n - at);
	at = p ? (size_t)(p - s) : n;
	while (at < n && at && s[at - 1] == ' ')
		at--;
	return at;
}

/* ---- brackets ---------------------------------------------------------------------------- */

static int bracket(char c)
{
	switch (c) {
	case '<':
	case '(':
	case '[':
	case '{':
		return 1;
	case '>':
	case ')':
	case ']':
	case '}':
		return -1;
	}
	return 0;
}

/* The offset of a comma or of "::" outside of all brackets, from `from`; n: there is none. */
static size_t find(const char *s, size_t n, size_t from, char what)
{
	int open = 0;
	size_t i;

	for (i = from; i < n; i++) {
		if (s[i] == what && !open && (what != ':' || (i + 1 < n && s[i + 1] == ':')))
			return i;
		if (s[i] == '-' && i + 1 < n && s[i + 1] == '>')
			i++;
		else
			open += bracket(s[i]);
		if (open < 0)
			return n;
	}
	return n;
}

/* The bracket that the last character closes; n: none. */
static size_t opened(const char *s, size_t n)
{
	int open = 0;
	size_t i;

	for (i = n; i--;) {
		open += bracket(s[i]);
		if (!open)
			return i;
	}
	return n;
}

static void trim(const char **s, size_t *n)
{
	while (*n && **s == ' ') {
		++*s;
		--*n;
	}
	while (*n && (*s)[*n - 1] == ' ')
		--*n;
}

/* ---- types ------------------------------------------------------------------------------- */

static void put_type(struct mangled *m, const char *s, size_t n);

static void put_each(struct mangled *m, const char *s, size_t n,
		     void (*put)(struct mangled *, const char *, size_t))
{
	size_t from = 0, to;

	trim(&s, &n);
	for (; n && from <= n && !m->failed; from = to + 1) {
		to = find(s, n, from, ',');
		put(m, s + from, to - from);
	}
}

/* What follows the type in a <literal>. */
static void put_digits(struct mangled *m, const char *s, size_t n)
{
	bool negative = s[0] == '-';

	mangled_put(m, negative ? "n" : "");
	mangled_put_n(m, s + negative, n - negative);
	mangled_put(m, "E");
}

static size_t number_length(const char *s, size_t n)
{
	size_t i = n && s[0] == '-';

	while (i < n && isdigit((unsigned char)s[i]))
		i++;
	return i > (s[0] == '-') ? i : 0;
}

/* 3, 3u, 3ul: gcc leaves the suffix out, and with it what type the number has. */
static bool put_literal(struct mangled *m, const char *s, size_t n)
{
	static const char *const suffixes[][2] = {{"", "i"},   {"u", "j"},  {"l", "l"},
						  {"ul", "m"}, {"ll", "x"}, {"ull", "y"}};
	size_t digits = number_length(s, n), i;

	if (is(s, n, "true") || is(s, n, "false")) {
		mangled_put(m, s[0] == 't' ? "Lb1E" : "Lb0E");
		return true;
	}
	for (i = 0; digits && i < sizeof suffixes / sizeof *suffixes; i++)
		if (is(s + digits, n - digits, suffixes[i][0])) {
			mangled_put(m, "L");
			mangled_put(m, suffixes[i][1]);
			put_digits(m, s, digits);
			m->untyped |= !i;
			return true;
		}
	return false;
}

/* (Enum)3 */
static bool put_cast(struct mangled *m, const char *s, size_t n)
{
	size_t close, digits;

	if (s[0] != '(' || begins(s, n, "(anonymous namespace)"))
		return false;
	close = find(s, n, 1, ')');
	digits = close < n ? number_length(s + close + 1, n - close - 1) : 0;
	if (!digits || close + 1 + digits != n)
		return false;
	mangled_put(m, "L");
	put_type(m, s + 1, close - 1);
	put_digits(m, s + close + 1, digits);
	return true;
}

static void put_argument(struct mangled *m, const char *s, size_t n)
{
	trim(&s, &n);
	if (!n)
		m->failed = true;
	else if (!put_literal(m, s, n) && !put_cast(m, s, n))
		put_type(m, s, n);
}

static void put_part(struct mangled *m, const char *s, size_t n)
{
	size_t at = mangled_arguments_at(s, n);

	if (is(s, n, "(anonymous namespace)") || is(s, n, "<unnamed>") || is(s, n, "{anonymous}")) {
		mangled_put(m, "12_GLOBAL__N_1");
		return;
	}
	if (begins(s, n, "<lambda(") && ends(s, n, ")>")) {
		mangled_put(m, "8{lambda}"); /* which one is not told */
		return;
	}
	/* Functions, expressions. */
	if (!at || memchr(s, '(', at) || memchr(s, '{', at) || s[0] == '<' || s[0] == '\'' ||
	    s[0] == '&') {
		m->failed = true;
		return;
	}
	mangled_put_identifier(m, s, at);
	if (at == n)
		return;
	while (s[at] == ' ')
		at++;
	if (s[n - 1] != '>' || opened(s, n) != at) {
		m->failed = true;
		return;
	}
	mangled_put(m, "I");
	put_each(m, s + at + 1, n - at - 2, put_argument);
	mangled_put(m, "E");
}

const char *mangled_std_class(const char *s, size_t n)
{
	static const char *const rows[][2] = {
		{"basic_string<char, std::char_traits<char>, std::allocator<char> >", "Ss"},
		{"basic_istream<char, std::char_traits<char> >", "Si"},
		{"basic_ostream<char, std::char_traits<char> >", "So"},
		{"basic_iostream<char, std::char_traits<char> >", "Sd"},
	};
	size_t i;

	for (i = 0; i < sizeof rows / sizeof *rows; i++)
		if (is(s, n, rows[i][0]))
			return rows[i][1];
	return NULL;
}

static void put_parts(struct mangled *m, const char *s, size_t n)
{
	const char *abbreviation = NULL;
	size_t from = 0, to;

	if (begins(s, n, "std::")) {
		to = find(s, n, 5, ':');
		abbreviation = mangled_std_class(s + 5, to - 5);
		from = abbreviation ? to + 2 : 0;
	}
	if (abbreviation && from >= n) {
		mangled_put(m, abbreviation);
		return;
	}
	mangled_put(m, "N");
	mangled_put(m, abbreviation ? abbreviation : "");
	for (; from < n && !m->failed; from = to + 2) {
		to = find(s, n, from, ':');
		put_part(m, s + from, to - from);
	}
	mangled_put(m, "E");
}

/* What is around the last function among the scopes; 0: there is none. */
static size_t function_length(const char *s, size_t n)
{
	size_t from, to, last = 0;

	for (from = 0; from < n; from = to + 2) {
		to = find(s, n, from, ':');
		if (to > from && to < n && s[to - 1] == ')' &&
		    !is(s + from, to - from, "(anonymous namespace)"))
			last = to;
	}
	return last;
}

/* scope::function(int)::Class is a <local-name>. */
static void put_nested(struct mangled *m, const char *s, size_t n)
{
	size_t function = function_length(s, n), open;

	if (!function) {
		put_parts(m, s, n);
		return;
	}
	open = opened(s, function);
	m->failed |= open == function || ++m->nesting > NESTING_MAX;
	if (m->failed)
		return;
	mangled_put(m, "Z");
	put_nested(m, s, open);
	if (function - open == 2)
		mangled_put(m, "v");
	put_each(m, s + open + 1, function - open - 2, put_type);
	mangled_put(m, "E");
	put_parts(m, s + function + 2, n - function - 2);
	m->nesting--;
}

/* int (*)(char), void (Class::*)(), void(int): what stands between the result and the arguments. */
static void put_function(struct mangled *m, const char *s, size_t n)
{
	size_t open = opened(s, n), inner;
	const char *result = s;
	size_t n_result = open;

	m->failed |= open == n;
	if (m->failed)
		return;
	trim(&result, &n_result);
	if (n_result && result[n_result - 1] == ')') {
		inner = opened(result, n_result);
		m->failed |= inner + 2 >= n_result;
		if (m->failed)
			return;
		if (ends(result, n_result - 1, "::*")) {
			mangled_put(m, "M");
			put_type(m, result + inner + 1, n_result - inner - 5);
		} else if (n_result - inner == 3 && strchr("*&", result[inner + 1])) {
			mangled_put(m, result[inner + 1] == '*' ? "P" : "R");
		} else {
			m->failed = true;
		}
		n_result = inner;
	}
	mangled_put(m, "F");
	put_type(m, result, n_result);
	if (n - open == 2)
		mangled_put(m, "v");
	put_each(m, s + open + 1, n - open - 2, put_type);
	mangled_put(m, "E");
}

static void put_array(struct mangled *m, const char *s, size_t n)
{
	size_t open = opened(s, n), n_of;

	m->failed |= open == n;
	if (m->failed)
		return;
	n_of = open;
	trim(&s, &n_of);
	if (ends(s, n_of, "(&)") || ends(s, n_of, "(*)")) {
		mangled_put(m, s[n_of - 2] == '&' ? "R" : "P");
		n_of -= 3;
	}
	mangled_put(m, "A");
	mangled_put_n(m, s + open + 1, n - open - 2);
	mangled_put(m, "_");
	put_type(m, s, n_of);
}

/* What a type is made from another by, first from the end, then from the beginning: its code, and
 * *s and *n without it; NULL: it is not. */
static const char *take_modifier(const char **s, size_t *n)
{
	static const char *const suffixes[][2] = {
		{"&&", "O"}, {"&", "R"}, {"*", "P"}, {" const", "K"}, {" volatile", "V"}};
	static const char *const prefixes[][2] = {{"const ", "K"}, {"volatile ", "V"}};
	size_t i;

	for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
		if (ends(*s, *n, suffixes[i][0])) {
			*n -= strlen(suffixes[i][0]);
			return suffixes[i][1];
		}
	if (strchr(")]", (*s)[*n - 1]))
		return NULL;
	for (i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (begins(*s, *n, prefixes[i][0])) {
			*s += strlen(prefixes[i][0]);
			*n -= strlen(prefixes[i][0]);
			return prefixes[i][1];
		}
	return NULL;
}

static void put_type(struct mangled *m, const char *s, size_t n)
{
	const char *modifier;

	trim(&s, &n);
	m->failed |= !n || ++m->nesting > NESTING_MAX;
	if (m->failed)
		return;
	modifier = take_modifier(&s, &n);
	if (modifier) {
		mangled_put(m, modifier);
		put_type(m, s, n);
	} else if (is(s, n, "...")) {
		mangled_put(m, "z");
	} else if (!mangled_put_base_type(m, s, n)) {
		if (s[n - 1] == ')')
			put_function(m, s, n);
		else if (s[n - 1] == ']')
			put_array(m, s, n);
		else
			put_nested(m, s, n);
	}
	m->nesting--;
}

bool mangled_put_name(struct mangled *m, const char *s, size_t n)
{
	size_t before = m->len;
	unsigned nesting = m->nesting;

	m->untyped = false;
	if (m->failed)
		return false;
	put_part(m, s, n);
	if (!m->failed)
		return true;
	m->failed = false;
	m->nesting = nesting;
	m->len = before;
	return false;
}
