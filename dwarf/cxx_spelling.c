/* cxx_spelling.c - names of DW_AT_name in the demangler's spelling. */
#include "dwarf/cxx_spelling.h"

#include <ctype.h>
#include <string.h>

#include "dwarf/dwarf.h"

void cxx_put_n(struct cxx_text *t, const char *s, size_t n)
{
	if (n > CXX_TEXT_MAX - t->len) {
		t->failed = true;
		return;
	}
	memcpy(t->text + t->len, s, n);
	t->len += n;
}

void cxx_put(struct cxx_text *t, const char *s)
{
	cxx_put_n(t, s, strlen(s));
}

size_t cxx_plain_length(const char *s)
{
	static const char *const operators[] = {"operator<=>", "operator<<=", "operator>>=",
						"operator->*", "operator<<",  "operator>>",
						"operator<=",  "operator>=",  "operator->",
						"operator<",   "operator>"};
	size_t at = 0, i;

	for (i = 0; !at && i < sizeof operators / sizeof *operators; i++)
		if (!strncmp(s, operators[i], strlen(operators[i])))
			at = strlen(operators[i]);
	at += strcspn(s + at, "<");
	while (at && s[at - 1] == ' ')
		at--;
	return at;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const char *s, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - s) >= n && !memcmp(s, with, n);
}

/* Returns the end of the group that begins with the bracket at s; `end` if it is not closed. */
static const char *skip_group(const char *s, const char *end)
{
	unsigned open = 0;

	for (; s < end; s++) {
		if (*s == '-' && starts(s, end, "->"))
			s++;
		else if (strchr("<([{", *s))
			open++;
		else if (strchr(">)]}", *s) && !--open)
			return s + 1;
	}
	return end;
}

/* Returns the end of a type's name, before the signs of pointers and the like. */
static const char *skip_named_type(const char *s, const char *end)
{
	static const char *const words[] = {"const ", "volatile ", "unsigned ", "signed ",
					    "long ",  "short ",	   "__int128 "};
	const char *group;
	size_t i = 0;

	while (i < sizeof words / sizeof *words && s < end)
		if (starts(s, end, words[i]) && is_word(s[strlen(words[i])])) {
			s += strlen(words[i]);
			i = 0;
		} else {
			i++;
		}
	while (s < end && (is_word(*s) || strchr(":<({", *s))) {
		group = strchr("<({", *s) ? skip_group(s, end) : s + 1;
		if (*s == '(' && !starts(group, end, "::"))
			break;
		s = group;
	}
	return s;
}

/* Names of types that gcc spells differently from the demangler. */
static const char *const base_types[][2] = {
	{"short int", "short"},
	{"short unsigned int", "unsigned short"},
	{"long int", "long"},
	{"long unsigned int", "unsigned long"},
	{"long long int", "long long"},
	{"long long unsigned int", "unsigned long long"},
	{"__int128 unsigned", "unsigned __int128"},
	/* not base types, but spelled differently, too */
	{"{anonymous}", "(anonymous namespace)"},
	{"<unnamed>", "(anonymous namespace)"},
};

const char *cxx_put_respelled_word(struct cxx_text *t, const char *s, const char *end)
{
	const char *after;
	size_t i;

	for (i = 0; i < sizeof base_types / sizeof *base_types; i++) {
		after = s + strlen(base_types[i][0]);
		if (!starts(s, end, base_types[i][0]) ||
		    (after < end && is_word(*after) && is_word(after[-1])))
			continue;
		cxx_put(t, base_types[i][1]);
		return after;
	}
	return s;
}

/* Is it the "const " of "const X", and not the one after the type in "char const (&)"? */
static bool is_prefix(const char *s, const char *end)
{
	return starts(s, end, "const ") && s + 6 < end &&
	       (is_word(s[6]) || strchr("{<", s[6]) || starts(s + 6, end, "(anonymous"));
}

void cxx_put_respelled(struct cxx_text *t, const char *s, const char *end)
{
	const char *begin = s, *after;

	while (s < end && !t->failed) {
		char before = s > begin ? s[-1] : ' ';

		after = is_word(before) ? s : cxx_put_respelled_word(t, s, end);
		if (after > s) {
			s = after;
		} else if (!is_word(before) && is_prefix(s, end)) {
			after = skip_named_type(s + 6, end);
			cxx_put_respelled(t, s + 6, after);
			cxx_put(t, " const");
			s = starts(after, end, " >") ? after + 1 : after;
		} else if (starts(s, end, "<lambda(")) {
			after = skip_group(s, end);
			cxx_put(t, "{lambda");
			cxx_put_respelled(t, s + strlen("<lambda"), after - 1);
			cxx_put(t, "}");
			s = starts(after, end, " >") ? after + 1 : after;
		} else {
			/* void(int), int[4] */
			if ((*s == '(' && (is_word(before) || before == '>') &&
			     !starts(skip_group(s, end), end, "::")) ||
			    (*s == '[' && before != ' ' && before != ']') ||
			    (*s == '>' && before == '>'))
				cxx_put(t, " ");
			cxx_put_n(t, s++, 1);
		}
	}
}

/* Skips the mark of a lambda, if there is one. */
static const char *skip_mark(const char *s, const char *end)
{
	return starts(s, end, DWARF_LAMBDA_MARK) ? s + strcspn(s, "}") : s;
}

static const char *skip_suffix(const char *s, const char *end)
{
	while (s < end && (*s == 'u' || *s == 'l'))
		s++;
	return s;
}

bool cxx_same_spelling(const char *a, const char *end_a, const char *b, const char *end_b)
{
	while (a < end_a && b < end_b && *a == *b) {
		bool digit = isdigit((unsigned char)*a);

		if (*a == '(') {
			a = skip_mark(skip_group(a, end_a), end_a);
			b = skip_group(b, end_b);
			continue;
		}
		a++;
		b++;
		if (digit && a < end_a && b < end_b && *a != *b) {
			a = skip_suffix(a, end_a);
			b = skip_suffix(b, end_b);
		}
	}
	return a == end_a && b == end_b;
}
