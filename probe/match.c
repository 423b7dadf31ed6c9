/* match.c - the forms in which people write the name of a symbol. */
#include "probe/match.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What a name may have that the pattern leaves out. */
enum { LACKS_NOTHING, LACKS_TEMPLATES = 1, LACKS_DEFAULTS = 2 };

/* Where a list of template arguments is closed in which s[at] is, or begins; n: nowhere. */
static size_t closing(const char *s, size_t n, size_t at)
{
	size_t depth = 1;

	for (at += s[at] == '<'; at < n; at++) {
		depth += s[at] == '<';
		if (s[at] == '>' && !--depth)
			return at;
	}
	return n;
}

static bool ends_in_operator(const char *s, size_t n)
{
	static const char word[] = "operator";

	n -= n && s[n - 1] == '<'; /* operator<< */
	return n >= sizeof word - 1 && !memcmp(s + n - (sizeof word - 1), word, sizeof word - 1);
}

/* How much of a name a pattern may leave out at s[k]: all arguments of a template, or the last
 * ones, which may be defaults. */
static size_t left_out(const char *p, const char *p_end, const char *s, size_t ns, size_t k,
		       unsigned lacks)
{
	size_t to = k;

	if (lacks & LACKS_TEMPLATES && s[k] == '<' && !ends_in_operator(s, k))
		to = closing(s, ns, k) + 1;
	else if (lacks & LACKS_DEFAULTS && s[k] == ',' && p < p_end && *p == '>')
		to = closing(s, ns, k);
	return to > ns ? 0 : to - k;
}

static bool matches(const char *p, size_t np, char star_sign, const char *s, size_t ns,
		    unsigned lacks)
{
	size_t i = 0, k = 0, star = SIZE_MAX, mark = 0, n;

	/* On a mismatch the last star takes one character more. */
	while (k < ns) {
		if (i < np && p[i] == star_sign) {
			star = i++;
			mark = k;
		} else if (i < np && (p[i] == '?' || p[i] == s[k])) {
			i++;
			k++;
		} else if ((n = left_out(p + i, p + np, s, ns, k, lacks))) {
			k += n;
		} else if (star != SIZE_MAX) {
			i = star + 1;
			k = ++mark;
		} else {
			return false;
		}
	}
	while (i < np && p[i] == star_sign)
		i++;
	return i == np;
}

bool glob_matches(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	return matches(pattern, pattern_len, '*', text, len, LACKS_NOTHING);
}

/* Finds which stars are wildcards: not those of types, "f(char*)", nor of Go's methods of pointers,
 * "pkg.(*T).Method". */
static void make_shape(struct pattern *p, bool literally)
{
	size_t depth = 0;

	p->is_wild = false;
	p->normal_len = 0;
	if (p->len > sizeof p->shape) /* the names of symbols are shorter */
		return;
	for (size_t i = 0; i < p->len; i++) {
		const char c = p->text[i];

		depth += c == '(';
		depth -= c == ')' && depth;
		p->shape[i] = c == '*' && !depth && !literally ? PATTERN_STAR : c;
		p->is_wild |= p->shape[i] == PATTERN_STAR || (c == '?' && !literally);
	}
	if (memchr(p->text, '(', p->len) || memchr(p->text, '<', p->len))
		p->normal_len = spelling_normal(p->shape, p->len, p->normal, sizeof p->normal);
}

void pattern_take_literally(struct pattern *p, bool literally)
{
	make_shape(p, literally);
}

/* To demangle all of 150,000 symbols takes seconds: those without the word need not be. But for
 * what the C++ ABI abbreviates ("Ss" is std::string), mangling keeps words as they are. */
static bool is_plain_word(const char *text, size_t len)
{
	static const char *const abbreviated[] = {
		"std",	   "allocator",	    "string",	     "basic_string",   "istream",
		"ostream", "basic_istream", "basic_ostream", "basic_iostream", "iostream",
	};

	for (size_t i = 0; i < len; i++)
		if (text[i] != '_' && !isalnum((unsigned char)text[i]))
			return false;
	for (size_t i = 0; i < sizeof abbreviated / sizeof *abbreviated; i++)
		if (strlen(abbreviated[i]) == len && !memcmp(abbreviated[i], text, len))
			return false;
	return len;
}

void pattern_init(struct pattern *p, const char *text, size_t len)
{
	*p = (struct pattern){.text = text, .len = len, .is_word = is_plain_word(text, len)};
	make_shape(p, false);
	p->may_be_literal = p->is_wild && (memmem(text, len, "operator*", 9) ||
					   memmem(text, len, "operator->*", 11));
}

void pattern_done(struct pattern *p)
{
	demangler_done(&p->demangler);
	demangler_done(&p->shortened);
}

/* Is the name one of the namespaces' or classes' members that `text` names? */
static bool ends_with_part(const char *name, size_t n, const char *text, size_t len, unsigned lacks)
{
	for (size_t i = 1; i < n; i++)
		if ((name[i - 1] == '.' || (i >= 2 && name[i - 1] == ':' && name[i - 2] == ':')) &&
		    matches(text, len, PATTERN_STAR, name + i, n - i, lacks))
			return true;
	return false;
}

static bool is_text(const struct pattern *p, const char *text, size_t len, const char *name,
		    size_t n, unsigned lacks)
{
	if (p->last_part)
		return ends_with_part(name, n, text, len, lacks);
	if (!p->is_wild && !lacks)
		return n == len && !memcmp(name, text, n);
	return matches(text, len, PATTERN_STAR, name, n, lacks);
}

static bool is_same(const struct pattern *p, const char *name, size_t n)
{
	const unsigned lacks = LACKS_TEMPLATES | (p->is_lax ? LACKS_DEFAULTS : 0);
	char normal[2 * PATTERN_MAX];

	if (is_text(p, p->is_wild ? p->shape : p->text, p->len, name, n, LACKS_NOTHING))
		return true;
	if (!p->normal_len)
		return false;
	n = spelling_normal(name, n, normal, sizeof normal);
	return n && is_text(p, p->normal, p->normal_len, normal, n, lacks);
}

static bool is_name(const struct pattern *p, const char *name)
{
	return is_same(p, name, strlen(name));
}

/* The position of the list of arguments, which is the last one in brackets: behind it stand at most
 * words such as const. Length of the name if there is none. */
static size_t without_arguments(const char *name)
{
	size_t n = strlen(name), depth = 0, i;

	for (i = n; i > 0; i--) {
		if (name[i - 1] == ')')
			depth++;
		else if (name[i - 1] == '(' && depth && !--depth)
			break;
		else if (!depth && (name[i - 1] == ':' || name[i - 1] == '>'))
			return n;
	}
	if (i < 2 || (i >= 9 && !memcmp(name + i - 9, "operator", 8)))
		return n;
	return i - 1;
}

/* Where the name begins behind the type that instances of function templates return. */
static size_t without_return_type(const char *name, size_t n)
{
	size_t depth = 0, begin = 0;

	for (size_t i = 0; i < n; i++) {
		if (strchr("(<[{", name[i]))
			depth++;
		else if (strchr(")>]}", name[i]) && depth)
			depth--;
		else if (name[i] == ' ' && !depth && (i < 8 || memcmp(name + i - 8, "operator", 8)))
			begin = i + 1;
	}
	return begin;
}

/* f<...>::g as f::g, with what the compiler made of it left out. */
static bool is_bare_name(const struct pattern *p, const char *simple)
{
	static const char left_out[] = "<...>";
	char bare[512];
	size_t n = 0;

	while (*simple && n < sizeof bare) {
		if (!strncmp(simple, left_out, sizeof left_out - 1)) {
			simple += sizeof left_out - 1;
			continue;
		}
		bare[n++] = *simple++;
	}
	return !*simple && is_same(p, bare, n);
}

/* Go writes pkg.F[go.shape.int] for instances; people and its own traces pkg.F[...]. */
static bool is_go_instance(const struct pattern *p, const char *symbol)
{
	const char *open = strchr(symbol, '['), *close = strrchr(symbol, ']');
	char name[512];
	int n;

	if (!open || !close || close < open)
		return false;
	n = snprintf(name, sizeof name, "%.*s[...%s", (int)(open - symbol), symbol, close);
	return n > 0 && (size_t)n < sizeof name && is_same(p, name, (size_t)n);
}

bool pattern_matches(struct pattern *p, const char *symbol)
{
	static const struct name_style full = {.fold_clones = true};
	static const struct name_style simple = {.demangle = SYM_DEMANGLE_SIMPLE,
						 .fold_clones = true};
	const char *name;
	const char *close;
	size_t n, begin;

	if (p->is_word && !memmem(symbol, strlen(symbol), p->text, p->len))
		return false;
	if (is_name(p, symbol) || is_go_instance(p, symbol) ||
	    is_name(p, pattern_display_name(p, symbol)))
		return true;
	name = demangle(&p->demangler, symbol, &full);
	if (is_name(p, name))
		return true;
	if (name == symbol || !strncmp(name, symbol, strlen(name)))
		return false; /* no mangled name */
	n = without_arguments(name);
	begin = without_return_type(name, n);
	if (is_same(p, name, n) || is_name(p, name + begin) || is_same(p, name + begin, n - begin))
		return true;
	close = p->is_lax ? strrchr(name + n, ')') : NULL; /* behind it: const, && */
	if (close && close[1] &&
	    (is_same(p, name, (size_t)(close + 1 - name)) ||
	     is_same(p, name + begin, (size_t)(close + 1 - name) - begin)))
		return true;
	name = demangle(&p->shortened, symbol, &simple);
	return is_name(p, name) || is_bare_name(p, name);
}

bool pattern_is_literal(struct pattern *p, const char *symbol)
{
	const char *name = symbol;

	for (int i = 0; i < 2; i++, name = pattern_display_name(p, symbol))
		if (strlen(name) == p->len && !memcmp(name, p->text, p->len))
			return true;
	return false;
}

const char *pattern_display_name(struct pattern *p, const char *symbol)
{
	static const struct name_style full = {.fold_clones = false};

	return demangle(&p->demangler, symbol, &full);
}

unsigned name_distance(const char *a, size_t na, const char *b, size_t nb, unsigned max)
{
	enum { LETTERS = 64 };
	unsigned row[LETTERS + 1];

	if (na > LETTERS || nb > LETTERS || (na > nb ? na - nb : nb - na) > max)
		return max + 1;
	for (size_t k = 0; k <= nb; k++)
		row[k] = (unsigned)k;
	for (size_t i = 0; i < na; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t k = 0; k < nb; k++) {
			unsigned changed = diagonal + (a[i] != b[k]);
			unsigned least = row[k] < row[k + 1] ? row[k] : row[k + 1];

			diagonal = row[k + 1];
			row[k + 1] = changed < least + 1 ? changed : least + 1;
		}
	}
	return row[nb] > max ? max + 1 : row[nb];
}

bool match_is_part(const char *symbol)
{
	return strstr(symbol, ".cold") || strchr(symbol, '@') || symbol[0] == '.';
}
